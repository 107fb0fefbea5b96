//! The search for a leader.

use crate::consensus::StateRole;

/// Time without a leader, and the backoff of campaigns.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Ticks since the last campaign; `None` while there is a leader, or before its timeout.
    pub(in crate::event_loop) since: Option<u64>,
    pub(in crate::event_loop) tries: u32,
}

impl Search {
    /// Ticks to wait for responses. A vote is on disk before it is sent, which takes longer than a
    /// response to a pre-vote.
    pub(in crate::event_loop) fn wait(
        &self,
        state: StateRole,
        rank: u64,
        election_ticks: u64,
    ) -> u64 {
        let first = match state {
            StateRole::Candidate => election_ticks / 2 + rank,
            _ => 2 + rank,
        };
        (first << self.tries.min(8)).min(election_ticks + rank)
    }
}
