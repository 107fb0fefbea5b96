//! Trimming of a group's log.

use std::sync::atomic::Ordering;

use super::core::GroupCore;
use super::out::Out;
use crate::apply::ApplyTask;
use crate::consensus::{Sending, Storage};
use crate::log::task::WriteTask;
use crate::machine::LogPosition;
use crate::membership::MemberRole;
use crate::metrics::add;

impl GroupCore {
    /// Asks the state machine to flush when enough entries or bytes are applied.
    pub(crate) fn maybe_trim(&mut self, out: &mut Out) {
        if self.flushing || self.restoring.is_some() {
            return;
        }
        let applied = self.shared.applied.load(Ordering::Acquire);
        let entries = (applied + 1).saturating_sub(self.node.store().first());
        let first = self.node.store().first();
        // Not before the requested index is applied, and only until then.
        self.trim_goal.take_if(|goal| first > *goal);
        let goal = self.trim_goal.is_some_and(|goal| goal <= applied);
        let due = goal
            || entries >= self.trim.entries.saturating_add(self.trim.keep)
            || (self.bytes_in_log >= self.trim.bytes && entries > 0)
            || (self.trim_forced && entries > 0);
        if due {
            self.flushing = true;
            out.apply(&self.apply, ApplyTask::Flush { group: self.region() });
        } else {
            self.trim_forced = false;
        }
    }

    pub(crate) fn on_trim_wanted(&mut self, out: &mut Out) {
        self.trim_forced = true;
        self.maybe_trim(out);
    }

    pub(crate) fn on_trim_to(&mut self, index: u64, out: &mut Out) {
        self.trim_goal = Some(self.trim_goal.map_or(index, |goal| goal.max(index)));
        self.maybe_trim(out);
    }

    /// The state machine holds everything up to `at` durably: trims the log, except for entries
    /// that followers close behind may still need.
    pub(crate) fn on_flushed(&mut self, at: LogPosition, out: &mut Out) {
        self.flushing = false;
        let forced = std::mem::take(&mut self.trim_forced) || self.trim_goal.is_some();
        let by_bytes = self.bytes_in_log >= self.trim.bytes;
        let keep = if forced || by_bytes { 0 } else { self.trim.keep };
        let applied = self.node.applied();
        let mut index = at.index.min(applied).saturating_sub(keep);
        if self.node.leads() {
            index = index.min(self.needed_by_followers(at.index, forced));
        }
        let first = self.node.store().first();
        if index < first {
            // No gain at present; ask again after as much has arrived.
            self.bytes_in_log /= 2;
            return;
        }
        let Ok(term) = self.node.store().term(index) else { return };
        let last = self.node.store().last().index;
        let at = LogPosition { term, index };
        let share = (last - index) as f64 / (last + 1 - first) as f64;
        self.bytes_in_log = (self.bytes_in_log as f64 * share) as u64;
        let region = self.region();
        out.write(&self.log, WriteTask { region, truncate: Some(at), ..Default::default() });
        self.node.mut_store().truncate(at);
        add(&out.metrics.trims, 1);
    }

    /// The last entry that no follower needs any more, except one that lags so far that a snapshot
    /// is cheaper. For an unreachable follower fewer entries are kept, and none if the log as a
    /// whole is too large.
    fn needed_by_followers(&self, flushed: u64, forced: bool) -> u64 {
        let near = self.trim.entries.saturating_mul(4);
        let away = if forced { 0 } else { self.trim.entries };
        let snapshot = self.outgoing.as_ref().map(|o| o.at.index);
        let others = self.members.iter().filter(|m| m.raft_id != self.my_id);
        let known = others.filter_map(|m| self.node.progress(m.raft_id).map(|p| (m.role, p)));
        let needed = known.filter_map(|(role, p)| {
            let kept_entries = match (p.active, role) {
                // Without the entries after its snapshot it would need another one, and so on.
                (true, MemberRole::Joining | MemberRole::Listener) if !forced => u64::MAX,
                (true, _) => near,
                (false, _) => away,
            };
            // A member that is receiving a snapshot continues after that.
            let from = match p.sending {
                Sending::Snapshot { index } => p.matched.max(index),
                Sending::Probe | Sending::Entries => p.matched,
            };
            let useful = from > 0 && from.saturating_add(kept_entries) >= flushed;
            useful.then_some(from)
        });
        needed.chain(snapshot).min().unwrap_or(u64::MAX)
    }
}
