//! Repair of closed erasure coded containers, until there is one good replica of each index.
//!
//! One order per container and check; pending orders count as done ([`pending`](super::pending)).
//! In this order:
//! 1. **missing indexes** are decoded from the others by a node that gets one of them, all of them
//!    in one order. One on a node that leaves, or enters maintenance, is copied from there; it is
//!    decoded only if it cannot be read there;
//! 2. an index that exists **more than once** is deleted, then **bad replicas** (`ec_delete.rs`);
//! 3. an index of which every replica **may have blocks that were deleted** is decoded on another
//!    node (`ec_renew.rs`);
//! 4. when a rack has **more indexes than it should**, one is copied to another (`ec_spread.rs`);
//! 5. one that is **on a disk of another storage type** is moved (`wrong_disk.rs`).
//!
//! **Invariant:** no index is decoded while it is, or may yet be, on a node in service, except one
//! of 3.; and none of a container with fewer readable indexes than decoding takes. If too few good
//! ones are left, UNHEALTHY replicas are read, too: they do not count, and the decoding node
//! verifies each of their blocks.

use super::Repairing;
use super::ec_count::EcReplicaCount;
use super::order::Repair;
use super::pair::Pair;
use super::urgency::{Left, Urgency};
use crate::state::container::Container;
use crate::time::Millis;

/// Treatment of missing indexes.
enum Bring {
    /// Some of them are pending now.
    Ordered(Repair),
    /// They wait for limits, for nodes that have enough to do, or for enough of the others.
    Waits,
    /// Each node that could get one has a replica of the container already.
    NoTarget,
}

impl Repairing<'_> {
    /// Number of indexes that a container can lose and still be read; `None` if it needs no repair.
    pub(super) fn left_of_ec(&self, c: &Container, now: Millis) -> Option<Left> {
        let count = self.on.ec_replica_count_at(c, Some(now))?;
        if count.needed(true).is_empty() {
            let is_fine = count.is_fine()
                && self.on.to_renew(c, &count).is_none()
                && !self.on.is_crowded(c, &count)
                && self.on_wrong_disks(c, count.heard.values().flatten()).next().is_none();
            return (!is_fine).then_some(Urgency::CAN_WAIT);
        }
        if count.is_lost() {
            // At most, the remaining replicas can be copied.
            return Some(count.required);
        }
        let left = count.readable().saturating_sub(count.data as usize);
        Some(Left::try_from(left).unwrap_or(count.required))
    }

    /// The next thing to do for a container.
    pub(super) fn repair_ec(&self, c: &Container, now: Millis, until: Millis) -> Option<Repair> {
        let count = self.on.ec_replica_count_at(c, Some(now))?;
        let needed = count.needed(true);
        if !needed.is_empty() {
            return match self.bring(c, &count, &needed, until) {
                Bring::Ordered(repair) => Some(repair),
                Bring::Waits => None,
                // A duplicate or bad one may occupy the node for a missing one.
                Bring::NoTarget => self
                    .on
                    .delete_excess(c, &count, self.moves, until)
                    .or_else(|| self.on.delete_bad_in_the_way(c, &count, until)),
            };
        }
        if !count.coming.is_empty() || !count.closing.is_empty() {
            return None;
        }
        self.on
            .delete_excess(c, &count, self.moves, until)
            .or_else(|| self.on.delete_bad(c, &count, until))
            .or_else(|| self.on.renew(c, &count, until))
            .or_else(|| self.on.spread(c, &count, until))
            .or_else(|| self.bring_index_to_type(c, &count, until))
    }

    fn bring_index_to_type(
        &self,
        c: &Container,
        s: &EcReplicaCount,
        until: Millis,
    ) -> Option<Repair> {
        let heard = s.heard.values().flatten();
        if s.is_fine() { self.bring_to_type(c, heard, until) } else { None }
    }

    fn bring(&self, c: &Container, s: &EcReplicaCount, needed: &[u32], until: Millis) -> Bring {
        let can_copy =
            |index: &u32, again: bool| !self.on.senders(c.id, s, *index, again).is_empty();
        let (mut copied, mut decoded): (Vec<u32>, Vec<u32>) =
            needed.iter().partition(|index| can_copy(index, false));
        let mut sources = self.on.sources(c.id, s, &decoded);
        if sources.len() < s.data as usize {
            self.on.add_damaged(c.id, s, &mut sources, &mut decoded);
        }
        if sources.len() < s.data as usize {
            // Only a copy that failed before remains to be tried.
            copied = needed.iter().copied().filter(|index| can_copy(index, true)).collect();
            decoded.clear();
        }
        if (copied.is_empty() && decoded.is_empty()) || self.on.is_copying_enough() {
            return Bring::Waits;
        }
        let mut paired = None;
        copied.retain(|index| match self.on.pair_of_index(c, s, self.destinations, *index) {
            Pair::Copy(source, target) => {
                paired.get_or_insert_with(|| Repair::copy(c.id, (source, *index), target, until));
                false
            }
            Pair::Wait => false,
            Pair::None => true,
        });
        if decoded.is_empty() && (paired.is_some() || copied.is_empty()) {
            return paired.map_or(Bring::Waits, Bring::Ordered);
        }
        let targets = self.on.choose_ec_targets(c, s, needed.len());
        let Some(target) = targets.first().copied() else {
            return match self.on.nodes.iter().any(|node| self.on.can_get(c, node)) {
                true => Bring::Waits,
                false => Bring::NoTarget,
            };
        };
        self.on
            .reconstruct(c.id, sources, &decoded, targets, until)
            .or(paired)
            .or_else(|| {
                let copy = |index: &u32| {
                    let source = self.on.sender(c.id, s, *index)?;
                    Some(Repair::copy(c.id, (source, *index), target, until))
                };
                copied.iter().find_map(copy)
            })
            .map_or(Bring::Waits, Bring::Ordered)
    }
}
