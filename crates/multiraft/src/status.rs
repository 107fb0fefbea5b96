//! What handles show of a group: its leader, how far its replicas are, what became of a proposal.

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
    /// What the state machine answered.
    pub response: Bytes,
}

/// A replica's part in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes proposals.
    Leader,
    /// Follows the leader, or waits for one.
    Follower,
    /// Asks for votes.
    Candidate,
}

/// The leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderState {
    /// The leader, when one is known.
    pub leader: Option<Uuid>,
    /// In which term.
    pub term: u64,
    /// Whether this replica is the leader **and** has applied everything earlier leaders
    /// committed, so that its state machine may serve.
    pub ready: bool,
}

/// How far a replica is behind its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    /// Committed entries that it knows of and has not applied.
    pub entries: u64,
    /// Since when it has heard nothing from a leader. Nothing when it never heard of one.
    pub silent: Option<Duration>,
    /// Everything that was committed longer ago than this is applied, however long messages took.
    /// (A leader that was replaced and does not know it yet is believed for up to an election
    /// timeout, which comes on top.) A replica that keeps up is behind by one to two heartbeats by
    /// this count. Nothing when it cannot be told.
    pub behind: Option<Duration>,
}

/// How a replica stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// The group.
    pub id: Uuid,
    /// Its part.
    pub role: Role,
    /// The leader it knows.
    pub leader: Option<Uuid>,
    /// Its term.
    pub term: u64,
    /// Committed as far as it knows.
    pub commit: u64,
    /// Applied to its state machine.
    pub applied: u64,
    /// First entry in its log.
    pub first_index: u64,
    /// Last entry in its log.
    pub last_index: u64,
    /// It may lack entries that it confirmed with a log that is gone, so it counts in no election
    /// until it holds what the leader has committed. A new replica begins so.
    pub incomplete: bool,
    /// On the leader: how far each other member has confirmed the log.
    pub followers: Vec<FollowerStatus>,
    /// Why the group no longer works on this node.
    pub failed: Option<String>,
}

/// What a leader knows of a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerStatus {
    /// Which member.
    pub node: Uuid,
    /// Its role as a member: whether it votes.
    pub role: MemberRole,
    /// Entries it confirmed.
    pub matched: u64,
    /// Entries that it knows to be committed, as far as it told.
    pub committed: u64,
    /// Whether it was heard of within the last election timeout.
    pub active: bool,
}
