//! Catch-up of a replica that may lack entries it once confirmed (detected by `recall.rs`).
//!
//! * It neither votes for a member that has a log nor starts elections until it holds all entries
//!   committed at its first contact with a leader, or entries that may have been committed before
//!   that leader, if the leader had not committed an entry of its own term yet.
//! * It accepts a commit index from a heartbeat only up to the entries received from that leader in
//!   its term: the leader may still count entries that are lost. Each response contains the end of
//!   its log, so that the leader resets its progress.
//! * Only if all members are new, so that none has a log, do they elect one of them
//!   (`greeting.rs`). A replica that is known to have lost its log does not take part even then.
//! * A replica that lost its log responds to no leader for two election timeouts: a leader that was
//!   replaced with this replica's vote, but has not noticed it, still counts its responses and
//!   steps down within that time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use uuid::Uuid;

use super::core::GroupCore;
use super::out::Out;
use crate::log::Completeness;
use crate::log::task::WriteTask;

/// Election timeouts after which a replica that may not vote, and has no leader, logs the
/// operator's options.
const STUCK_AFTER: u32 = 20;

/// Election timeouts during which a replica that lost its log responds to no leader.
const SILENT_FOR: u64 = 2;

/// Entries that a replica may lack, and its progress in receiving them.
pub(crate) struct CatchUp {
    completeness: Completeness,
    /// The completeness has changed since it was last written to the log.
    unsaved: bool,
    /// Term of the leader that set the index to reach.
    met_in: u64,
    /// Remaining ticks without responses to leaders.
    silence: u64,
    /// Term of the last leader that sent entries, and the last of them that is on disk.
    matched: (u64, u64),
    refusal_logged: bool,
    /// Remaining ticks without a leader before that is logged.
    ticks_until_logged: u64,
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

    /// Returns `true` if this replica may vote for a candidate whose log ends at `last`, or be that
    /// candidate. `all_new`: each other voter is known to be new.
    pub(crate) fn may_elect(&self, last: u64, all_new: bool) -> bool {
        match self.completeness {
            Completeness::Complete | Completeness::Accepted => true,
            Completeness::Unknown { lost } => last == 0 && !lost && all_new,
            Completeness::Until(_) => false,
        }
    }

    /// Logs a refused vote once, because an operator may wonder why there is no leader. Not logged
    /// in a group that is about to begin.
    pub(crate) fn log_refusal(&mut self, group: Uuid, last: u64) {
        if !self.may_elect(last, true) && !std::mem::replace(&mut self.refusal_logged, true) {
            tracing::warn!(%group, completeness = ?self.completeness, "raft log is new, emptied or lost: no votes before it holds all entries committed by a leader");
        }
    }

    /// Returns `true` while no leader gets a response.
    pub(crate) fn is_silent(&self) -> bool {
        self.silence > 0 && self.is_incomplete()
    }

    /// The completeness to store with the next write.
    pub(crate) fn take_unsaved(&mut self) -> Option<Completeness> {
        std::mem::take(&mut self.unsaved).then_some(self.completeness)
    }

    fn set(&mut self, completeness: Completeness) {
        self.unsaved |= self.completeness != completeness;
        self.completeness = completeness;
    }

    /// Handles entries from the leader of `term`, which had committed nothing after `until`.
    pub(crate) fn met_leader(&mut self, term: u64, until: u64) {
        let lower = match self.completeness {
            Completeness::Unknown { .. } => true,
            // A later leader may never reach the entries that an earlier one lost.
            Completeness::Until(before) => term > self.met_in && until < before,
            Completeness::Complete | Completeness::Accepted => false,
        };
        if lower {
            self.met_in = term;
            self.set(Completeness::Until(until));
        }
    }

    /// This replica was elected when no member had a log.
    fn elected(&mut self) {
        self.set(Completeness::Complete);
    }

    /// Updates the progress: the log holds everything up to `persisted`, and matches the leader's
    /// up to `committed`. Returns `true` once nothing is missing.
    fn advance(&mut self, persisted: u64, committed: u64) -> bool {
        let complete = matches!(self.completeness, Completeness::Until(until) if persisted.min(committed) >= until);
        if complete {
            self.set(Completeness::Complete);
        }
        complete
    }

    /// Records that all entries of the leader of `term` up to `index` are on disk.
    pub(crate) fn note_matched(&mut self, term: u64, index: u64) {
        let before = if self.matched.0 == term { self.matched.1 } else { 0 };
        self.matched = (term, before.max(index));
    }

    /// The part of `commit` to accept from a heartbeat of the leader of `term`.
    pub(crate) fn believed(&self, term: u64, commit: u64, committed: u64) -> u64 {
        if !self.is_incomplete() {
            return commit;
        }
        let matched = if self.matched.0 == term { self.matched.1 } else { 0 };
        commit.min(matched.max(committed))
    }
}

impl GroupCore {
    /// This replica became leader.
    pub(crate) fn complete_as_leader(&mut self) {
        if self.catch_up.is_incomplete() {
            self.catch_up.elected();
            self.log.note(self.shared.id, Completeness::Complete);
        }
    }

    /// Records that nothing is missing any more, in the log and, soon, outside of it.
    pub(crate) fn advance_catch_up(&mut self, out: &mut Out) {
        let committed = self.node.committed();
        if self.restoring.is_none() && self.catch_up.advance(self.persisted, committed) {
            tracing::info!(group = %self.shared.id, committed, "replica has caught up");
            self.log.note(self.shared.id, Completeness::Complete);
            let (region, completeness) = (self.region(), self.catch_up.take_unsaved());
            out.write(&self.log, WriteTask { region, completeness, ..Default::default() });
        }
    }

    /// One tick of the clock.
    pub(crate) fn tick_catch_up(&mut self, out: &mut Out) {
        if !self.catch_up.is_incomplete() {
            return;
        }
        self.catch_up.silence = self.catch_up.silence.saturating_sub(1);
        self.greet(out);
        self.log_stuck();
    }

    /// Logs once that this replica waits for a leader in vain.
    fn log_stuck(&mut self) {
        if self.catch_up.ticks_until_logged == 0 {
            return;
        }
        let heard = self.shared.freshness.heard.load(Ordering::Relaxed);
        let silent = Duration::from_nanos(self.shared.now().saturating_sub(heard));
        if self.catch_up.ticks_until_logged > 1 {
            self.catch_up.ticks_until_logged -= 1;
        } else if silent > self.lead.election_timeout * STUCK_AFTER {
            self.catch_up.ticks_until_logged = 0;
            let first = if self.majority_begins { "a majority of" } else { "all" };
            tracing::error!(
                group = %self.shared.id, completeness = ?self.catch_up.completeness,
                applied = self.shared.applied.load(Ordering::Relaxed), accept = %self.log.accept_path().display(),
                "there is no leader, and this replica does not vote: its raft log is new or was lost. A new group begins when {first} its members are up. Start the members that are down, or restore their logs. If the logs of a majority cannot be restored, stop the members, create the file `accept` for each lost log and start them: acknowledged writes that were not applied are lost then"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Votes for a candidate without a log, if all others are new and if not, and for one with a
    /// log.
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
        assert!(!catch_up.advance(100, 100), "no leader has set the index");
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
