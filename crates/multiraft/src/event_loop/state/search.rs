//! The search for a leader.

use crate::consensus::StateRole;

/// How long no member has led, and when votes are asked for next.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Ticks since votes were last asked for; none while there is a leader, or its silence is not
    /// long yet.
    pub(in crate::event_loop) since: Option<u64>,
    pub(in crate::event_loop) tries: u32,
}

impl Search {
    /// Ticks to wait for an answer. A vote is on disk before it is given, which takes longer than a
    /// word.
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
