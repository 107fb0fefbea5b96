//! What can go wrong, seen from outside.

use std::path::PathBuf;

use uuid::Uuid;

use crate::consensus::WireError;

/// Opening or writing a log failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// A checksum does not match in the middle of the log: bytes that were acknowledged are
    /// damaged. Nothing is dropped; the log is not opened.
    #[error(
        "raft log {path} is corrupt: {detail}; acknowledged entries would be lost. Restore the directory, or empty it, so that this replica gets everything from the others"
    )]
    Corrupt {
        /// The log's directory or file.
        path: PathBuf,
        /// Where and how.
        detail: String,
    },
    /// The directory has the log of something else.
    #[error(
        "raft log {path} is not the one that {manifest} is about: {detail}; restore the right one, or empty the directory, so that this replica gets everything from the others"
    )]
    Foreign {
        /// The log's directory.
        path: PathBuf,
        /// The file that says which log belongs here.
        manifest: PathBuf,
        /// What differs.
        detail: String,
    },
    /// Another process has the log open.
    #[error("raft log {path} is in use by another process")]
    InUse {
        /// The log's directory.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("raft log {path}: {detail}")]
    Io {
        /// The log's directory.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
    /// The log was closed, or gave up after a failed fsync.
    #[error("raft log {path} is closed: {detail}")]
    Closed {
        /// The log's directory.
        path: PathBuf,
        /// Why.
        detail: String,
    },
}

/// Starting a host failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A setting makes no sense.
    #[error("invalid raft settings: {0}")]
    Invalid(String),
    /// A thread could not be started, or there is no tokio runtime here.
    #[error("cannot start raft threads: {0}")]
    Io(#[from] std::io::Error),
}

/// Starting a group failed.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The group runs already on this host.
    #[error("raft group {0} is already running")]
    Running(Uuid),
    /// The group does not run on this host.
    #[error("raft group {0} is not running")]
    NotRunning(Uuid),
    /// The members given do not fit together or differ from those on disk.
    #[error("raft group {group}: {detail}")]
    Invalid {
        /// Which group.
        group: Uuid,
        /// What is wrong.
        detail: String,
    },
    /// The state machine's store is behind the first entry of the log, or otherwise does not
    /// belong to it.
    #[error(
        "raft group {group}: state machine is at index {applied} but the log begins at {first}; its store was lost or replaced. Restore it, or empty the log's directory, too, so that this replica gets everything from the others"
    )]
    StateLost {
        /// Which group.
        group: Uuid,
        /// Where the state machine is.
        applied: u64,
        /// First entry in the log.
        first: u64,
    },
    /// The only replica that votes has lost its log: what was acknowledged since its state
    /// machine's last flush.
    #[error(
        "raft group {group}: its log is lost, and there is no other member to get it from: what was acknowledged since the state machine was last flushed is gone with it. Restore the directory of the log; to go on without it, create the file {accept} and start again"
    )]
    LogLost {
        /// Which group.
        group: Uuid,
        /// The file by which an operator accepts the loss.
        accept: PathBuf,
    },
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Raft itself refused.
    #[error("raft group {group}: {detail}")]
    Raft {
        /// Which group.
        group: Uuid,
        /// What it said.
        detail: String,
    },
    /// Its state machine could not be made.
    #[error("raft group {group}: no state machine: {detail}")]
    Machine {
        /// Which group.
        group: Uuid,
        /// What it said.
        detail: String,
    },
    /// The host was shut down.
    #[error("raft host is shut down")]
    Shutdown,
}

/// A proposal was not applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProposeError {
    /// This replica does not lead; nothing was appended.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, when known.
        hint: Option<Uuid>,
    },
    /// Too much is waiting; nothing was appended. Try again later.
    #[error("too many proposals are waiting")]
    Busy,
    /// Leadership was lost while the proposal was on its way: it may or may not be applied.
    #[error("leadership was lost while the proposal was in flight; its outcome is unknown")]
    Dropped,
    /// The payload store refused the payload; nothing was appended.
    #[error("payload was not stored: {0}")]
    Payload(std::sync::Arc<std::io::Error>),
    /// The log cannot be written now (disk full); nothing is lost, try again later or
    /// elsewhere.
    #[error("raft log cannot be written: {0}")]
    Log(String),
    /// The group failed on this node.
    #[error("raft group failed: {0}")]
    Failed(String),
    /// The group was stopped.
    #[error("raft group is stopped")]
    Shutdown,
}

/// The members of a group were not changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// This replica does not lead, or no longer: a leader that is to go hands over first.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, or the next one, when known.
        hint: Option<Uuid>,
    },
    /// Another change is under way. Try again later.
    #[error("another change of members is under way")]
    Busy,
    /// It cannot be.
    #[error("members cannot be changed like that: {0}")]
    Refused(String),
    /// Leadership was lost while the change was on its way: it may or may not come about.
    #[error("leadership was lost while the change was in flight; its outcome is unknown")]
    Dropped,
    /// The group was stopped or failed.
    #[error("raft group is stopped")]
    Shutdown,
}

/// A linearizable read is not possible here now.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// This replica does not lead or could not confirm that it does.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, when known.
        hint: Option<Uuid>,
    },
    /// No quorum confirmed leadership in time.
    #[error("leadership was not confirmed in time")]
    Timeout,
    /// The group was stopped.
    #[error("raft group is stopped")]
    Shutdown,
}

/// A message, snapshot piece or fetch did not get through.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportError {
    /// The peer cannot be reached, or answered too late.
    #[error("{address}: {detail}")]
    Unreachable {
        /// The peer.
        address: String,
        /// Why.
        detail: String,
    },
    /// The peer refused.
    #[error("{address} refused: {detail}")]
    Refused {
        /// The peer.
        address: String,
        /// Why.
        detail: String,
    },
}

/// A snapshot piece or a request for a payload that came from another host was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// It cannot be decoded.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// The Raft message of a snapshot cannot be decoded.
    #[error("message of a snapshot: {0}")]
    Message(#[from] WireError),
    /// The group does not run here.
    #[error("group {0} is not here")]
    NoGroup(Uuid),
    /// An earlier piece is missing.
    #[error("piece {0} does not follow")]
    PieceOutOfOrder(u64),
    /// Bytes of a file of a snapshot are missing before a piece.
    #[error("a piece of {} does not follow", .0.display())]
    FileOutOfOrder(PathBuf),
    /// A piece is of no file.
    #[error("piece without a path")]
    NoPath,
    /// There is a bound on snapshots that are sent in memory.
    #[error("snapshot is too large to be sent in memory")]
    TooLarge,
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// The task that wrote a piece came to no end.
    #[error("snapshot piece was not written: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The group has no payload store.
    #[error("the group keeps its payloads in the log")]
    NoPayloads,
    /// The payload store refused.
    #[error("payload was not read: {0}")]
    Payload(std::io::Error),
}

/// Entries were not read back for a follower.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("entry {0} has a payload but the group no store")]
    NoStore(u64),
    #[error("payload of entry {index}: {error}")]
    Payload { index: u64, error: std::io::Error },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// Received bytes are not a message of ours.
#[derive(Debug, Clone, thiserror::Error)]
#[error("malformed raft frame: {0}")]
pub struct FrameError(pub String);
