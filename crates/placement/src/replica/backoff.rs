//! Backoff of containers whose copies or reconstructions failed: the first retry is ordered
//! immediately, the others after a pause that doubles, so that a container that fails again and
//! again does not delay others or keep a node busy.
//!
//! The pause ends early when there may be another source of copies or reconstructions: when a
//! replica of the container is reported, is deleted or changes, and when a node that has one
//! registers, or dies.

use rustc_hash::FxHashMap;
use types::ContainerId;

use crate::state::pending::PendingTasks;
use crate::time::Millis;

/// The pause after the second failure, in milliseconds.
const FIRST: Millis = 1_000;
/// The longest: what `hdds.scm.replication.under.replicated.interval` is in Ozone by default.
const LONGEST: Millis = 30_000;

/// Failures of a container since its state last changed.
#[derive(Debug)]
struct Failures {
    count: u32,
    last: Millis,
    /// Time from which the next copy or reconstruction may be ordered.
    until: Millis,
    /// True until the end of the pause was reported once.
    is_waited_for: bool,
}

/// The containers whose copies or reconstructions failed.
#[derive(Debug, Default)]
pub struct Backoffs(FxHashMap<ContainerId, Failures>);

impl Backoffs {
    /// A copy or reconstruction failed. Several replicas of one order count as one.
    pub(super) fn failed(&mut self, id: ContainerId, now: Millis) {
        let new = Failures { count: 0, last: now, until: now, is_waited_for: false };
        let failures = self.0.entry(id).or_insert(new);
        if failures.count > 0 && failures.last == now {
            return;
        }
        let pause = match failures.count {
            0 => 0,
            n => 2_u64.saturating_pow(n.saturating_sub(1)).saturating_mul(FIRST).min(LONGEST),
        };
        *failures = Failures {
            count: failures.count.saturating_add(1),
            last: now,
            until: now.saturating_add(pause),
            is_waited_for: pause > 0,
        };
    }

    /// Returns `true` if copies and reconstructions of that container are delayed.
    pub(super) fn holds(&self, id: ContainerId, now: Millis) -> bool {
        self.0.get(&id).is_some_and(|failures| failures.until > now)
    }

    /// Returns `true` if the pause of a container has ended since the last call.
    fn take_passed(&mut self, now: Millis) -> bool {
        let mut any = false;
        for failures in self.0.values_mut().filter(|f| f.is_waited_for && f.until <= now) {
            (failures.is_waited_for, any) = (false, true);
        }
        any
    }

    /// Forgets containers that are not there any more.
    pub(super) fn retain(&mut self, is_there: impl Fn(ContainerId) -> bool) {
        self.0.retain(|id, _| is_there(*id));
    }

    /// There may be something else to copy or decode these containers from. True when one of them
    /// had failed.
    fn end(&mut self, ids: impl IntoIterator<Item = ContainerId>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let before = self.0.len();
        for id in ids {
            self.0.remove(&id);
        }
        self.0.len() < before
    }
}

/// There may be other sources for copies or reconstructions of these containers: they are checked
/// again.
pub(crate) fn end_backoff(
    backoffs: &mut Backoffs,
    pending: &mut PendingTasks,
    ids: impl IntoIterator<Item = ContainerId>,
) {
    if backoffs.end(ids) {
        pending.note_change();
    }
}

/// Marks the containers whose pause has passed to be checked again.
pub(crate) fn watch_backoffs(backoffs: &mut Backoffs, pending: &mut PendingTasks, now: Millis) {
    if backoffs.take_passed(now) {
        pending.note_change();
    }
}
