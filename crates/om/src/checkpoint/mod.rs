//! Copies of OM's tables over HTTP: `/dbCheckpoint` and `/v2/dbCheckpoint`, which Recon takes, and
//! the updates that follow one ([`UpdateFeed`](crate::state::UpdateFeed)).
//!
//! A copy is a RocksDB checkpoint in a directory of its own, hard links for the most part, that is
//! sent as a tar archive. It is removed after it was sent, when its reader disconnects, and at the
//! next start if OM stopped before. Few are made at once, each has a bounded rate, and a reader
//! that reads nothing is disconnected.

mod archive;
mod copy;
mod request;
mod routes;

pub(crate) use copy::discard;
pub(crate) use routes::{CheckpointRoutes, routes};
