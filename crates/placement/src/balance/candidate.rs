//! Which replicas may move, and where to.

use std::collections::BTreeSet;

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, EcConfig, ReplicationConfig};

use super::Configuration;
use crate::cluster::Cluster;
use crate::node::Refuses;
use crate::state::container::Container;
use crate::state::node::Node;
use crate::state::replica::ReplicaState;
use crate::time::Millis;

/// Why a target does not get a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotThere {
    /// It cannot get this one.
    Never,
    /// It gets as many as it may, for now.
    Busy,
}

impl Configuration {
    /// Whether the container is one of those that are moved.
    fn admits(&self, c: &Container) -> bool {
        let state = match c.state {
            LifeCycleState::Closed => true,
            LifeCycleState::QuasiClosed => self.include_non_standard,
            _ => false,
        };
        let included =
            self.include_containers.is_empty() || self.include_containers.contains(&c.id);
        state && included && !self.exclude_containers.contains(&c.id)
    }
}

impl Cluster {
    /// The container of the replica on `source`, if that may move: it is not empty, all replicas
    /// are there and heard of, and nothing else is done with them.
    pub(super) fn movable(
        &self,
        configuration: &Configuration,
        id: ContainerId,
        source: DatanodeId,
        now: Millis,
    ) -> Option<&Container> {
        let c = self.containers.get(id).filter(|c| configuration.admits(c) && !c.suppressed)?;
        let replica = self.replicas.on(id, source)?;
        let same = match c.state {
            LifeCycleState::Closed => replica.state == ReplicaState::Closed,
            _ => replica.state == ReplicaState::QuasiClosed,
        };
        let rests = self.pending.of(id).is_empty() && self.moves.of(id).is_none();
        (same && replica.used_bytes > 0 && rests && self.is_whole(c, now)).then_some(c)
    }

    fn is_whole(&self, c: &Container, now: Millis) -> bool {
        if c.config.is_ec() {
            let Some(count) = self.ec_replica_count_at(c, Some(now)) else { return false };
            let all = (1..=count.required).all(|index| count.heard.contains_key(&index));
            return all && count.is_fine() && !self.is_crowded(c, &count);
        }
        let Some(count) = self.replica_count_at(c, Some(now)) else { return false };
        count.is_fine() && count.heard.len() == count.required
    }

    /// Whether `target` may get the replica of `source`: it has room on disks of its type and none
    /// of its own, and the racks are as good as before.
    pub(crate) fn may_get(
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

    /// Whether both are in one rack.
    pub(super) fn is_same_rack(&self, source: DatanodeId, target: &Node) -> bool {
        let source = self.nodes.get(source);
        source.is_some_and(|s| s.details.network_location == target.details.network_location)
    }
}

/// Whether a list names the node; by its host name or address.
pub(super) fn is_named(list: &BTreeSet<String>, node: &Node) -> bool {
    list.contains(&node.details.host) || list.contains(&node.details.ip)
}
