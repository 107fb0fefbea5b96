//! State of a closed pipeline on its other members.
//!
//! A member whose log has undecided entries waits for a leader. The leader never comes if the
//! others have closed the pipeline and erased their logs, so the member asks them.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use framed::{Client, ClientOptions};
use futures::future::join_all;
use multiraft::Peer;
use types::PipelineId;
use uuid::Uuid;

/// Timeout of a member's response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// State of a pipeline on a DataNode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its group: one that runs, is being stopped, or is about to start.
    Group,
    /// Nothing: it closed the pipeline since it was started, and had what was committed.
    Closed,
    /// Nothing, for an unknown reason. It may have closed the pipeline, may have lost the disk, or
    /// may not have received the order to create it.
    Absent,
}

impl Presence {
    /// Returns the response: the id of its DataNode (16 bytes) and the state there (1 byte).
    pub fn answer(self, node: Uuid) -> Bytes {
        let mut answer = BytesMut::with_capacity(17);
        answer.put_slice(node.as_bytes());
        answer.put_u8(match self {
            Self::Group => 0,
            Self::Closed => 1,
            Self::Absent => 2,
        });
        answer.freeze()
    }

    /// Parses a response, if `node` sent it: another DataNode may listen at its address by now.
    fn from_answer(answer: &[u8], node: Uuid) -> Option<Self> {
        match answer.strip_prefix(node.as_bytes())? {
            [0] => Some(Self::Group),
            [1] => Some(Self::Closed),
            [2] => Some(Self::Absent),
            _ => None,
        }
    }
}

/// Counts of members by their state of a pipeline. Members without a response are in none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Census {
    members: usize,
    closed: usize,
    absent: usize,
}

impl Census {
    /// Asks all members but this one, `me`.
    pub async fn collect(id: PipelineId, peers: &[Peer], me: Uuid) -> Self {
        let others = peers.iter().filter(|peer| peer.node != me);
        let answers = join_all(others.map(|peer| query(id, peer))).await;
        let count = |wanted| answers.iter().filter(|answer| **answer == Some(wanted)).count();
        let (closed, absent) = (count(Presence::Closed), count(Presence::Absent));
        Self { members: peers.len(), closed, absent }
    }

    /// Returns `true` if too few members may still have the group for a quorum.
    pub fn is_hopeless(self) -> bool {
        let left = self.members.saturating_sub(self.closed + self.absent);
        left <= self.members / 2
    }

    /// Returns `true` if this member has all acknowledged entries once its own log is decided: a
    /// member that closed the pipeline had applied the entries committed before, and entries
    /// committed later took a majority that this member must be part of.
    pub fn vouches(self) -> bool {
        self.closed > 0 && self.members.saturating_sub(self.closed) <= self.members / 2 + 1
    }
}

async fn query(id: PipelineId, peer: &Peer) -> Option<Presence> {
    let options = ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = Client::new(peer.address.as_str(), options);
    let question = Bytes::copy_from_slice(id.0.as_bytes());
    let method = proto::method::PIPELINE_PRESENCE;
    let reply = client.call(method, question, Bytes::new(), ANSWER_TIMEOUT).await.ok()?;
    Presence::from_answer(&reply.header, peer.node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_only_as_that_of_its_node() {
        let (node, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        for presence in [Presence::Group, Presence::Closed, Presence::Absent] {
            let answer = presence.answer(node);
            assert_eq!(Presence::from_answer(&answer, node), Some(presence));
            assert_eq!(Presence::from_answer(&answer, other), None);
            assert_eq!(Presence::from_answer(&answer[..16], node), None);
            assert_eq!(Presence::from_answer(&[&answer[..], &[0]].concat(), node), None);
        }
        assert_eq!(Presence::from_answer(&[&node.as_bytes()[..], &[3]].concat(), node), None);
    }

    #[test]
    fn a_majority_that_is_gone_decides_nothing_more() {
        let census = |closed, absent| Census { members: 3, closed, absent };
        assert!(!census(0, 0).is_hopeless());
        assert!(!census(1, 0).is_hopeless());
        assert!(!census(0, 1).is_hopeless());
        assert!(census(1, 1).is_hopeless());
        assert!(census(2, 0).is_hopeless());
        assert!(!Census { members: 1, ..Census::default() }.is_hopeless());
    }

    #[test]
    fn one_of_three_that_closed_vouches_for_what_was_committed() {
        let census = |members, closed, absent| Census { members, closed, absent };
        assert!(census(3, 1, 0).vouches());
        assert!(!census(3, 0, 1).vouches(), "a wiped member knows nothing");
        assert!(!census(3, 0, 0).vouches());
        assert!(!census(1, 0, 0).vouches());
        assert!(!census(5, 1, 0).vouches(), "three others may have agreed");
        assert!(census(5, 2, 0).vouches());
    }
}
