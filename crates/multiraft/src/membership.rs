//! The members of a group, and how they change while it runs.
//!
//! One member changes at a time. A node is added as a learner: it gets the log (or a snapshot) and
//! has no vote. The leader makes it a voter once it has caught up. A change is an entry of the
//! log that carries the whole membership it leads to, with addresses and priorities, so that every
//! member learns them; the log keeps the membership of the last such entry, and so do snapshots.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::codec::{Reader, put_block, put_uuid};
use crate::consensus::ConfState;
use crate::error::FrameError;
use crate::id::fold;

const VERSION: u8 = 1;

/// A change that a group's members do not allow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MembershipError {
    #[error("{0} is not a member")]
    NoMember(Uuid),
    #[error("{0} is the last member that votes")]
    LastVoter(Uuid),
    #[error("the number of {0} is another member's")]
    SameNumber(Uuid),
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Which node it is.
    pub node: Uuid,
    /// Where the [`Transport`](crate::Transport) finds it ("host:port").
    pub address: String,
    /// The leader is the healthy peer with the highest priority.
    pub priority: i64,
}

/// The role of a member: what it is allowed to. Which of the voters leads is another matter, see
/// [`Role`](crate::Role).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberRole {
    /// Votes, may lead, and counts for what is committed.
    Voter,
    /// Gets everything and becomes a voter when it has caught up.
    Joining,
    /// Gets everything and never votes.
    Listener,
}

impl MemberRole {
    /// Whether it votes.
    pub fn votes(self) -> bool {
        self == Self::Voter
    }

    fn code(self) -> u8 {
        match self {
            Self::Voter => 0,
            Self::Joining => 1,
            Self::Listener => 2,
        }
    }

    fn of(code: u8) -> Result<Self, FrameError> {
        match code {
            0 => Ok(Self::Voter),
            1 => Ok(Self::Joining),
            2 => Ok(Self::Listener),
            _ => Err(FrameError(format!("standing {code} is not known"))),
        }
    }
}

/// A member and its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which node, and where it is.
    pub peer: Peer,
    /// Its role.
    pub role: MemberRole,
}

/// All members of a group, as of an entry of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The entry that made it so; 0 for the members that the group began with.
    pub index: u64,
    /// All members, by what Raft knows them by.
    pub members: Vec<Member>,
}

/// A change of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A node comes; it becomes a voter when it has caught up.
    Add(Peer),
    /// A node comes that is to listen only.
    AddListener(Peer),
    /// A member that has no vote gets one.
    Promote(Uuid),
    /// A member goes.
    Remove(Uuid),
}

impl Change {
    /// Which node it is about.
    pub fn node(&self) -> Uuid {
        match self {
            Self::Add(peer) | Self::AddListener(peer) => peer.node,
            Self::Promote(node) | Self::Remove(node) => *node,
        }
    }
}

impl Membership {
    /// The members that a group begins with.
    pub(crate) fn first(peers: &[Peer]) -> Self {
        let voter = |peer: &Peer| Member { peer: peer.clone(), role: MemberRole::Voter };
        Self::sorted(0, peers.iter().map(voter).collect())
    }

    fn sorted(index: u64, mut members: Vec<Member>) -> Self {
        members.sort_by_key(|m| fold(m.peer.node));
        Self { index, members }
    }

    /// The member that is `node`.
    pub fn find(&self, node: Uuid) -> Option<&Member> {
        self.members.iter().find(|m| m.peer.node == node)
    }

    /// Whether `node` is a member, with a vote or without.
    pub fn contains(&self, node: Uuid) -> bool {
        self.find(node).is_some()
    }

    /// The members that vote.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|m| m.role.votes())
    }

    /// What `change` makes of it, or why it cannot be. Nothing when nothing would change.
    pub(crate) fn after(&self, change: &Change) -> Result<Option<Self>, MembershipError> {
        let node = change.node();
        let known = self.find(node);
        let mut members = self.members.clone();
        match (change, known) {
            (Change::Add(peer), None) => {
                members.push(Member { peer: peer.clone(), role: MemberRole::Joining });
            }
            (Change::AddListener(peer), None) => {
                members.push(Member { peer: peer.clone(), role: MemberRole::Listener });
            }
            (Change::Add(peer) | Change::AddListener(peer), Some(known)) => {
                if *peer == known.peer {
                    return Ok(None);
                }
                // It comes from elsewhere, or with another priority.
                let found = members.iter_mut().find(|m| m.peer.node == node);
                found.into_iter().for_each(|m| m.peer.clone_from(peer));
            }
            (Change::Promote(_), Some(known)) if known.role.votes() => return Ok(None),
            (Change::Promote(_), Some(_)) => {
                let found = members.iter_mut().find(|m| m.peer.node == node);
                found.into_iter().for_each(|m| m.role = MemberRole::Voter);
            }
            (Change::Promote(_), None) => return Err(MembershipError::NoMember(node)),
            (Change::Remove(_), None) => return Ok(None),
            (Change::Remove(_), Some(_)) => members.retain(|m| m.peer.node != node),
        }
        if !members.iter().any(|m| m.role.votes()) {
            return Err(MembershipError::LastVoter(node));
        }
        let same = |m: &Member| fold(m.peer.node) == fold(node) && m.peer.node != node;
        if members.iter().any(same) {
            return Err(MembershipError::SameNumber(node));
        }
        Ok(Some(Self::sorted(self.index, members)))
    }

    /// Whether a group can have these members: each once, and one that votes.
    pub(crate) fn is_sound(&self) -> bool {
        let mut ids: Vec<u64> = self.members.iter().map(|m| fold(m.peer.node)).collect();
        ids.sort_unstable();
        ids.windows(2).all(|pair| pair[0] != pair[1]) && self.voters().next().is_some()
    }

    /// As Raft writes it down.
    pub(crate) fn conf_state(&self) -> ConfState {
        let ids = |votes: bool| {
            let chosen = self.members.iter().filter(move |m| m.role.votes() == votes);
            chosen.map(|m| fold(m.peer.node)).collect()
        };
        ConfState { voters: ids(true), learners: ids(false), ..ConfState::default() }
    }

    pub(crate) fn put(&self, out: &mut BytesMut) {
        out.put_u8(VERSION);
        out.put_u64_le(self.index);
        out.put_u32_le(self.members.len() as u32);
        for member in &self.members {
            put_uuid(out, member.peer.node);
            out.put_i64_le(member.peer.priority);
            out.put_u8(member.role.code());
            put_block(out, member.peer.address.as_bytes());
        }
    }

    pub(crate) fn decode_from(reader: &mut Reader) -> Result<Self, FrameError> {
        let version = reader.u8()?;
        if version != VERSION {
            return Err(FrameError(format!("version {version} of a membership is not known")));
        }
        let (index, count) = (reader.u64()?, reader.u32()?);
        let mut members = Vec::new();
        for _ in 0..count {
            let (node, priority) = (reader.uuid()?, reader.u64()? as i64);
            let role = MemberRole::of(reader.u8()?)?;
            let address = String::from_utf8(reader.block()?.to_vec());
            let address = address.map_err(|e| FrameError(format!("address: {e}")))?;
            members.push(Member { peer: Peer { node, address, priority }, role });
        }
        Ok(Self::sorted(index, members))
    }

    /// In bytes, for an entry or a message.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.put(&mut out);
        out.freeze()
    }

    /// Out of the bytes that [`encode`](Self::encode) made.
    ///
    /// # Errors
    /// When they are something else.
    pub fn decode(data: Bytes) -> Result<Self, FrameError> {
        let mut reader = Reader(data);
        let membership = Self::decode_from(&mut reader)?;
        reader.end()?;
        Ok(membership)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u128) -> Peer {
        Peer { node: Uuid::from_u128(n), address: format!("host{n}:1"), priority: -1 }
    }

    #[test]
    fn a_membership_survives_the_round_trip_and_a_cut_one_is_refused() {
        let membership = Membership::first(&[peer(1), peer(2)]);
        let membership = membership.after(&Change::Add(peer(3))).unwrap().unwrap();
        let membership = membership.after(&Change::AddListener(peer(4))).unwrap().unwrap();
        let membership = Membership { index: 77, ..membership };
        let bytes = membership.encode();
        assert_eq!(Membership::decode(bytes.clone()).unwrap(), membership);
        for cut in 0..bytes.len() {
            assert!(Membership::decode(bytes.slice(..cut)).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn members_come_without_a_vote_get_one_and_go() {
        let one = Membership::first(&[peer(1)]);
        let two = one.after(&Change::Add(peer(2))).unwrap().unwrap();
        assert_eq!(two.find(peer(2).node).unwrap().role, MemberRole::Joining);
        assert_eq!(two.conf_state().learners, [fold(peer(2).node)]);
        assert_eq!(two.after(&Change::Add(peer(2))).unwrap(), None, "it is there already");
        let both = two.after(&Change::Promote(peer(2).node)).unwrap().unwrap();
        assert_eq!(both.voters().count(), 2);
        assert_eq!(both.after(&Change::Promote(peer(2).node)).unwrap(), None);
        let moved = Peer { address: "elsewhere:1".into(), ..peer(2) };
        let moved = both.after(&Change::Add(moved)).unwrap().unwrap();
        assert_eq!(moved.find(peer(2).node).unwrap().role, MemberRole::Voter);
        assert_eq!(moved.find(peer(2).node).unwrap().peer.address, "elsewhere:1");
        let last = both.after(&Change::Remove(peer(1).node)).unwrap().unwrap();
        assert!(!last.contains(peer(1).node));
        assert_eq!(last.after(&Change::Remove(peer(1).node)).unwrap(), None, "it is gone already");
        assert!(last.after(&Change::Remove(peer(2).node)).is_err(), "the last one");
        assert!(two.after(&Change::Remove(peer(1).node)).is_err(), "the last one with a vote");
        assert!(last.after(&Change::Promote(peer(1).node)).is_err());
    }
}
