//! Looking for a leader: votes are asked for again, soon, while no member leads.
//!
//! Raft asks once in an election timeout. Two members that ask at the same time each keep their own
//! vote, and then both wait for a timeout once more; so does one that asked a moment too early,
//! while the others still counted on the leader that is gone. Here a node that has begun to ask
//! goes on, the first in rank soonest, so that two do not go on getting in each other's way (the
//! idea of Raft's randomized timeouts, section 5.2 of its paper, with ranks for chance). Each try
//! waits twice as long as the one before, up to the election timeout: a slow network has time to
//! answer.
//!
//! What is asked first is whether votes would be given: that changes no member's term, and a node
//! that hears of a leader says nothing.

use super::core::{GroupCore, MemberCore};
use crate::consensus::StateRole;

/// How long no member has led, and when votes are asked for next.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Ticks since votes were last asked for; none while there is a leader, or its silence is not
    /// long yet.
    since: Option<u64>,
    tries: u32,
}

impl Search {
    /// Ticks to wait for an answer. A vote is on disk before it is given, which takes longer than a
    /// word.
    fn wait(&self, state: StateRole, rank: u64, election_ticks: u64) -> u64 {
        let first = match state {
            StateRole::Candidate => election_ticks / 2 + rank,
            _ => 2 + rank,
        };
        (first << self.tries.min(8)).min(election_ticks + rank)
    }
}

impl GroupCore {
    /// One tick more without a leader, perhaps. `idle`: this replica may not ask for votes.
    pub(crate) fn find_leader(&mut self, idle: bool) {
        let node = &self.node;
        let state = node.role();
        if idle || node.has_leader() {
            self.search = Search::default();
            return;
        }
        let asks = node.asks_for_votes();
        let Some(since) = self.search.since.map(|ticks| ticks + 1) else {
            // A node that was asked by another first has a timeout of its own, which runs.
            self.search.since = asks.then_some(0);
            return;
        };
        self.search.since = Some(since);
        if since >= self.search.wait(state, self.rank(), self.lead.election_ticks()) {
            self.search = Search { since: Some(0), tries: self.search.tries + 1 };
            self.node.campaign();
        }
    }

    /// How many of the other voters come before this one.
    fn rank(&self) -> u64 {
        let key = |m: &MemberCore| (std::cmp::Reverse(m.priority), m.target.node);
        let Some(mine) = self.member(self.my_id).map(key) else { return 0 };
        let voters = self.members.iter().filter(|m| m.role.votes());
        voters.filter(|m| key(m) < mine).count() as u64
    }
}
