//! The next thing to do for a container of full copies ([`repair`](super::repair)).

use super::Repairing;
use super::count::ReplicaCount;
use super::order::Repair;
use super::pair::Pair;
use super::urgency::{Left, Urgency};
use crate::state::container::Container;
use crate::time::Millis;

impl Repairing<'_> {
    /// Number of replicas that a container can lose and still be read; `None` if it needs no
    /// repair.
    pub(super) fn left_of(&self, container: &Container, now: Millis) -> Option<Left> {
        let count = self.on.replica_count_at(container, Some(now))?;
        if count.is_fine() {
            let is_wrong = self.on_wrong_disks(container, count.heard.iter()).next().is_some();
            return is_wrong.then_some(Urgency::CAN_WAIT);
        }
        if count.missing(true) == 0 {
            return Some(Urgency::CAN_WAIT);
        }
        let copies = [&count.serving, &count.leaving, &count.maintenance].map(Vec::len);
        let copies = copies.into_iter().fold(0, usize::saturating_add);
        Some(Left::try_from(copies.saturating_sub(1)).unwrap_or(Left::MAX))
    }

    /// The next thing to do for a container.
    pub(super) fn repair(
        &self,
        container: &Container,
        now: Millis,
        until: Millis,
    ) -> Option<Repair> {
        let count = self.on.replica_count_at(container, Some(now))?;
        if count.is_fine() {
            return self.bring_to_type(container, count.heard.iter(), until);
        }
        if count.missing(true) > 0 {
            let copy = self.order_copy(container, &count, false, (now, until));
            return copy
                .or_else(|| self.on.delete_in_the_way(container, &count, (now, until)))
                .or_else(|| self.mend_in_place(container, &count, (now, until)));
        }
        if count.missing(false) > 0 {
            return None;
        }
        if count.misplaced && count.coming.is_empty() && count.excess() == 0 {
            return self.order_copy(container, &count, true, (now, until));
        }
        if !count.closing.is_empty() || !count.coming.is_empty() {
            return None;
        }
        if count.heard.len() < count.required {
            return None;
        }
        let victim = self.on.bad_victim(container, &count).or_else(|| {
            (count.spare() > 0)
                .then(|| self.on.extra_victim(container, &count, self.moves))
                .flatten()
        })?;
        Some(Repair::delete(container.id, (victim, 0), until))
    }

    fn order_copy(
        &self,
        c: &Container,
        s: &ReplicaCount,
        elsewhere: bool,
        (now, until): (Millis, Millis),
    ) -> Option<Repair> {
        if self.on.is_copying_enough() {
            return None;
        }
        if !elsewhere {
            match self.on.pair_of(c, s, self.destinations) {
                Pair::Copy(source, target) => {
                    return Some(Repair::copy(c.id, (source, 0), target, until));
                }
                Pair::Wait => return None,
                Pair::None => {}
            }
        }
        let target = self.on.choose_target(c, s, elsewhere, now)?;
        let source = self.on.choose_source(c, s)?;
        Some(Repair::copy(c.id, (source, 0), target, until))
    }
}
