//! Failures of a stripe, and of the replicas that it was written to.

use std::sync::Arc;

use types::DatanodeDetails;

use crate::Error;
use crate::datanode::Failure;

/// Failed replicas, each with its failure.
pub(super) type Failures = Vec<(Arc<DatanodeDetails>, Failure)>;

/// Reason for which a stripe was not acknowledged.
pub(super) enum StripeFailure {
    /// These replicas failed: a retry with another block group may succeed.
    Replicas(Failures),
    /// A retry cannot succeed.
    Fatal(Error),
}
