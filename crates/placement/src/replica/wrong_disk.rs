//! Replicas on disks of another storage type than their container belongs on: a repair found no
//! room on the right ones, or the type of a data directory was changed.
//!
//! They are moved when their container needs no other repair, and no more urgent one is delayed. If
//! the node has a disk of the right type with room, it moves its replica there itself. Else a node
//! that has one gets a copy, and the replica on the wrong disk is then the surplus one
//! (`repair.rs`, `ec_delete.rs`), under the conditions of every deletion.
//!
//! A node may find no room in the end: a failed move is not retried for a while, so that no replica
//! is copied back and forth.

use proto::hdds::LifeCycleState;
use types::DatanodeId;

use super::Repairing;
use super::order::{Repair, WRONG_DISK};
use super::storage_type::is_on_wrong_disk;
use crate::shuffle::mixed;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::time::Millis;

impl Repairing<'_> {
    /// Those of these nodes whose replica could be on a disk of the right type, and is not.
    pub(super) fn on_wrong_disks<'a>(
        &'a self,
        c: &'a Container,
        heard: impl Iterator<Item = &'a DatanodeId> + 'a,
    ) -> impl Iterator<Item = DatanodeId> + 'a {
        let settled = self.on.settings.replication.storage_types
            && c.state == LifeCycleState::Closed
            && self.storage_types.is_roomy(c.storage_type);
        let is_wrong = move |node: &DatanodeId| {
            settled
                && is_on_wrong_disk(self.on.replicas, c, *node)
                && !self.storage_types.was_tried(c.id, *node)
                && self.on.pending.of(c.id).is_empty()
                && self.moves.of(c.id).is_none()
        };
        heard.copied().filter(is_wrong)
    }

    /// Moves one of these replicas to a disk of the right type. All others of the container are as
    /// they should be.
    pub(super) fn bring_to_type<'a>(
        &'a self,
        c: &'a Container,
        heard: impl Iterator<Item = &'a DatanodeId> + 'a,
        until: Millis,
    ) -> Option<Repair> {
        if self.on.is_copying_enough() || !self.urgency.has_time() {
            return None;
        }
        self.on_wrong_disks(c, heard).find_map(|source| {
            let node = self.on.nodes.get(source).filter(|_| self.on.may_send(source))?;
            let index = self.on.replicas.on(c.id, source)?.replica_index;
            if node.has_room_of(c.storage_type, c.used_bytes) {
                return Some(Repair::relocate(c.id, source, until));
            }
            let fits = |n: &&Node| self.on.may_get(c, source, n).is_ok();
            let rank = |n: &&Node| {
                let id = n.details.id;
                (self.on.pending.receiving(id), n.used_percent(), mixed(c.id, id))
            };
            let target = self.on.nodes.iter().filter(fits).min_by_key(rank)?.details.id;
            let copy = Repair::copy(c.id, (source, index), target, until);
            Some(Repair { why: Some(WRONG_DISK), ..copy })
        })
    }
}
