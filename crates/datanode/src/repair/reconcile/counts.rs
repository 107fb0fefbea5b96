//! Results of reconciliations since the start.

use std::sync::atomic::AtomicU64;

/// Results of reconciliations since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Replicas that have all that each peer has.
    pub done: AtomicU64,
    /// Replicas of which that is not known.
    pub failed: AtomicU64,
    /// Blocks that came from peers.
    pub blocks: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Blocks that differ from a peer's, and were left as they are.
    pub conflicts: AtomicU64,
    /// UNHEALTHY replicas that are good again.
    pub repaired: AtomicU64,
}
