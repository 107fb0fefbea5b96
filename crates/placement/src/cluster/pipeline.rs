//! Pipelines of the cluster, and the blocks that are written through them.

use types::{DatanodeId, Pipeline, PipelineId, ReplicationConfig, StorageType};

use super::Cluster;
use crate::block::{Allocating, Allocation, Wish};
use crate::pipeline::close::Scrubbing;
use crate::pipeline::{PipelinePlan, Planning, create, report};
use crate::state::decision::Decision;
use crate::time::Millis;

impl Cluster {
    fn planning(&self) -> Planning<'_> {
        let Self { settings, nodes, pipelines, .. } = self;
        Planning { settings, nodes, pipelines }
    }

    /// The missing pipelines, given the registered nodes. In safe mode none of three nodes before
    /// the required number has registered.
    pub fn plan_pipelines(&self) -> Vec<PipelinePlan> {
        self.planning().plan_pipelines(self.more_nodes_are_coming())
    }

    /// One pipeline of that replication made of the least loaded nodes not in `avoid`, whatever the
    /// limits are; for an operator who asks for one. `None` when there are too few nodes.
    pub fn plan_pipeline(
        &self,
        config: ReplicationConfig,
        avoid: &[DatanodeId],
    ) -> Option<PipelinePlan> {
        self.planning().plan_pipeline(config, avoid)
    }

    /// The nodes of a new pipeline of erasure coded groups on disks of one type, in the order of
    /// their replica indexes; `None` when too few have such disks outside of `avoid`.
    pub fn plan_ec_pipeline(
        &self,
        kind: (ReplicationConfig, StorageType),
        avoid: &[DatanodeId],
        id: PipelineId,
    ) -> Option<PipelinePlan> {
        self.planning().plan_ec_pipeline(kind, avoid, id)
    }

    /// The pipelines to close together so that better ones can be created: none, one or two. For
    /// calls while nothing is planned and no pipeline is in transition.
    pub fn plan_rebalance(&self) -> Vec<PipelineId> {
        if self.safe_mode.is_on() { Vec::new() } else { self.planning().plan_rebalance() }
    }

    /// A planned pipeline as a record, under the id that the leader made up.
    pub fn build_pipeline(&self, plan: &PipelinePlan, id: PipelineId, now: Millis) -> Pipeline {
        create::build(&self.nodes, plan, id, now)
    }

    /// Orders to the members to start the group.
    pub fn order_creation(&mut self, id: PipelineId, now: Millis) -> Decision {
        create::order_creation(&mut self.pipelines, id, now)
    }

    /// `node` runs these groups; the flag is true for those that it leads.
    pub fn report_pipelines(
        &mut self,
        node: DatanodeId,
        reports: &[(PipelineId, bool)],
    ) -> Decision {
        report::report(&mut self.pipelines, node, reports)
    }

    /// A node reports a broken pipeline (its log's disk failed, a member lags too far behind).
    pub fn report_broken_pipeline(
        &self,
        node: DatanodeId,
        id: PipelineId,
        now: Millis,
    ) -> Decision {
        report::report_broken(&self.pipelines, node, id, now)
    }

    /// Checks all pipelines: gives up those ALLOCATED for too long, repeats orders without effect,
    /// deletes closed ones whose containers are closed.
    pub fn scrub_pipelines(&mut self, now: Millis) -> Decision {
        let Self { settings, nodes, pipelines, containers, replicas, .. } = self;
        Scrubbing { settings, nodes, containers, replicas, pipelines }.scrub(now)
    }

    /// Finds room for blocks. Neither slots nor shortage means that there is no pipeline to write
    /// through.
    pub fn allocate(&mut self, wish: Wish<'_>) -> Allocation {
        let start = self.containers.next_round_start(wish.count);
        let (planning, containers) = (self.planning(), &self.containers);
        Allocating { planning, containers }.allocate(wish, start)
    }
}
