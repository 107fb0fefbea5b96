//! Which open containers the next blocks go to.
//!
//! Blocks of a batch go round over the pipelines first and over the containers of each pipeline
//! second, beginning where the last batch ended, so that all disks and leaders get their share.
//!
//! What a writer excludes is kept out as long as anything else is left. When nothing is, excluded
//! nodes and pipelines are used after all: with three nodes of which one is gone, a pipeline that
//! still has its majority is better than none. Excluded containers stay out always; new ones take
//! their place.

use std::sync::Arc;

use types::{ContainerId, DatanodeId, Pipeline, PipelineId, ReplicationConfig};

use crate::{Cluster, PipelineEntry};

/// What a writer had trouble with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude {
    /// Nodes.
    pub datanodes: Vec<DatanodeId>,
    /// Containers.
    pub containers: Vec<ContainerId>,
    /// Pipelines.
    pub pipelines: Vec<PipelineId>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// How many blocks.
    pub count: usize,
    /// How they are replicated.
    pub config: ReplicationConfig,
    /// The owner: the OM service id. Containers have one owner.
    pub owner: &'a str,
    /// What to avoid.
    pub exclude: &'a Exclude,
}

/// Where a block goes.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The container.
    pub container: ContainerId,
    /// The pipeline to write it through.
    pub pipeline: Arc<Pipeline>,
}

/// Where blocks go.
#[derive(Debug, Clone, Default)]
pub struct Allocation {
    /// One per block asked for; none when there is no open container to use.
    pub slots: Vec<Slot>,
    /// Containers that the pipelines are short of: to be made now when there are no slots, else in
    /// the background.
    pub shortage: Vec<(PipelineId, u32)>,
    /// Whether there are fewer pipelines of erasure coded groups than there are to be.
    pub lacks_pipelines: bool,
}

impl Cluster {
    /// Finds room for blocks. Neither slots nor shortage means that there is no pipeline to write
    /// through.
    pub fn allocate(&mut self, wish: Wish<'_>) -> Allocation {
        let start = self.containers.next_round_start(wish.count);
        let mut strict = self.gather(wish, start, |e| {
            !wish.exclude.pipelines.contains(&e.record.id)
                && !e.record.members.iter().any(|m| wish.exclude.datanodes.contains(&m.id))
        });
        if wish.config.is_ec() {
            strict.lacks_pipelines = self.missing_ec_pipelines(wish.config) > 0;
        }
        if !strict.slots.is_empty() || !strict.shortage.is_empty() {
            return strict;
        }
        // Another pipeline of other nodes is better than one that a writer had trouble with.
        let avoid = &wish.exclude.datanodes;
        let id = PipelineId::default();
        if wish.config.is_ec() && self.plan_ec_pipeline(wish.config, avoid, id).is_some() {
            return strict;
        }
        self.gather(wish, start, |_| true)
    }

    fn gather(
        &self,
        wish: Wish<'_>,
        start: usize,
        admits: impl Fn(&PipelineEntry) -> bool,
    ) -> Allocation {
        let mut allocation = Allocation::default();
        let mut usable: Vec<(Vec<ContainerId>, &Arc<Pipeline>)> = Vec::new();
        let full = self.settings.full_at();
        let wanted = self.settings.containers_per_pipeline.max(1);
        for id in self.pipelines.open(&wish.config) {
            let Some(entry) = self.pipelines.get(*id).filter(|e| admits(e)) else { continue };
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
