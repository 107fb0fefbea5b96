//! What a group replicates into.

use std::path::PathBuf;

use bytes::Bytes;
use uuid::Uuid;

/// A position in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// Term of the entry.
    pub term: u64,
    /// Index of the entry; 0 is before the first.
    pub index: u64,
}

/// A committed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Index in the log.
    pub index: u64,
    /// Term in which it was proposed.
    pub term: u64,
    /// What was proposed.
    pub header: Bytes,
    /// Its payload when that rode in the log, else empty.
    pub payload: Bytes,
}

/// A state machine's whole state, for a replica that lags behind the trimmed log.
#[derive(Debug)]
pub enum SnapshotSource {
    /// Small state, in one piece.
    Bytes(Bytes),
    /// Files (with subdirectories) of a directory that is removed after use; a restore may move
    /// them out.
    Dir(PathBuf),
}

/// The error of a state machine: the group stops and says so.
pub type MachineError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A replicated state machine. Calls come from one thread at a time.
///
/// The machine keeps its applied position in its own store, in the same batch as the effects
/// of the entries, so that replay after a restart begins exactly behind what it holds.
pub trait StateMachine: Send + 'static {
    /// What the store already holds: replay starts behind it.
    fn applied(&self) -> LogPosition;

    /// The last entry that an earlier process is known to have applied, when replay starts before
    /// it. It is committed: if the log still has it, everything up to it is applied again without
    /// waiting for a leader.
    fn known_committed(&self) -> LogPosition {
        self.applied()
    }

    /// Applies a batch of committed entries, in order, and gives one response for each.
    /// Indexes may have gaps (entries that Raft itself makes are left out).
    ///
    /// An error stops the group on this node: a machine that cannot apply a committed entry
    /// must not go on.
    fn apply(&mut self, entries: &[Committed]) -> Result<Vec<Bytes>, MachineError>;

    /// Makes everything applied durable and tells how far that reaches; the log is trimmed
    /// no further.
    fn flush(&mut self) -> Result<LogPosition, MachineError>;

    /// The whole state as of the last applied entry.
    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError>;

    /// Replaces the whole state by another replica's snapshot, durably. `at` is its position.
    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError>;

    /// Another leader, or none, is known; `is_me` when it is this replica.
    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        let _ = (leader, term, is_me);
    }
}
