//! Choice of the open containers for the next blocks.
//!
//! Blocks of a batch go round over the pipelines first and over the containers of each pipeline
//! second, beginning where the last batch ended, so that all disks and leaders get their share.
//!
//! A writer's exclusions apply while any alternative exists. Without one, excluded nodes and
//! pipelines are used after all: with three nodes of which one has failed, a pipeline that still
//! has its majority is better than none. Excluded containers are never used; new ones replace them.
//!
//! Of the storage types that a writer may use the first one with a pipeline is taken. If enough
//! nodes have disks of a type without pipelines, the caller waits for their creation, if it can;
//! the next type is used if they cannot take the blocks.

use std::sync::Arc;

use types::{ContainerId, DatanodeId, Pipeline, PipelineId, ReplicationConfig, StorageType};

use crate::pipeline::Planning;
use crate::state::container::Containers;
use crate::state::node::Node;
use crate::state::nodes::Nodes;
use crate::state::pipeline::PipelineEntry;

/// Nodes, pipelines and containers that failed for a writer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Nodes.
    pub datanodes: Vec<DatanodeId>,
    /// Containers.
    pub containers: Vec<ContainerId>,
    /// Pipelines.
    pub pipelines: Vec<PipelineId>,
}

/// A request for blocks.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Number of blocks.
    pub count: usize,
    /// Their replication.
    pub config: ReplicationConfig,
    /// The storage types that they may be on, the best first.
    pub storage_types: &'a [StorageType],
    /// True if the caller retries for a type whose pipelines are being created.
    pub waits: bool,
    /// The owner: the OM service id. Containers have one owner.
    pub owner: &'a str,
    /// Exclusions.
    pub exclude: &'a Exclude,
}

/// Location of a block.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The container.
    pub container: ContainerId,
    /// The pipeline to write it through.
    pub pipeline: Arc<Pipeline>,
}

/// Locations of blocks.
#[derive(Debug, Clone, Default)]
pub struct Allocation {
    /// One per requested block; empty when there is no open container to use.
    pub slots: Vec<Slot>,
    /// Containers that the pipelines are short of: to be made now when there are no slots, else in
    /// the background.
    pub shortage: Vec<(PipelineId, u32)>,
    /// The storage type that they are on, or on which containers have to be created.
    pub storage_type: StorageType,
    /// True if there are fewer pipelines of erasure coded groups than configured.
    pub lacks_pipelines: bool,
}

impl Allocation {
    /// Returns `true` if blocks have a location, or will have one after containers are created.
    fn is_useful(&self) -> bool {
        !self.slots.is_empty() || !self.shortage.is_empty()
    }
}

/// State that determines where blocks can be allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocating<'a> {
    pub planning: Planning<'a>,
    pub containers: &'a Containers,
}

impl Allocating<'_> {
    /// Finds containers for blocks. Neither slots nor shortage means that there is no pipeline to
    /// write through. A batch iterates over the open containers from `start` on.
    pub fn allocate(&self, wish: Wish<'_>, start: usize) -> Allocation {
        // Another disk of the same type is better than another type; that is better than a pipeline
        // that a writer had trouble with.
        for of in wish.storage_types.iter().copied() {
            let strict = |e: &PipelineEntry| {
                !wish.exclude.pipelines.contains(&e.record.id)
                    && !e.record.members.iter().any(|m| wish.exclude.datanodes.contains(&m.id))
                    && has_room(self.planning.nodes, &e.record)
            };
            let mut found = self.gather(wish, of, start, strict);
            if wish.config.is_ec() {
                found.lacks_pipelines = self.planning.missing_ec_pipelines(wish.config, of) > 0;
            }
            if found.is_useful() {
                return found;
            }
            let avoid = &wish.exclude.datanodes;
            let id = PipelineId::default();
            let kind = (wish.config, of);
            if wish.config.is_ec() && self.planning.plan_ec_pipeline(kind, avoid, id).is_some() {
                return found;
            }
            if wish.waits && self.is_about_to_serve(wish, of) {
                return found;
            }
        }
        let any = |of: &StorageType| self.gather(wish, *of, start, |_| true);
        let mut found = wish.storage_types.iter().map(any);
        found.find(Allocation::is_useful).unwrap_or_default()
    }

    /// Returns `true` if no pipeline is on disks of that type, and enough nodes could create one.
    fn is_about_to_serve(&self, wish: Wish<'_>, of: StorageType) -> bool {
        let serves = |n: &&Node| n.accepts_writes() && n.healthy_disks_of(of) > 0;
        let nodes = self.planning.nodes.iter().filter(serves).count();
        !wish.config.is_ec()
            && self.planning.pipelines.open_of(wish.config, of).is_empty()
            && nodes >= wish.config.required_nodes() as usize
    }

    fn gather(
        &self,
        wish: Wish<'_>,
        storage_type: StorageType,
        start: usize,
        admits: impl Fn(&PipelineEntry) -> bool,
    ) -> Allocation {
        let mut allocation = Allocation { storage_type, ..Allocation::default() };
        let mut usable: Vec<(Vec<ContainerId>, &Arc<Pipeline>)> = Vec::new();
        let full = self.planning.settings.full_at();
        let wanted = self.planning.settings.containers_per_pipeline.max(1);
        for id in self.planning.pipelines.open_of(wish.config, storage_type) {
            let Some(entry) = self.planning.pipelines.get(*id).filter(|e| admits(e)) else {
                continue;
            };
            let fits = |c: &ContainerId| {
                self.containers
                    .get(*c)
                    .is_some_and(|c| *c.owner == *wish.owner && c.used_bytes < full)
                    && !wish.exclude.containers.contains(c)
            };
            let open = self.containers.open(*id).iter().copied().filter(fits).collect::<Vec<_>>();
            // One container for each pipeline of erasure coded groups, in all its life.
            let wanted = match wish.config.is_ec() {
                true => u32::from(self.containers.of_pipeline(*id).is_empty()),
                false => wanted,
            };
            let short = wanted.saturating_sub(u32::try_from(open.len()).unwrap_or(u32::MAX));
            if short > 0 {
                allocation.shortage.push((*id, short));
            }
            if !open.is_empty() {
                usable.push((open, &entry.record));
            }
        }
        if usable.is_empty() {
            return allocation;
        }
        // Pipeline by pipeline, and of each its containers one after the other.
        let at = |slot: usize| {
            let (containers, pipeline) = usable.get(slot.checked_rem(usable.len())?)?;
            let round = slot.checked_div(usable.len())?;
            let container = *containers.get(round.checked_rem(containers.len())?)?;
            Some(Slot { container, pipeline: Arc::clone(pipeline) })
        };
        allocation.slots = (start..).take(wish.count).filter_map(at).collect();
        allocation
    }
}

/// Returns `true` if all members of a pipeline have free space on disks of its type, as far as they
/// reported.
fn has_room(nodes: &Nodes, pipeline: &Pipeline) -> bool {
    let of = pipeline.storage_type;
    !nodes.any_full(of) || !pipeline.members.iter().any(|m| nodes.is_full(of, m.id))
}
