//! Nodes that can get a replica of a container.

use types::{DatanodeId, EcConfig, PipelineId, ReplicationConfig};

use super::Replication;
use crate::state::container::Container;
use crate::state::node::Node;

/// Reason for which a node cannot get a copy of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refuses {
    /// It has a replica, or is getting or deleting one.
    HasIt,
    /// It is not HEALTHY, or not in service.
    NotInService,
    /// None of its disks has room for it.
    NoRoom,
    /// It receives as many as it may.
    Busy,
    /// It is a member of the container's own living pipeline, whose log may bring the replica.
    ItsPipeline,
}

/// Reason for which a target does not get a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotThere {
    /// It cannot get this one.
    Never,
    /// It gets as many as it may, for now.
    Busy,
}

impl Replication<'_> {
    /// Reason for which a node cannot get a copy of a container; `None` if it can.
    pub fn refuses(&self, c: &Container, node: &Node) -> Option<Refuses> {
        let id = node.details.id;
        if self.replicas.on(c.id, id).is_some()
            || self.pending.of(c.id).iter().any(|pending| pending.node == id)
        {
            return Some(Refuses::HasIt);
        }
        self.refuses_without(c, node)
    }

    /// Reason for which a node could not get a copy if it had no replica.
    pub(super) fn refuses_without(&self, c: &Container, node: &Node) -> Option<Refuses> {
        let id = node.details.id;
        if !node.accepts_writes() {
            return Some(Refuses::NotInService);
        }
        if !node.has_room_for(c.used_bytes) {
            return Some(Refuses::NoRoom);
        }
        let most = self.settings.replication.copies_per_node.max(1);
        if self.pending.receiving(id) >= most {
            return Some(Refuses::Busy);
        }
        self.log_may_bring(c, id).then_some(Refuses::ItsPipeline)
    }

    /// Returns `true` if a node without a replica may still create it from its pipeline's log: it
    /// may lag, it is a member, and the pipeline is not closed.
    fn log_may_bring(&self, c: &Container, node: DatanodeId) -> bool {
        let living = |id: &PipelineId| self.pipelines.accepts_or_will_accept_writes(*id);
        let entry = c.pipeline.filter(living).and_then(|id| self.pipelines.get(id));
        !c.config.is_ec()
            && entry.is_some_and(|entry| entry.record.members.iter().any(|m| m.id == node))
    }

    /// Returns `true` if a node could get a replica of the container, once it is idle.
    pub(super) fn can_get(&self, c: &Container, node: &Node) -> bool {
        let id = node.details.id;
        node.accepts_writes()
            && self.replicas.on(c.id, id).is_none()
            && self.pending.of(c.id).iter().all(|p| p.node != id)
            && node.has_room_for(c.used_bytes)
    }

    /// Returns `true` if `target` may get the replica of `source`: it has room on disks of its
    /// type, has none of its own, and the racks are as good as before.
    pub fn may_get(
        &self,
        c: &Container,
        source: DatanodeId,
        target: &Node,
    ) -> Result<(), NotThere> {
        match self.refuses(c, target) {
            Some(Refuses::Busy) => return Err(NotThere::Busy),
            Some(_) => return Err(NotThere::Never),
            None => {}
        }
        if !target.has_room_of(c.storage_type, c.used_bytes) {
            return Err(NotThere::Never);
        }
        let mut after: Vec<DatanodeId> = self.replicas.of(c.id).iter().map(|r| r.node).collect();
        after.retain(|node| *node != source);
        after.push(target.details.id);
        let fits = match c.config {
            ReplicationConfig::Ec(EcConfig { parity, .. }) => {
                let share = after.len().div_ceil(self.nodes.racks().max(1));
                let by_rack = self.by_rack(after.iter());
                let most = by_rack.values().copied().max().unwrap_or(0);
                let spread = most <= share.max(parity as usize);
                spread || self.is_same_rack(source, target)
            }
            _ => !self.in_one_rack_of_several(&after),
        };
        if fits { Ok(()) } else { Err(NotThere::Never) }
    }

    /// Returns `true` if both are in one rack.
    pub fn is_same_rack(&self, source: DatanodeId, target: &Node) -> bool {
        let source = self.nodes.get(source);
        source.is_some_and(|s| s.details.network_location == target.details.network_location)
    }
}
