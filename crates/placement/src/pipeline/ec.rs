//! Pipelines of erasure coded block groups: a node for each replica index, and no Raft group.
//!
//! They are created when blocks are requested and take writes immediately. Each has one container,
//! as in Ozone: when that takes no more blocks the pipeline is closed, so that the next ones use
//! other nodes.

use std::collections::BTreeMap;

use types::{DatanodeId, PipelineId, PipelineState, ReplicationConfig, StorageType};

use super::{PipelinePlan, Planning};
use crate::settings::whole;
use crate::shuffle::mixed;
use crate::state::change::Change;
use crate::state::container::Containers;
use crate::state::decision::Decision;
use crate::state::node::Node;
use crate::state::pipeline::PipelineEntry;
use crate::time::Millis;
use types::ContainerId;

impl Planning<'_> {
    /// The nodes of a new pipeline on disks of one type, in the order of their replica indexes;
    /// `None` when too few have such disks outside of `avoid`.
    ///
    /// No rack gets more than its even share, so that the loss of one costs as few indexes as it
    /// can. Among the nodes of a rack those with the fewest such pipelines go first.
    pub fn plan_ec_pipeline(
        &self,
        (config, storage_type): (ReplicationConfig, StorageType),
        avoid: &[DatanodeId],
        id: PipelineId,
    ) -> Option<PipelinePlan> {
        let wanted = config.required_nodes() as usize;
        let fits = |n: &&Node| serves(n, storage_type) && !avoid.contains(&n.details.id);
        let mut candidates: Vec<&Node> = self.nodes.iter().filter(fits).collect();
        if candidates.len() < wanted {
            return None;
        }
        let seed = ContainerId(id.0.as_u64_pair().0);
        let mut by_rack: BTreeMap<&str, usize> = BTreeMap::new();
        let mut members = Vec::with_capacity(wanted);
        while members.len() < wanted {
            let rank = |n: &&Node| {
                let in_rack = by_rack.get(n.details.network_location.as_str()).copied();
                let full = !n.has_room_of(storage_type, self.settings.container_size);
                let load = self.ec_pipelines_of(n.details.id);
                (in_rack.unwrap_or(0), full, load, mixed(seed, n.details.id))
            };
            let best = candidates.iter().min_by_key(|n| rank(n)).copied()?;
            candidates.retain(|n| n.details.id != best.details.id);
            let count = by_rack.entry(best.details.network_location.as_str()).or_default();
            *count = count.saturating_add(1);
            members.push(best.details.id);
        }
        // The first replica and those of parity have more to do than the others.
        members.sort_by_key(|node| mixed(seed, *node));
        let leader = *members.first()?;
        Some(PipelinePlan { config, storage_type, members, leader })
    }

    /// Number of missing pipelines: the larger of the configured minimum and the number for the
    /// data directories, less the open ones.
    pub fn missing_ec_pipelines(
        &self,
        config: ReplicationConfig,
        storage_type: StorageType,
    ) -> usize {
        let ec = &self.settings.ec;
        let writable = self.nodes.iter().filter(|n| n.accepts_writes());
        let disks = writable.map(|n| n.healthy_disks_of(storage_type));
        let disks = disks.fold(0, usize::saturating_add);
        let wanted = disks as f64 * ec.pipelines_per_disk / f64::from(config.required_nodes());
        let wanted = whole(wanted).max(ec.pipeline_minimum as usize);
        wanted.saturating_sub(self.pipelines.open_of(config, storage_type).len())
    }

    fn ec_pipelines_of(&self, node: DatanodeId) -> usize {
        let counts = |entry: &&PipelineEntry| {
            entry.record.config.is_ec() && entry.record.state == PipelineState::Open
        };
        let of_node = self.pipelines.of_node(node);
        of_node.iter().filter_map(|id| self.pipelines.get(*id)).filter(counts).count()
    }
}

/// Closes a pipeline whose container takes no more blocks.
pub(super) fn scrub_open_ec(
    containers: &Containers,
    id: PipelineId,
    now: Millis,
    decision: &mut Decision,
) {
    let was_used = !containers.of_pipeline(id).is_empty();
    if was_used && containers.open(id).is_empty() {
        decision.changes.push(Change::ClosePipeline { id, now });
    }
}

/// Returns `true` if a node takes blocks on disks of that type.
fn serves(node: &Node, storage_type: StorageType) -> bool {
    node.accepts_writes() && node.healthy_disks_of(storage_type) > 0
}
