//! Reconciling a replica with those of other DataNodes, on SCM's word.
//!
//! The Merkle trees of this replica and of each peer are compared ([`container::merkle`]). Blocks
//! that are missing here, are damaged here or end earlier here are fetched from a peer, one by one,
//! each chunk verified against the checksums of its writer; blocks here are not changed otherwise.
//! [`containerstore`] describes how a block is replaced.
//!
//! | file | what |
//! | --- | --- |
//! | [`worker`] | a replica, peer after peer |
//! | [`counts`] | what came of it |
//! | [`error`] | why a replica was not reconciled |
//!
//! # Invariants
//! * **No replica is preferred.** A block whose rows differ between this replica and a peer is
//!   reported and not changed.
//! * **Possibly deleted blocks do not return.** A block that is not here is fetched only from a
//!   peer that has received each deletion that was received here.

mod counts;
mod error;
mod worker;

pub(crate) use counts::Counts;
pub(crate) use error::ReconcileError;
pub(crate) use worker::{Job, Worker};
