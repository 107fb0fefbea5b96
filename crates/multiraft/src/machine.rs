//! The state machine interface of a group.

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

/// A value that a proposer passes to the state machine of its own replica with a proposal: the
/// decoded command, or the channel of its response. It is neither in the log nor sent to other
/// replicas. They must reach the same state without it.
#[derive(Default)]
pub struct ProposalContext(Option<Box<dyn Any + Send>>);

impl ProposalContext {
    /// A context with `value`.
    pub fn new<T: Any + Send>(value: T) -> Self {
        Self(Some(Box::new(value)))
    }

    /// Removes and returns the value, if there is one of that type.
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
    /// The proposed command.
    pub header: Bytes,
    /// Its payload if that was in the log, else empty.
    pub payload: Bytes,
    /// The proposer's context, on the replica that proposed it and responds to it.
    pub context: ProposalContext,
}

impl Committed {
    /// An entry without payload and context, like one read from the log.
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

/// The error of a state machine: it stops the group.
pub type MachineError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The error of a state machine without disk space: a supervised group is restarted until there is
/// space, however often that fails. The function that creates the machine should return this error
/// until then, so that the group takes no part in elections in the meantime.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRoom(pub String);

/// A replicated state machine. Calls come from one thread at a time.
///
/// The machine stores its applied position in the same batch as the effects of the entries, so that
/// replay after a restart begins exactly after its contents.
pub trait StateMachine: Send + 'static {
    /// The position of the store: replay starts after it.
    fn applied(&self) -> LogPosition;

    /// The last entry that an earlier process applied, if replay starts before it. It is committed:
    /// if the log still contains it, everything up to it is applied again without waiting for a
    /// leader.
    fn known_committed(&self) -> LogPosition {
        self.applied()
    }

    /// Applies a batch of committed entries, in order, and returns one response for each. Indexes
    /// may have gaps (entries of Raft itself are left out). Contexts may be taken out of the
    /// entries.
    ///
    /// # Errors
    /// Stop the group on this node: a machine that cannot apply a committed entry must not
    /// continue.
    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError>;

    /// Makes everything applied durable and returns its position; the log is trimmed at most up to
    /// there.
    ///
    /// # Errors
    /// If that fails; it is final.
    fn flush(&mut self) -> Result<LogPosition, MachineError>;

    /// The whole state as of the last applied entry.
    ///
    /// # Errors
    /// If it is not available at present.
    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError>;

    /// Replaces the whole state with another replica's snapshot, durably. `at` is its position.
    ///
    /// # Errors
    /// If the snapshot is damaged, or the disk fails.
    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError>;

    /// Reports another leader, or none; `is_me` if it is this replica.
    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        let _ = (leader, term, is_me);
    }
}
