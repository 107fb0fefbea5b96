//! What the protocol needs of a server and of its groups.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::ids::{GroupId, PeerId};
use crate::level::Level;

/// Groups that live on this server.
pub trait Server: Send + Sync + 'static {
    /// The id of this server in all of its groups.
    fn me(&self) -> PeerId;

    /// A group.
    ///
    /// # Errors
    /// [`Refusal::GroupMismatch`] when it does not live here, [`Refusal::ServerNotReady`] when
    /// that is not known yet.
    fn group(&self, id: GroupId) -> Result<Arc<dyn Group>, Refusal>;

    /// The groups that live here.
    fn groups(&self) -> Vec<GroupId>;

    /// Ends when the server stops: streams that clients hold open end with it.
    fn stopped(&self) -> BoxFuture<'static, ()>;

    /// How long an entry may take to come as far as a watch asks.
    fn watch_timeout(&self) -> Duration;
}

/// The answer to a write that has its place in the order.
pub type Answer = BoxFuture<'static, Result<Done, Refusal>>;

/// A write that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Index of its log entry.
    pub index: u64,
    /// What the state machine answered.
    pub message: Bytes,
}

/// One Raft group as seen by its member here.
pub trait Group: Send + Sync + 'static {
    /// Replicates a command. The outer future ends when the command has its place in the order of
    /// this group's writes, the inner one when it is applied.
    fn write(
        self: Arc<Self>,
        content: Bytes,
        timeout: Option<Duration>,
    ) -> BoxFuture<'static, Result<Answer, Refusal>>;

    /// Answers a query from the state machine.
    fn read(self: Arc<Self>, content: Bytes) -> BoxFuture<'static, Result<Bytes, Refusal>>;

    /// Whether this member may speak for the group.
    ///
    /// # Errors
    /// [`Refusal::NotLeader`] or [`Refusal::LeaderNotReady`].
    fn check_leader(&self) -> Result<(), Refusal>;

    /// How far every member is, as known here; this one is the first.
    fn progress(&self) -> Vec<Progress>;

    /// Changes whenever [`progress`](Self::progress) does.
    fn progress_changes(&self) -> watch::Receiver<u64>;

    /// How this member stands; `None` when the group is gone.
    fn status(self: Arc<Self>) -> BoxFuture<'static, Option<GroupStatus>>;
}

/// How far a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Which member.
    pub peer: PeerId,
    /// Last entry that is in its log.
    pub stored: u64,
    /// Last entry that it knows to be committed.
    pub committed: u64,
    /// How long it has said nothing.
    pub silent: Duration,
}

/// A member with the addresses that clients may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub peer: PeerId,
    /// Where its client protocol is served ("host:port"); empty when not known here.
    pub address: String,
    /// Its priority in elections.
    pub priority: u32,
}

/// A member's part in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes writes.
    Leader,
    /// Asks for votes.
    Candidate,
    /// Follows.
    Follower,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// Its part.
    pub role: Role,
    /// The leader, when known.
    pub leader: Option<PeerId>,
    /// Its term.
    pub term: u64,
    /// Last entry applied.
    pub applied: u64,
    /// Last entry committed.
    pub committed: u64,
    /// Last entry in the log.
    pub last: u64,
    /// Whether its log can be written.
    pub healthy: bool,
    /// All members.
    pub members: Vec<Member>,
}

/// Why a request is not answered as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another member leads.
    #[error("this server does not lead the group")]
    NotLeader {
        /// The leader, when known.
        leader: Option<PeerId>,
        /// All members, when their addresses are known; they replace what the client knew.
        members: Vec<Member>,
    },
    /// This member leads, but has not applied what earlier leaders committed.
    #[error("the leader is not ready yet")]
    LeaderNotReady,
    /// An entry has not come as far as asked in time.
    #[error("entry {index} is not replicated as far as asked")]
    NotReplicated {
        /// The entry.
        index: u64,
        /// How far was asked.
        level: Level,
    },
    /// The state machine refused the command before it came into the log.
    #[error("{class}: {message}")]
    StateMachine {
        /// Java class of the exception.
        class: &'static str,
        /// What it says.
        message: String,
    },
    /// The group was closed while the request was under way.
    #[error("the group is closed: {0}")]
    AlreadyClosed(String),
    /// The group does not live on this server.
    #[error("group {0} is not on this server")]
    GroupMismatch(GroupId),
    /// The server is starting.
    #[error("the server is starting")]
    ServerNotReady,
    /// Too much is under way.
    #[error("too much is under way: {0}")]
    Busy(String),
    /// A request that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A kind of request that is not served.
    #[error("{0} requests are not served")]
    Unsupported(&'static str),
}
