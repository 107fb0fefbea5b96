//! The members of a group, and changes of them at run time.
//!
//! One member changes at a time. A node is added as a learner: it receives the log (or a snapshot)
//! and has no vote. The leader makes it a voter once it has caught up. A change is a log entry with
//! the whole resulting membership, including addresses and priorities, so that every member
//! receives them; the log keeps the membership of the last such entry, and so do snapshots.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::codec::{Reader, put_block, put_uuid};
use crate::consensus::ConfState;
use crate::error::FrameError;
use crate::id::fold;

const VERSION: u8 = 1;

/// A change that is invalid for a group's members.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MembershipError {
    #[error("{0} is not a member")]
    NoMember(Uuid),
    #[error("{0} is the last voter")]
    LastVoter(Uuid),
    #[error("the number of {0} is another member's")]
    SameNumber(Uuid),
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The node's id.
    pub node: Uuid,
    /// Its address for the [`Transport`](crate::Transport) ("host:port").
    pub address: String,
    /// The healthy peer with the highest priority becomes the leader.
    pub priority: i64,
}

/// The role of a member: its rights. For the current leader among the voters see
/// [`Role`](crate::Role).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberRole {
    /// Votes, may lead, and counts for commits.
    Voter,
    /// Receives everything and becomes a voter once it has caught up.
    Joining,
    /// Receives everything and never votes.
    Listener,
}

impl MemberRole {
    /// Returns `true` for a voter.
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
            _ => Err(FrameError(format!("unknown role {code}"))),
        }
    }
}

/// A member and its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The node and its address.
    pub peer: Peer,
    /// Its role.
    pub role: MemberRole,
}

/// All members of a group, as of an entry of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The index of the entry that set them; 0 for the group's initial members.
    pub index: u64,
    /// All members, by their Raft numbers.
    pub members: Vec<Member>,
}

/// A change of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a node, which becomes a voter once it has caught up.
    Add(Peer),
    /// Adds a node as a permanent listener.
    AddListener(Peer),
    /// Makes a member a voter.
    Promote(Uuid),
    /// Removes a member.
    Remove(Uuid),
}

impl Change {
    /// The node that the change affects.
    pub fn node(&self) -> Uuid {
        match self {
            Self::Add(peer) | Self::AddListener(peer) => peer.node,
            Self::Promote(node) | Self::Remove(node) => *node,
        }
    }
}

impl Membership {
    /// The initial members of a group.
    pub(crate) fn first(peers: &[Peer]) -> Self {
        let voter = |peer: &Peer| Member { peer: peer.clone(), role: MemberRole::Voter };
        Self::sorted(0, peers.iter().map(voter).collect())
    }

    fn sorted(index: u64, mut members: Vec<Member>) -> Self {
        members.sort_by_key(|m| fold(m.peer.node));
        Self { index, members }
    }

    /// The member with the id `node`.
    pub fn find(&self, node: Uuid) -> Option<&Member> {
        self.members.iter().find(|m| m.peer.node == node)
    }

    /// Returns `true` if `node` is a member, voting or not.
    pub fn contains(&self, node: Uuid) -> bool {
        self.find(node).is_some()
    }

    /// The voters.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|m| m.role.votes())
    }

    /// The membership after `change`, or the reason why it is invalid. `None` if nothing would
    /// change.
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
                // Its address or priority has changed.
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

    /// Returns `true` for a valid membership: no duplicates, and at least one voter.
    pub(crate) fn is_sound(&self) -> bool {
        let mut ids: Vec<u64> = self.members.iter().map(|m| fold(m.peer.node)).collect();
        ids.sort_unstable();
        ids.windows(2).all(|pair| pair[0] != pair[1]) && self.voters().next().is_some()
    }

    /// Converts to Raft's form.
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
            return Err(FrameError(format!("unknown version {version} of a membership")));
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

    /// Encodes it for an entry or a message.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.put(&mut out);
        out.freeze()
    }

    /// Decodes the output of [`encode`](Self::encode).
    ///
    /// # Errors
    /// If the bytes are malformed.
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
        assert_eq!(two.after(&Change::Add(peer(2))).unwrap(), None, "it is a member already");
        let both = two.after(&Change::Promote(peer(2).node)).unwrap().unwrap();
        assert_eq!(both.voters().count(), 2);
        assert_eq!(both.after(&Change::Promote(peer(2).node)).unwrap(), None);
        let moved = Peer { address: "elsewhere:1".into(), ..peer(2) };
        let moved = both.after(&Change::Add(moved)).unwrap().unwrap();
        assert_eq!(moved.find(peer(2).node).unwrap().role, MemberRole::Voter);
        assert_eq!(moved.find(peer(2).node).unwrap().peer.address, "elsewhere:1");
        let last = both.after(&Change::Remove(peer(1).node)).unwrap().unwrap();
        assert!(!last.contains(peer(1).node));
        assert_eq!(
            last.after(&Change::Remove(peer(1).node)).unwrap(),
            None,
            "it was removed already"
        );
        assert!(last.after(&Change::Remove(peer(2).node)).is_err(), "the last one");
        assert!(two.after(&Change::Remove(peer(1).node)).is_err(), "the last voter");
        assert!(last.after(&Change::Promote(peer(1).node)).is_err());
    }
}
