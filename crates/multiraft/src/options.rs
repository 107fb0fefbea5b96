//! Options of a host, a log and a group. Plain values: the roles read them from the configuration
//! and pass them in.

use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use crate::clock::Clock;

/// Options of a [`RaftHost`](crate::RaftHost).
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Identity of this node: the same in every group it is a member of.
    pub node: Uuid,
    /// Length of Raft's logical clock tick.
    pub tick: Duration,
    /// Time without a message from the leader (up to twice as long, randomised) after which a
    /// follower starts an election. Rounded to ticks.
    pub election_timeout: Duration,
    /// Interval of an idle leader's heartbeats. Rounded to ticks.
    pub heartbeat: Duration,
    /// Threads that run groups; a group stays on one of them.
    pub loop_threads: usize,
    /// Threads that run state machines, for each log (disk); a group stays on one of them.
    pub apply_threads: usize,
    /// Maximum bytes of entries in one append message to a follower.
    pub max_message_bytes: u64,
    /// Maximum append messages in flight to one follower.
    pub max_inflight_messages: usize,
    /// Maximum bytes of recent log entries (and their payloads) that one group caches for its
    /// followers; older ones are read back from disk.
    pub entry_cache_bytes: usize,
    /// Maximum bytes of one group's unapplied proposals; beyond it `propose` returns
    /// [`Busy`](crate::ProposeError::Busy).
    pub max_pending_bytes: usize,
    /// Maximum number of one group's unapplied proposals; beyond it `propose` returns
    /// [`Busy`](crate::ProposeError::Busy).
    pub max_pending_proposals: usize,
    /// Maximum bytes of received messages queued for one loop thread; further ones are dropped and
    /// resent by Raft.
    pub max_inbox_bytes: usize,
    /// Size of one piece of a snapshot on the wire.
    pub snapshot_piece: usize,
    /// Maximum bytes per second of one snapshot on the wire; 0 for no limit.
    pub snapshot_rate: u64,
    /// Timeout of one snapshot piece or one payload fetch.
    pub request_timeout: Duration,
    /// Clock of read leases and staleness.
    pub clock: Clock,
}

impl HostOptions {
    /// The defaults for `node`.
    pub fn new(node: Uuid) -> Self {
        Self {
            node,
            tick: Duration::from_millis(100),
            election_timeout: Duration::from_millis(1500),
            heartbeat: Duration::from_millis(300),
            loop_threads: 1,
            apply_threads: 1,
            max_message_bytes: 4 << 20,
            max_inflight_messages: 64,
            entry_cache_bytes: 16 << 20,
            max_pending_bytes: 64 << 20,
            max_pending_proposals: 16 * 1024,
            max_inbox_bytes: 256 << 20,
            snapshot_piece: 1 << 20,
            snapshot_rate: 0,
            request_timeout: Duration::from_secs(10),
            clock: Clock::default(),
        }
    }

    fn ticks(&self, duration: Duration) -> usize {
        duration.as_nanos().div_ceil(self.tick.as_nanos().max(1)).max(1) as usize
    }

    pub(crate) fn heartbeat_ticks(&self) -> usize {
        self.ticks(self.heartbeat)
    }

    pub(crate) fn election_ticks(&self) -> usize {
        // Raft needs a margin for a lost heartbeat.
        self.ticks(self.election_timeout).max(self.heartbeat_ticks() * 2 + 1)
    }
}

/// Options of a log (one per disk).
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Size at which a log file is closed and the next one started.
    pub file_size: u64,
    /// Total size of log files above which groups that keep old files alive are asked to flush and
    /// trim.
    pub purge_threshold: u64,
    /// Interval of the search for obsolete files.
    pub purge_interval: Duration,
    /// Makes every write durable before it is acknowledged. Disabled only in measurements.
    pub fsync: bool,
    /// Maximum bytes of entries per write.
    pub max_batch_bytes: usize,
    /// File that records the log's identity, to detect a loss of the log's directory: preferably
    /// next to the state machines' tables. `None`: next to the log's directory, under its name with
    /// `.manifest` appended.
    pub manifest: Option<PathBuf>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            file_size: 32 << 20,
            purge_threshold: 256 << 20,
            purge_interval: Duration::from_secs(10),
            fsync: true,
            max_batch_bytes: 16 << 20,
            manifest: None,
        }
    }
}

/// Thresholds for trimming a group's log.
#[derive(Debug, Clone)]
pub struct TrimOptions {
    /// Applied entries in the log that trigger a flush of the state machine and a trim.
    pub entries: u64,
    /// Bytes of applied entries in the log that trigger the same.
    pub bytes: u64,
    /// Entries kept before the flushed position, so that a briefly absent replica does not need a
    /// snapshot.
    pub keep: u64,
}

impl Default for TrimOptions {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 64 << 20, keep: 5_000 }
    }
}
