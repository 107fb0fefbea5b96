//! Reconciling a replica with those of other DataNodes, on SCM's word.
//!
//! The Merkle trees of this replica and of each peer are compared ([`container::merkle`]). Blocks
//! that are not here, are damaged here or end earlier here come from a peer, one by one, each chunk
//! verified against the checksums of its writer; what is here is left alone. How a block takes its
//! place is in [`containerstore`].
//!
//! | file | what |
//! | --- | --- |
//! | [`worker`] | a replica, peer after peer |
//! | [`counts`] | what came of it |
//! | [`error`] | why a replica was not reconciled |
//!
//! # Invariants
//! * **Nothing is chosen between.** A block whose rows say different things here and on a peer is
//!   named and left as it is.
//! * **What may have been deleted does not come back.** A block that is not here is taken only from
//!   a peer that has taken each deletion that was taken here.

mod counts;
mod error;
mod worker;

pub(crate) use counts::Counts;
pub(crate) use error::ReconcileError;
pub(crate) use worker::{Job, Worker};
