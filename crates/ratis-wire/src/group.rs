//! Interfaces of the protocol to a server and its groups.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::ids::{GroupId, PeerId};
use crate::level::Level;

/// Groups on this server.
pub trait Server: Send + Sync + 'static {
    /// The id of this server in all of its groups.
    fn me(&self) -> PeerId;

    /// A group.
    ///
    /// # Errors
    /// [`Refusal::GroupMismatch`] if it is not on this server, [`Refusal::ServerNotReady`] if that
    /// is not known yet.
    fn group(&self, id: GroupId) -> Result<Arc<dyn Group>, Refusal>;

    /// The groups on this server.
    fn groups(&self) -> Vec<GroupId>;

    /// Completes when the server stops: open streams of clients end with it.
    fn stopped(&self) -> BoxFuture<'static, ()>;

    /// Timeout of a watch.
    fn watch_timeout(&self) -> Duration;
}

/// The future response to a write that has its place in the order.
pub type Answer = BoxFuture<'static, Result<Done, Refusal>>;

/// An applied write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Index of its log entry.
    pub index: u64,
    /// The state machine's response.
    pub message: Bytes,
}

/// One Raft group as seen by its member here.
pub trait Group: Send + Sync + 'static {
    /// Replicates a command. The outer future completes when the command has its place in the order
    /// of this group's writes, the inner one when it is applied.
    fn write(
        self: Arc<Self>,
        content: Bytes,
        timeout: Option<Duration>,
    ) -> BoxFuture<'static, Result<Answer, Refusal>>;

    /// Serves a query from the state machine.
    fn read(self: Arc<Self>, content: Bytes) -> BoxFuture<'static, Result<Bytes, Refusal>>;

    /// Checks that this member is a ready leader.
    ///
    /// # Errors
    /// [`Refusal::NotLeader`] or [`Refusal::LeaderNotReady`].
    fn check_leader(&self) -> Result<(), Refusal>;

    /// Log positions of all members, as far as known here; this one is the first.
    fn progress(&self) -> Vec<Progress>;

    /// Changes whenever [`progress`](Self::progress) does.
    fn progress_changes(&self) -> watch::Receiver<u64>;

    /// Status of this member; `None` if the group no longer exists.
    fn status(self: Arc<Self>) -> BoxFuture<'static, Option<GroupStatus>>;
}

/// Log position of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The member.
    pub peer: PeerId,
    /// Last entry that is in its log.
    pub stored: u64,
    /// Its commit index.
    pub committed: u64,
    /// Time since its last message.
    pub silent: Duration,
}

/// A member with its addresses for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The member.
    pub peer: PeerId,
    /// Address of its client protocol ("host:port"); empty if unknown.
    pub address: String,
    /// Its priority in elections.
    pub priority: u32,
}

/// A member's role in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Accepts writes.
    Leader,
    /// Requests votes.
    Candidate,
    /// Follows a leader, or waits for one.
    Follower,
}

/// Status of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// Its role.
    pub role: Role,
    /// The leader, if known.
    pub leader: Option<PeerId>,
    /// Its term.
    pub term: u64,
    /// Last entry applied.
    pub applied: u64,
    /// Last entry committed.
    pub committed: u64,
    /// Last entry in the log.
    pub last: u64,
    /// True if its log can be written.
    pub healthy: bool,
    /// All members.
    pub members: Vec<Member>,
}

/// Reasons for refusing a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another member is the leader.
    #[error("this server is not the leader of the group")]
    NotLeader {
        /// The leader, if known.
        leader: Option<PeerId>,
        /// All members, if their addresses are known; they replace the client's list.
        members: Vec<Member>,
    },
    /// This member is the leader, but has not applied all commits of earlier leaders.
    #[error("the leader is not ready yet")]
    LeaderNotReady,
    /// An entry did not reach the requested level in time.
    #[error("entry {index} did not reach the requested replication level")]
    NotReplicated {
        /// The entry.
        index: u64,
        /// The requested level.
        level: Level,
    },
    /// The state machine rejected the command before it was appended to the log.
    #[error("{class}: {message}")]
    StateMachine {
        /// Java class of the exception.
        class: &'static str,
        /// Its message.
        message: String,
    },
    /// The group was closed with the request in flight.
    #[error("the group is closed: {0}")]
    AlreadyClosed(String),
    /// The group is not on this server.
    #[error("group {0} is not on this server")]
    GroupMismatch(GroupId),
    /// The server is starting.
    #[error("the server is starting")]
    ServerNotReady,
    /// Too many requests are in progress.
    #[error("too many requests in progress: {0}")]
    Busy(String),
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An unsupported kind of request.
    #[error("{0} requests are not supported")]
    Unsupported(&'static str),
}
