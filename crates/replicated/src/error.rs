//! What can go wrong with a replicated service.

use std::time::Duration;

use multiraft::{GroupError, HostError, LogError, ReadError};
use uuid::Uuid;

/// A replicated service does not start, or does not lead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Raft log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Raft did not start.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The group did not start.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The note of a member that joins cannot be read or written.
    #[error(transparent)]
    Note(#[from] service::DataDirError),
    /// The group failed for good while it was waited for.
    #[error("the raft group does not work: {0}")]
    Failed(String),
    /// The group has no leader here.
    #[error("no leadership within {0:?}")]
    NoLeader(Duration),
    /// The leader cannot tell how far the log is.
    #[error("the log is not readable yet: {0}")]
    Read(#[from] ReadError),
    /// It was not let into the service.
    #[error("{node} cannot join the service: {reason}")]
    NotJoined {
        /// Which member.
        node: String,
        /// Why.
        reason: String,
    },
    /// The leader does not let it in.
    #[error("{node} cannot join the service: {reason}")]
    Refused {
        /// Which member.
        node: String,
        /// What the leader said.
        reason: String,
    },
    /// A thread of blocking work ended early.
    #[error("start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// The members of a service were not changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeMembersError {
    /// The change makes no sense, or cannot be done.
    #[error("{0}")]
    Refused(String),
    /// Another member leads, or is about to.
    #[error("another member leads")]
    NotLeader,
    /// The group does not work.
    #[error("{0}")]
    Unavailable(String),
    /// It took too long. The change may be made yet.
    #[error("members did not change within {0:?}")]
    Timeout(Duration),
}

/// Leadership was not transferred.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// No other member votes.
    #[error("this is the only voting member of the service")]
    OnlyMember,
    /// The member does not belong to the service, or has no vote.
    #[error("{0} is no voting member of the service")]
    NoVoter(Uuid),
    /// No new leader was elected in time. It may be elected yet.
    #[error("no other member took over within {0:?}")]
    Timeout(Duration),
}
