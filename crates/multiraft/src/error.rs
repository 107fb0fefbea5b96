//! Public errors.

use std::path::PathBuf;

use uuid::Uuid;

use crate::consensus::WireError;

/// Opening or writing a log failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// A checksum mismatch in the middle of the log: acknowledged bytes are damaged. Nothing is
    /// dropped; the log is not opened.
    #[error(
        "raft log {path} is corrupt: {detail}; acknowledged entries would be lost. Restore the directory, or empty it, so that this replica receives everything from the others"
    )]
    Corrupt {
        /// The log's directory or file.
        path: PathBuf,
        /// Location and kind of the damage.
        detail: String,
    },
    /// The directory contains another log.
    #[error(
        "raft log {path} does not match {manifest}: {detail}; restore the right log, or empty the directory, so that this replica receives everything from the others"
    )]
    Foreign {
        /// The log's directory.
        path: PathBuf,
        /// The manifest that identifies the log.
        manifest: PathBuf,
        /// The difference.
        detail: String,
    },
    /// Another process has the log open.
    #[error("raft log {path} is in use by another process")]
    InUse {
        /// The log's directory.
        path: PathBuf,
    },
    /// An error of the file system.
    #[error("raft log {path}: {detail}")]
    Io {
        /// The log's directory.
        path: PathBuf,
        /// The error's text.
        detail: String,
    },
    /// The log was closed, or failed after an fsync error.
    #[error("raft log {path} is closed: {detail}")]
    Closed {
        /// The log's directory.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
}

/// Starting a host failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A setting is invalid.
    #[error("invalid raft settings: {0}")]
    Invalid(String),
    /// A thread could not be started, or there is no tokio runtime.
    #[error("cannot start raft threads: {0}")]
    Io(#[from] std::io::Error),
}

/// Starting a group failed.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The group is already running on this host.
    #[error("raft group {0} is already running")]
    Running(Uuid),
    /// The group is not running on this host.
    #[error("raft group {0} is not running")]
    NotRunning(Uuid),
    /// The given members are inconsistent, or differ from those on disk.
    #[error("raft group {group}: {detail}")]
    Invalid {
        /// The group.
        group: Uuid,
        /// The inconsistency.
        detail: String,
    },
    /// The state machine's store ends before the first entry of the log, or otherwise does not
    /// match it.
    #[error(
        "raft group {group}: state machine is at index {applied} but the log begins at {first}; its store was lost or replaced. Restore it, or empty the log's directory, too, so that this replica receives everything from the others"
    )]
    StateLost {
        /// The group.
        group: Uuid,
        /// The state machine's last applied index.
        applied: u64,
        /// First entry in the log.
        first: u64,
    },
    /// The only voter has lost its log, including writes acknowledged since the last flush of its
    /// state machine.
    #[error(
        "raft group {group}: its log is lost, and there is no other member to get it from: writes acknowledged since the last flush of the state machine are lost with it. Restore the directory of the log; to continue without it, create the file {accept} and restart"
    )]
    LogLost {
        /// The group.
        group: Uuid,
        /// The file with which an operator accepts the loss.
        accept: PathBuf,
    },
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An error of the Raft library.
    #[error("raft group {group}: {detail}")]
    Raft {
        /// The group.
        group: Uuid,
        /// The error's text.
        detail: String,
    },
    /// Its state machine could not be created.
    #[error("raft group {group}: cannot create its state machine: {detail}")]
    Machine {
        /// The group.
        group: Uuid,
        /// The reason.
        detail: String,
    },
    /// The host was shut down.
    #[error("raft host is shut down")]
    Shutdown,
}

/// A proposal was not applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProposeError {
    /// This replica is not the leader; nothing was appended.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, if known.
        hint: Option<Uuid>,
    },
    /// The queue is full; nothing was appended. Retry later.
    #[error("too many pending proposals")]
    Busy,
    /// Leadership was lost with the proposal in flight: it may or may not be applied.
    #[error("leadership was lost while the proposal was in flight; its outcome is unknown")]
    Dropped,
    /// The payload store rejected the payload; nothing was appended.
    #[error("cannot store payload: {0}")]
    Payload(std::sync::Arc<std::io::Error>),
    /// The log cannot be written at present (disk full); nothing is lost. Retry later or elsewhere.
    #[error("cannot write raft log: {0}")]
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
    /// This replica is not, or no longer, the leader: a leader that is to be removed transfers
    /// leadership first.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, or the transfer's target, if known.
        hint: Option<Uuid>,
    },
    /// Another change is in progress. Retry later.
    #[error("another change of members is in progress")]
    Busy,
    /// The change is invalid.
    #[error("invalid change of members: {0}")]
    Refused(String),
    /// Leadership was lost with the change in flight: it may or may not take effect.
    #[error("leadership was lost while the change was in flight; its outcome is unknown")]
    Dropped,
    /// The group was stopped or failed.
    #[error("raft group is stopped")]
    Shutdown,
}

/// A linearizable read failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// This replica is not the leader, or could not confirm its leadership.
    #[error("not the leader{}", hint.map(|h| format!(", try {h}")).unwrap_or_default())]
    NotLeader {
        /// The leader, if known.
        hint: Option<Uuid>,
    },
    /// No quorum confirmed leadership in time.
    #[error("leadership was not confirmed in time")]
    Timeout,
    /// The group was stopped.
    #[error("raft group is stopped")]
    Shutdown,
}

/// A message, snapshot piece or fetch was not delivered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportError {
    /// The peer is unreachable, or its response timed out.
    #[error("{address}: {detail}")]
    Unreachable {
        /// The peer.
        address: String,
        /// The reason.
        detail: String,
    },
    /// The peer rejected the request.
    #[error("{address} refused: {detail}")]
    Refused {
        /// The peer.
        address: String,
        /// The reason.
        detail: String,
    },
}

/// A snapshot piece or payload request from another host was rejected.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// It cannot be decoded.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// The Raft message of a snapshot cannot be decoded.
    #[error("malformed message of a snapshot: {0}")]
    Message(#[from] WireError),
    /// The group is not running here.
    #[error("group {0} is not running here")]
    NoGroup(Uuid),
    /// An earlier piece is missing.
    #[error("piece {0} is out of order")]
    PieceOutOfOrder(u64),
    /// A gap in a file of a snapshot precedes a piece.
    #[error("a piece of {} is out of order", .0.display())]
    FileOutOfOrder(PathBuf),
    /// A piece names no file.
    #[error("piece without a path")]
    NoPath,
    /// Snapshots that are sent in memory have a maximum size.
    #[error("snapshot is too large to be sent in memory")]
    TooLarge,
    /// An error of the file system.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// The task that wrote a piece was aborted or panicked.
    #[error("cannot write snapshot piece: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The group has no payload store.
    #[error("the group keeps its payloads in the log")]
    NoPayloads,
    /// The payload store failed.
    #[error("cannot read payload: {0}")]
    Payload(std::io::Error),
}

/// Entries could not be read back for a follower.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("entry {0} has an external payload, but the group has no payload store")]
    NoStore(u64),
    #[error("payload of entry {index}: {error}")]
    Payload { index: u64, error: std::io::Error },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// Received bytes are malformed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("malformed raft frame: {0}")]
pub struct FrameError(pub String);
