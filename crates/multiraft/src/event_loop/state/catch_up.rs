//! The completeness of a replica.

use uuid::Uuid;

use crate::log::Completeness;

/// Election timeouts without a leader after which a replica that may not vote logs the remedies.
pub(in crate::event_loop) const STUCK_AFTER: u32 = 20;

/// Election timeouts for which a replica that lost its log responds to no leader.
const SILENT_FOR: u64 = 2;

/// Entries that a replica may lack, and its progress in getting them.
pub(crate) struct CatchUp {
    pub(in crate::event_loop) completeness: Completeness,
    /// True if the completeness has changed since its last write to the log.
    unsaved: bool,
    /// Term of the leader that sent the index this replica must reach.
    met_in: u64,
    /// Remaining ticks without responses to leaders.
    pub(in crate::event_loop) silence: u64,
    /// Term of the last leader that sent entries, and the index of the last one on disk.
    matched: (u64, u64),
    refusal_logged: bool,
    /// Remaining ticks without a leader until that is logged; 0 if it was.
    pub(in crate::event_loop) ticks_until_logged: u64,
}

impl CatchUp {
    pub(crate) fn new(completeness: Completeness, election_ticks: u64) -> Self {
        let lost = completeness == Completeness::Unknown { lost: true };
        Self {
            completeness,
            unsaved: false,
            met_in: 0,
            silence: if lost { SILENT_FOR * election_ticks + 1 } else { 0 },
            matched: (0, 0),
            refusal_logged: false,
            ticks_until_logged: u64::from(STUCK_AFTER) * election_ticks,
        }
    }

    /// Returns `true` if this replica may lack entries.
    pub(crate) fn is_incomplete(&self) -> bool {
        !matches!(self.completeness, Completeness::Complete | Completeness::Accepted)
    }

    pub(crate) fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Returns `true` if this replica counts, as a voter or as the candidate, in the election of a
    /// candidate whose log ends at `last`. `all_new`: each other voter is known to be new.
    pub(crate) fn may_elect(&self, last: u64, all_new: bool) -> bool {
        match self.completeness {
            Completeness::Complete | Completeness::Accepted => true,
            Completeness::Unknown { lost } => last == 0 && !lost && all_new,
            Completeness::Until(_) => false,
        }
    }

    /// Logs the first refused vote, since it may explain the lack of a leader. Logs nothing in a
    /// group that is about to begin.
    pub(crate) fn log_refusal(&mut self, group: Uuid, last: u64) {
        if !self.may_elect(last, true) && !std::mem::replace(&mut self.refusal_logged, true) {
            tracing::warn!(%group, completeness = ?self.completeness, "refusing to vote: the raft log is new or was lost, and lacks entries that a leader committed");
        }
    }

    /// Returns `true` if this replica does not respond to leaders yet.
    pub(crate) fn is_silent(&self) -> bool {
        self.silence > 0 && self.is_incomplete()
    }

    /// Takes the completeness that the next write to the log must contain, if it has changed.
    pub(crate) fn take_unsaved(&mut self) -> Option<Completeness> {
        std::mem::take(&mut self.unsaved).then_some(self.completeness)
    }

    fn set(&mut self, completeness: Completeness) {
        self.unsaved |= self.completeness != completeness;
        self.completeness = completeness;
    }

    /// Handles entries of the leader of `term`, which had committed nothing after `until` when it
    /// sent them.
    pub(crate) fn met_leader(&mut self, term: u64, until: u64) {
        let lower = match self.completeness {
            Completeness::Unknown { .. } => true,
            // A later leader may never reach the index of entries that an earlier one lost.
            Completeness::Until(before) => term > self.met_in && until < before,
            Completeness::Complete | Completeness::Accepted => false,
        };
        if lower {
            self.met_in = term;
            self.set(Completeness::Until(until));
        }
    }

    /// Marks a replica complete that was elected when no member had a log.
    pub(in crate::event_loop) fn elected(&mut self) {
        self.set(Completeness::Complete);
    }

    /// Records that the log is on disk up to `persisted`, and equals the leader's log up to
    /// `committed`. Returns `true` if that completes the replica.
    pub(in crate::event_loop) fn advance(&mut self, persisted: u64, committed: u64) -> bool {
        let complete = matches!(self.completeness, Completeness::Until(until) if persisted.min(committed) >= until);
        if complete {
            self.set(Completeness::Complete);
        }
        complete
    }

    /// Records that the entries up to `index` of the leader of `term` are on disk.
    pub(crate) fn note_matched(&mut self, term: u64, index: u64) {
        let before = if self.matched.0 == term { self.matched.1 } else { 0 };
        self.matched = (term, before.max(index));
    }

    /// Commit index to use for a heartbeat of the leader of `term` that contains `commit`: an
    /// incomplete replica limits it to entries that it received from that leader.
    pub(crate) fn believed(&self, term: u64, commit: u64, committed: u64) -> u64 {
        if !self.is_incomplete() {
            return commit;
        }
        let matched = if self.matched.0 == term { self.matched.1 } else { 0 };
        commit.min(matched.max(committed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results for a candidate without a log when all others are new, for one when they are not,
    /// and for a candidate with a log.
    fn may_elect(catch_up: &CatchUp) -> (bool, bool, bool) {
        (catch_up.may_elect(0, true), catch_up.may_elect(0, false), catch_up.may_elect(7, true))
    }

    #[test]
    fn a_replica_that_may_lack_entries_elects_none_that_has_a_log() {
        let new = |completeness| CatchUp::new(completeness, 10);
        assert_eq!(may_elect(&new(Completeness::Complete)), (true, true, true));
        assert_eq!(may_elect(&new(Completeness::Accepted)), (true, true, true));
        assert_eq!(may_elect(&new(Completeness::Unknown { lost: false })), (true, false, false));
        assert_eq!(may_elect(&new(Completeness::Unknown { lost: true })), (false, false, false));
        assert_eq!(may_elect(&new(Completeness::Until(0))), (false, false, false));
        assert!(new(Completeness::Unknown { lost: true }).is_silent());
        assert!(!new(Completeness::Unknown { lost: false }).is_silent());
    }

    #[test]
    fn it_is_complete_when_what_a_leader_had_is_on_disk_and_committed() {
        let mut catch_up = CatchUp::new(Completeness::Unknown { lost: true }, 10);
        assert!(!catch_up.advance(100, 100), "no leader has sent an index");
        catch_up.met_leader(5, 20);
        assert_eq!(catch_up.take_unsaved(), Some(Completeness::Until(20)));
        assert_eq!(catch_up.take_unsaved(), None);
        catch_up.met_leader(5, 10);
        assert!(!catch_up.advance(30, 19) && !catch_up.advance(19, 30), "20 is not there");
        catch_up.met_leader(6, 40);
        catch_up.met_leader(7, 15);
        assert_eq!(
            catch_up.take_unsaved(),
            Some(Completeness::Until(15)),
            "a later leader has less"
        );
        assert!(catch_up.advance(15, 15) && !catch_up.is_incomplete());
        assert_eq!(catch_up.take_unsaved(), Some(Completeness::Complete));
        assert!(!catch_up.advance(16, 16), "once");
    }

    #[test]
    fn a_heartbeat_is_believed_as_far_as_its_leader_has_sent_entries() {
        let mut catch_up = CatchUp::new(Completeness::Unknown { lost: true }, 10);
        assert_eq!(catch_up.believed(5, 50, 3), 3);
        catch_up.note_matched(4, 40);
        assert_eq!(catch_up.believed(5, 50, 3), 3, "those were another leader's");
        catch_up.note_matched(5, 30);
        catch_up.note_matched(5, 20);
        assert_eq!((catch_up.believed(5, 50, 3), catch_up.believed(5, 25, 3)), (30, 25));
        catch_up.elected();
        assert_eq!(catch_up.believed(5, 50, 3), 50);
    }
}
