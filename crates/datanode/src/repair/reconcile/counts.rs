//! Results of reconciliations since the start.

use std::sync::atomic::AtomicU64;

/// Results of reconciliations since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Replicas with the data of every peer.
    pub done: AtomicU64,
    /// Replicas whose reconciliation failed.
    pub failed: AtomicU64,
    /// Blocks fetched from peers.
    pub blocks: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Blocks that differ from a peer's, and were not changed.
    pub conflicts: AtomicU64,
    /// UNHEALTHY replicas that are good again.
    pub repaired: AtomicU64,
}
