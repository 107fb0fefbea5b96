//! Errors of a replicated service.

use std::time::Duration;

use multiraft::{GroupError, HostError, LogError, ReadError};
use uuid::Uuid;

/// A replicated service failed to start, or to become leader.
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
    /// The note of a joining member cannot be read or written.
    #[error(transparent)]
    Note(#[from] service::DataDirError),
    /// The group failed permanently during a wait.
    #[error("the raft group has failed: {0}")]
    Failed(String),
    /// This node did not become leader in time.
    #[error("no leadership within {0:?}")]
    NoLeader(Duration),
    /// The leader cannot determine the index of a read.
    #[error("cannot read from the leader yet: {0}")]
    Read(#[from] ReadError),
    /// The node did not become a member.
    #[error("{node} cannot join the service: {reason}")]
    NotJoined {
        /// The member.
        node: String,
        /// The reason.
        reason: String,
    },
    /// The leader refused the node.
    #[error("{node} cannot join the service: {reason}")]
    Refused {
        /// The member.
        node: String,
        /// The leader's reason.
        reason: String,
    },
    /// A thread with blocking work ended early.
    #[error("start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A change of a service's members failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeMembersError {
    /// The change is invalid, or cannot be made.
    #[error("{0}")]
    Refused(String),
    /// Another member is the leader, or about to be.
    #[error("another member is the leader")]
    NotLeader,
    /// The group has failed.
    #[error("{0}")]
    Unavailable(String),
    /// The change timed out. It may still take effect.
    #[error("members did not change within {0:?}")]
    Timeout(Duration),
}

/// A leader transfer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// There is no other voting member.
    #[error("this is the only voting member of the service")]
    OnlyMember,
    /// The node is not a member of the service, or has no vote.
    #[error("{0} is not a voting member of the service")]
    NoVoter(Uuid),
    /// No new leader was elected in time. It may still be elected.
    #[error("no other member took over within {0:?}")]
    Timeout(Duration),
}
