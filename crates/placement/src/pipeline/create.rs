//! Which pipelines are missing, and of which nodes to make them.
//!
//! RATIS/THREE: every node takes part in up to its limit of pipelines. A new one begins with the node that has the
//! fewest and goes on with those that share the fewest pipelines with the ones chosen, so that the loss of a node
//! spreads over all others. The member with the fewest leaderships gets the priority to lead.
//! RATIS/ONE: one per healthy disk, at most the node's limit.

use types::{
    DatanodeId, Pipeline, PipelineId, PipelineState, ReplicationConfig, ReplicationFactor,
};

use crate::{Cluster, Decision, Millis, Node, OrderKind};

/// Priority of the member that shall lead, and of the others, as Ozone orders them.
const HIGH_PRIORITY: i32 = 1;
const LOW_PRIORITY: i32 = 0;

/// A pipeline that should be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelinePlan {
    /// How blocks written through it are replicated.
    pub config: ReplicationConfig,
    /// The members.
    pub members: Vec<DatanodeId>,
    /// The member that shall lead.
    pub leader: DatanodeId,
}

/// What planning needs to know of a node.
#[derive(Debug)]
struct Candidate {
    id: DatanodeId,
    limit: usize,
    pipelines: usize,
    leads: usize,
}

impl Cluster {
    /// The pipelines that are missing, given the nodes there are.
    pub fn plan_pipelines(&self) -> Vec<PipelinePlan> {
        let mut plans = Vec::new();
        if self.settings.create_factor_one {
            self.plan_factor_one(&mut plans);
        }
        self.plan_factor_three(&mut plans);
        plans
    }

    /// One pipeline of that replication made of the least loaded nodes not in `avoid`, whatever the limits are; for
    /// an operator who asks for one. `None` when there are too few nodes.
    pub fn plan_pipeline(
        &self,
        config: ReplicationConfig,
        avoid: &[DatanodeId],
    ) -> Option<PipelinePlan> {
        let mut candidates = self.candidates(config);
        candidates.retain(|c| !avoid.contains(&c.id));
        candidates.iter_mut().for_each(|c| c.limit = usize::MAX);
        choose(&candidates, config, |a, b| self.shared(a, b, &[]))
    }

    /// A planned pipeline as a record, under the id that the leader made up.
    pub fn build_pipeline(&self, plan: &PipelinePlan, id: PipelineId, now: Millis) -> Pipeline {
        let members = plan.members.iter().filter_map(|m| self.nodes.get(*m));
        Pipeline {
            id,
            config: plan.config,
            state: PipelineState::Allocated,
            members: members.map(|n| n.details.clone()).collect(),
            replica_indexes: Vec::new(),
            leader: None,
            suggested_leader: Some(plan.leader),
            created_ms: now,
            order: Vec::new(),
        }
    }

    /// Orders to the members to start the group.
    pub fn order_creation(&mut self, id: PipelineId, now: Millis) -> Decision {
        let mut decision = Decision::default();
        if let Some(entry) = self.pipelines.get(id) {
            for member in &entry.record.members {
                decision.order(member.id, OrderKind::CreatePipeline(id));
            }
        }
        self.pipelines.note_order(id, now);
        decision
    }

    fn plan_factor_one(&self, plans: &mut Vec<PipelinePlan>) {
        let config = ReplicationConfig::RATIS_ONE;
        for c in self.candidates(config) {
            for _ in c.pipelines..c.limit {
                plans.push(PipelinePlan { config, members: vec![c.id], leader: c.id });
            }
        }
    }

    fn plan_factor_three(&self, plans: &mut Vec<PipelinePlan>) {
        let config = ReplicationConfig::RATIS_THREE;
        let mut candidates = self.candidates(config);
        let alive = |e: &&crate::PipelineEntry| {
            e.record.config == config && e.record.state != PipelineState::Closed
        };
        let mut total = self.pipelines.iter().filter(alive).count();
        let cap = match self.settings.cluster_pipeline_limit {
            0 => usize::MAX,
            limit => limit as usize,
        };
        let first = plans.len();
        while total < cap {
            let fresh = &plans[first..];
            let Some(plan) = choose(&candidates, config, |a, b| self.shared(a, b, fresh)) else {
                break;
            };
            for c in candidates.iter_mut().filter(|c| plan.members.contains(&c.id)) {
                c.pipelines += 1;
                c.leads += usize::from(c.id == plan.leader);
            }
            plans.push(plan);
            total += 1;
        }
    }

    fn candidates(&self, config: ReplicationConfig) -> Vec<Candidate> {
        let nodes = self.nodes.iter().filter(|n| n.takes_writes());
        nodes
            .map(|n| {
                let id = n.details.id;
                let (mut pipelines, mut leads) = (0, 0);
                for p in self.pipelines.of_node(id) {
                    let Some(entry) = self.pipelines.get(p) else { continue };
                    if entry.record.config == config && entry.record.state != PipelineState::Closed
                    {
                        pipelines += 1;
                        leads += usize::from(entry.record.suggested_leader == Some(id));
                    }
                }
                Candidate { id, limit: self.limit(n, config), pipelines, leads }
            })
            .collect()
    }

    fn limit(&self, node: &Node, config: ReplicationConfig) -> usize {
        let disks = node.healthy_disks();
        let by_setting = self.settings.pipeline_limit as usize;
        match config {
            ReplicationConfig::Ratis(ReplicationFactor::One) if by_setting == 0 => disks,
            ReplicationConfig::Ratis(ReplicationFactor::One) => disks.min(by_setting),
            _ if by_setting == 0 => disks * self.settings.pipelines_per_disk as usize,
            _ => by_setting,
        }
    }

    /// RATIS/THREE pipelines that both nodes are members of, planned ones included.
    fn shared(&self, a: DatanodeId, b: DatanodeId, planned: &[PipelinePlan]) -> usize {
        let of_a = self.pipelines.of_node(a);
        let existing = of_a.into_iter().filter_map(|p| self.pipelines.get(p)).filter(|e| {
            e.record.state != PipelineState::Closed && e.record.members.iter().any(|m| m.id == b)
        });
        let planned = planned.iter().filter(|p| p.members.contains(&a) && p.members.contains(&b));
        existing.count() + planned.count()
    }
}

/// The best members for one more pipeline, `None` when too few candidates are below their limit.
fn choose(
    candidates: &[Candidate],
    config: ReplicationConfig,
    shared: impl Fn(DatanodeId, DatanodeId) -> usize,
) -> Option<PipelinePlan> {
    let mut free: Vec<&Candidate> = candidates.iter().filter(|c| c.pipelines < c.limit).collect();
    let mut chosen: Vec<&Candidate> = Vec::new();
    for _ in 0..config.required_nodes() {
        let best = free.iter().enumerate().min_by_key(|(_, c)| {
            // The first is the least loaded; who has the least in common with those chosen comes next.
            let common: usize = chosen.iter().map(|m| shared(m.id, c.id)).sum();
            (common, c.pipelines, c.id)
        });
        let at = best?.0;
        chosen.push(free.swap_remove(at));
    }
    let leader = chosen.iter().min_by_key(|c| (c.leads, c.id))?.id;
    Some(PipelinePlan { config, members: chosen.iter().map(|c| c.id).collect(), leader })
}

/// The priorities to send with the order to start the group, in the order of the members.
pub fn priorities(pipeline: &Pipeline) -> Vec<i32> {
    let of = |m: &types::DatanodeDetails| match Some(m.id) == pipeline.suggested_leader {
        true => HIGH_PRIORITY,
        false => LOW_PRIORITY,
    };
    pipeline.members.iter().map(of).collect()
}
