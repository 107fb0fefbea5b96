//! Status of a group as its handles report it: leader, positions of replicas, outcome of a
//! proposal.

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::membership::MemberRole;

/// A proposal that was committed and applied on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Its index in the log.
    pub index: u64,
    /// Term of its entry.
    pub term: u64,
    /// The state machine's response.
    pub response: Bytes,
}

/// A replica's part in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Accepts proposals.
    Leader,
    /// Follows the leader, or waits for one.
    Follower,
    /// Requests votes.
    Candidate,
}

/// The leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderState {
    /// The leader, if known.
    pub leader: Option<Uuid>,
    /// Its term.
    pub term: u64,
    /// This replica is the leader **and** has applied everything that earlier leaders committed, so
    /// that its state machine may serve.
    pub ready: bool,
}

/// Lag of a replica behind its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    /// Known committed entries that are not applied.
    pub entries: u64,
    /// Time since the last message from a leader. `None` if there never was one.
    pub silent: Option<Duration>,
    /// Everything that was committed longer ago than this is applied, however long messages took.
    /// (A replaced leader that has not noticed it counts for up to an election timeout, which adds
    /// to the bound.) A replica that keeps up lags by one to two heartbeats by this measure. `None`
    /// if unknown.
    pub behind: Option<Duration>,
}

/// Status of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// The group.
    pub id: Uuid,
    /// Its role.
    pub role: Role,
    /// The leader, if known.
    pub leader: Option<Uuid>,
    /// Its term.
    pub term: u64,
    /// Its commit index.
    pub commit: u64,
    /// Applied to its state machine.
    pub applied: u64,
    /// First entry in its log.
    pub first_index: u64,
    /// Last entry in its log.
    pub last_index: u64,
    /// It may lack entries that it confirmed with a lost log, so it counts in no election until it
    /// holds all entries that the leader has committed. A new replica begins this way.
    pub incomplete: bool,
    /// On the leader: log positions of the other members.
    pub followers: Vec<FollowerStatus>,
    /// The group's failure on this node.
    pub failed: Option<String>,
}

/// A leader's view of a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerStatus {
    /// The member's node.
    pub node: Uuid,
    /// Its role as a member: voter or not.
    pub role: MemberRole,
    /// Last entry that it confirmed.
    pub matched: u64,
    /// Its commit index, as last reported.
    pub committed: u64,
    /// It responded within the last election timeout.
    pub active: bool,
}
