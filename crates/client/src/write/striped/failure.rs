//! Failures of a stripe, and of the replicas that it was written to.

use std::sync::Arc;

use types::DatanodeDetails;

use crate::Error;
use crate::datanode::Failure;

/// Replicas that failed, and how.
pub(super) type Failures = Vec<(Arc<DatanodeDetails>, Failure)>;

/// Why a stripe is not acknowledged.
pub(super) enum StripeFailure {
    /// These replicas failed: another block group may do.
    Replicas(Failures),
    /// Trying again will not help.
    Fatal(Error),
}
