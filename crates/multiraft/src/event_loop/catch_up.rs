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

use super::core::GroupCore;
use super::out::Out;
use super::state::catch_up::STUCK_AFTER;
use crate::log::Completeness;
use crate::log::task::WriteTask;

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

    /// Logs once that this replica has had no leader for [`STUCK_AFTER`] election timeouts.
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
