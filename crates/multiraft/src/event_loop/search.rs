//! Faster elections: repeated, soon, while there is no leader.
//!
//! Raft starts an election once per election timeout. Two members that start at the same time each
//! vote for themselves, and then both wait for another timeout; so does one that starts a moment
//! too early, while the others still wait for the failed leader. Here a node that has started an
//! election repeats it, the first in rank soonest, so that two do not keep blocking each other (the
//! idea of Raft's randomized timeouts, section 5.2 of its paper, with ranks instead of chance).
//! Each delay is twice the previous one, up to the election timeout: a slow network has time to
//! respond.
//!
//! The first step is a pre-vote, which changes no member's term, and a node that has a leader does
//! not start one.

use super::core::GroupCore;
use super::state::members::MemberCore;
use super::state::search::Search;

impl GroupCore {
    /// Processes one tick, possibly without a leader. `idle`: this replica may not start an
    /// election.
    pub(crate) fn find_leader(&mut self, idle: bool) {
        let node = &self.node;
        let state = node.role();
        if idle || node.has_leader() {
            self.search = Search::default();
            return;
        }
        let asks = node.asks_for_votes();
        let Some(since) = self.search.since.map(|ticks| ticks + 1) else {
            // A node whose vote was requested first has a timeout of its own, which is running.
            self.search.since = asks.then_some(0);
            return;
        };
        self.search.since = Some(since);
        if since >= self.search.wait(state, self.rank(), self.lead.election_ticks()) {
            self.search = Search { since: Some(0), tries: self.search.tries + 1 };
            self.node.campaign();
        }
    }

    /// Number of other voters that rank before this one.
    fn rank(&self) -> u64 {
        let key = |m: &MemberCore| (std::cmp::Reverse(m.priority), m.target.node);
        let Some(mine) = self.member(self.my_id).map(key) else { return 0 };
        let voters = self.members.iter().filter(|m| m.role.votes());
        voters.filter(|m| key(m) < mine).count() as u64
    }
}
