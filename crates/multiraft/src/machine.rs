//! What a group replicates into.

use std::any::Any;
use std::fmt;
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

/// What a proposer gives the state machine of its own replica along with a proposal: the decoded
/// command, or the channel of its answer. It is neither in the log nor sent to other replicas. They
/// must come to the same state without it.
#[derive(Default)]
pub struct ProposalContext(Option<Box<dyn Any + Send>>);

impl ProposalContext {
    /// A context that has `value`.
    pub fn new<T: Any + Send>(value: T) -> Self {
        Self(Some(Box::new(value)))
    }

    /// Takes the value out, when there is one of that type.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        self.0.take()?.downcast().ok().map(|value| *value)
    }
}

impl fmt::Debug for ProposalContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ProposalContext" } else { "no context" })
    }
}

/// A committed entry.
#[derive(Debug)]
pub struct Committed {
    /// Index in the log.
    pub index: u64,
    /// Term in which it was proposed.
    pub term: u64,
    /// What was proposed.
    pub header: Bytes,
    /// Its payload when that rode in the log, else empty.
    pub payload: Bytes,
    /// What its proposer gave along, on the replica that proposed it and answers it.
    pub context: ProposalContext,
}

impl Committed {
    /// An entry without payload and context, as one that is read from the log.
    pub fn new(at: LogPosition, header: impl Into<Bytes>) -> Self {
        let (header, payload) = (header.into(), Bytes::new());
        let context = ProposalContext::default();
        Self { index: at.index, term: at.term, header, payload, context }
    }
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

/// The error of a state machine that has no room to write: one that is supervised is started again
/// until there is some, however often that fails. What makes it for that is to return this error
/// as long as there is none, so that the group takes no part in elections meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRoom(pub String);

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
    /// Indexes may have gaps (entries that Raft itself makes are left out). Contexts may be taken
    /// out of the entries.
    ///
    /// # Errors
    /// Stop the group on this node: a machine that cannot apply a committed entry must not go on.
    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError>;

    /// Makes everything applied durable and tells how far that reaches; the log is trimmed
    /// no further.
    ///
    /// # Errors
    /// When that fails; it is final.
    fn flush(&mut self) -> Result<LogPosition, MachineError>;

    /// The whole state as of the last applied entry.
    ///
    /// # Errors
    /// When it cannot be had now.
    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError>;

    /// Replaces the whole state by another replica's snapshot, durably. `at` is its position.
    ///
    /// # Errors
    /// When the snapshot is damaged, or the disk fails.
    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError>;

    /// Another leader, or none, is known; `is_me` when it is this replica.
    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        let _ = (leader, term, is_me);
    }
}
