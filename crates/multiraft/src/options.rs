//! What a host, a log and a group are started with. Plain values: the roles read them from
//! the configuration and pass them in.

use std::path::PathBuf;
use std::time::Duration;

use uuid::Uuid;

use crate::clock::Clock;

/// How a [`RaftHost`](crate::RaftHost) runs.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Identity of this node: the same in every group it is a member of.
    pub node: Uuid,
    /// Length of Raft's logical clock tick.
    pub tick: Duration,
    /// A follower that heard nothing from its leader for this long (up to twice as long,
    /// randomised) starts an election. Rounded to ticks.
    pub election_timeout: Duration,
    /// How often an idle leader makes itself heard. Rounded to ticks.
    pub heartbeat: Duration,
    /// Threads that drive groups; a group stays on one of them.
    pub loop_threads: usize,
    /// Threads that run state machines, for each log (disk); a group stays on one of them.
    pub apply_threads: usize,
    /// Most bytes of entries in one append message to a follower.
    pub max_message_bytes: u64,
    /// Append messages in flight to one follower before the leader waits for an answer.
    pub max_inflight_messages: usize,
    /// Most bytes of recent log entries (and their payloads) that one group keeps in memory
    /// for its followers; what is older is read back from disk.
    pub entry_cache_bytes: usize,
    /// Most bytes of proposals of one group that are not applied yet; beyond it `propose`
    /// answers [`Busy`](crate::ProposeError::Busy).
    pub max_pending_bytes: usize,
    /// Most proposals of one group that are not applied yet; beyond it `propose` answers
    /// [`Busy`](crate::ProposeError::Busy).
    pub max_pending_proposals: usize,
    /// Most bytes of received messages waiting for one loop thread; what comes beyond it is
    /// dropped and sent again by Raft.
    pub max_inbox_bytes: usize,
    /// Size of one piece of a snapshot on the wire.
    pub snapshot_piece: usize,
    /// Most bytes per second of one snapshot on the wire; 0 for as fast as it goes.
    pub snapshot_rate: u64,
    /// How long one piece of a snapshot or one fetched payload may take.
    pub request_timeout: Duration,
    /// By which read leases end and staleness is measured.
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
        // Raft wants room for a lost heartbeat.
        self.ticks(self.election_timeout).max(self.heartbeat_ticks() * 2 + 1)
    }
}

/// How a log (one per disk) is kept.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Size at which a log file is closed and the next one begun.
    pub file_size: u64,
    /// Size of all log files at which groups holding back old files are asked to flush and
    /// trim.
    pub purge_threshold: u64,
    /// How often files that no group needs any more are looked for.
    pub purge_interval: Duration,
    /// Whether every write is made durable before it is acknowledged. Only ever off in
    /// measurements.
    pub fsync: bool,
    /// Most bytes of entries that go to disk in one write.
    pub max_batch_bytes: usize,
    /// File that remembers the log, to be found again when the log's directory is lost: best beside
    /// the state machines' tables. `None`: beside the log's directory, under its name with
    /// `.manifest` added.
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

/// When a group's log is trimmed.
#[derive(Debug, Clone)]
pub struct TrimOptions {
    /// Applied entries in the log that make the state machine flush and the log trim.
    pub entries: u64,
    /// Bytes of applied entries in the log that do the same.
    pub bytes: u64,
    /// Entries kept behind the flushed position, so that a replica which was away for a
    /// moment does not need a snapshot.
    pub keep: u64,
}

impl Default for TrimOptions {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 64 << 20, keep: 5_000 }
    }
}
