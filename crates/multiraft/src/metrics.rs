//! Counters of a host. Plain atomics; a role exports them under the names of
//! [`HostMetrics::snapshot`].

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

macro_rules! metrics {
    ($($(#[doc = $doc:literal])* $name:ident : $type:ty),* $(,)?) => {
        /// Counters and gauges of one host.
        #[derive(Debug, Default)]
        pub struct HostMetrics { $($(#[doc = $doc])* pub $name: $type),* }

        impl HostMetrics {
            /// Every value with its name.
            pub fn snapshot(&self) -> Vec<(&'static str, i64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed) as i64)),*]
            }

            /// Every name with its description, as help for a registry of metrics.
            pub fn descriptions() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), concat!($($doc),*).trim().trim_end_matches('.'))),*]
            }
        }
    };
}

metrics! {
    /// Running groups.
    groups: AtomicI64,
    /// Failures of groups.
    groups_failed: AtomicU64,
    /// Restarts of failed groups.
    groups_restarted: AtomicU64,
    /// Panics outside of groups that a thread of the host survived.
    thread_panics: AtomicU64,
    /// Entries proposed on this host as leader.
    proposals: AtomicU64,
    /// Proposals refused because too many were pending.
    proposals_busy: AtomicU64,
    /// Entries applied.
    applied: AtomicU64,
    /// Batches passed to state machines.
    apply_rounds: AtomicU64,
    /// Raft messages sent.
    messages_sent: AtomicU64,
    /// Frames sent, each with one or more Raft messages.
    frames_sent: AtomicU64,
    /// Raft messages received.
    messages_received: AtomicU64,
    /// Received messages dropped because a loop's inbox was full or the group is not on this host.
    messages_dropped: AtomicU64,
    /// Rejected messages and frames, malformed or forged.
    messages_refused: AtomicU64,
    /// Bytes of received messages queued for a loop.
    inbox_bytes: AtomicI64,
    /// Bytes of log entries cached for followers.
    cache_bytes: AtomicI64,
    /// Payloads that could not be stored on a follower (retried later).
    prepare_failures: AtomicU64,
    /// Reads from the log engine for lagging followers.
    log_fetches: AtomicU64,
    /// Snapshots sent.
    snapshots_sent: AtomicU64,
    /// Pieces of snapshots sent and acknowledged.
    snapshot_pieces_sent: AtomicU64,
    /// Interrupted streams of snapshots.
    snapshot_streams_failed: AtomicU64,
    /// Snapshots restored.
    snapshots_restored: AtomicU64,
    /// Elections won.
    elections_won: AtomicU64,
    /// Log trims.
    trims: AtomicU64,
}

/// Counters of one log.
#[derive(Debug, Default)]
pub struct LogMetrics {
    /// Writes (each one fsync).
    pub writes: AtomicU64,
    /// Entries in them.
    pub entries: AtomicU64,
    /// Bytes of them.
    pub bytes: AtomicU64,
    /// Failed writes that were retried.
    pub failures: AtomicU64,
    /// Nanoseconds spent in writes.
    pub nanos: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}
