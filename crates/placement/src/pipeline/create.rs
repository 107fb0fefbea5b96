//! Which pipelines are missing, and of which nodes to make them.
//!
//! RATIS/THREE: every node takes part in up to its limit of pipelines; the [`board`](super::board)
//! chooses. The member with the fewest leaderships gets the priority to lead. RATIS/ONE: one per
//! healthy disk, at most the node's limit.

use types::{
    DatanodeId, Pipeline, PipelineId, PipelineState, ReplicationConfig, ReplicationFactor,
};

use super::board::Board;
use crate::{Cluster, Decision, Millis, Node, OrderKind, PipelineEntry};

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

impl Cluster {
    /// The pipelines that are missing, given the nodes there are. In safe mode none of three nodes
    /// before as many have registered as it waits for: those of the first few would soon be closed
    /// for better ones, and stay in the way of an even choice of disks until then.
    pub fn plan_pipelines(&self) -> Vec<PipelinePlan> {
        let mut plans = Vec::new();
        if self.settings.create_factor_one {
            self.plan_factor_one(&mut plans);
        }
        if self.more_nodes_are_coming() {
            return plans;
        }
        let config = ReplicationConfig::RATIS_THREE;
        let made = self.count_pipelines(config);
        fill(
            &mut self.board(config),
            config,
            self.cluster_limit().saturating_sub(made),
            &mut plans,
        );
        plans
    }

    /// One pipeline of that replication made of the least loaded nodes not in `avoid`, whatever the
    /// limits are; for an operator who asks for one. `None` when there are too few nodes.
    pub fn plan_pipeline(
        &self,
        config: ReplicationConfig,
        avoid: &[DatanodeId],
    ) -> Option<PipelinePlan> {
        let mut board = self.board(config);
        board.lift_limits();
        board.avoid(avoid);
        let (members, leader) = board.choose(config.required_nodes() as usize)?;
        Some(PipelinePlan { config, members, leader })
    }

    /// A planned pipeline as a record, under the id that the leader made up.
    pub fn build_pipeline(&self, plan: &PipelinePlan, id: PipelineId, now: Millis) -> Pipeline {
        let members = plan.members.iter().filter_map(|m| self.nodes.get(*m));
        let ec = plan.config.is_ec();
        Pipeline {
            id,
            config: plan.config,
            // Nodes need not know of a pipeline that has no group.
            state: if ec { PipelineState::Open } else { PipelineState::Allocated },
            members: members.map(|n| n.details.clone()).collect(),
            replica_indexes: if ec { (1..=plan.config.required_nodes()).collect() } else { vec![] },
            leader: None,
            suggested_leader: (!ec).then_some(plan.leader),
            created_ms: now,
            order: Vec::new(),
        }
    }

    /// Orders to the members to start the group.
    pub fn order_creation(&mut self, id: PipelineId, now: Millis) -> Decision {
        let mut decision = Decision::default();
        if let Some(entry) = self.pipelines.get(id).filter(|e| !e.record.config.is_ec()) {
            for member in &entry.record.members {
                decision.order(member.id, OrderKind::CreatePipeline(id));
            }
        }
        self.pipelines.note_order(id, now);
        decision
    }

    fn plan_factor_one(&self, plans: &mut Vec<PipelinePlan>) {
        let config = ReplicationConfig::RATIS_ONE;
        fill(&mut self.board(config), config, usize::MAX, plans);
    }

    /// RATIS/THREE pipelines that the cluster may have.
    pub(super) fn cluster_limit(&self) -> usize {
        match self.settings.cluster_pipeline_limit {
            0 => usize::MAX,
            limit => limit as usize,
        }
    }

    /// Pipelines of that replication that take writes, or will.
    pub(super) fn count_pipelines(&self, config: ReplicationConfig) -> usize {
        self.pipelines.iter().filter(|e| counts(e, config)).count()
    }

    /// The nodes that take writes and the pipelines between them.
    pub(super) fn board(&self, config: ReplicationConfig) -> Board {
        let mut board = Board::default();
        for n in self.nodes.iter().filter(|n| n.accepts_writes()) {
            board.add_node(n.details.id, &n.details.network_location, self.limit(n, config));
        }
        for entry in self.pipelines.iter().filter(|e| counts(e, config)) {
            board.add_pipeline(&entry.member_ids(), entry.record.suggested_leader);
        }
        board
    }

    fn limit(&self, node: &Node, config: ReplicationConfig) -> usize {
        let disks = node.healthy_disks();
        let by_setting = self.settings.pipeline_limit as usize;
        match config {
            ReplicationConfig::Ratis(ReplicationFactor::One) if by_setting == 0 => disks,
            ReplicationConfig::Ratis(ReplicationFactor::One) => disks.min(by_setting),
            _ if by_setting == 0 => {
                node.log_disks().saturating_mul(self.settings.pipelines_per_disk as usize)
            }
            _ => by_setting,
        }
    }
}

/// Whether a pipeline takes up room of its members.
fn counts(entry: &PipelineEntry, config: ReplicationConfig) -> bool {
    entry.record.config == config && entry.record.state != PipelineState::Closed
}

/// Plans up to `count` pipelines and puts them on the board.
pub(super) fn fill(
    board: &mut Board,
    config: ReplicationConfig,
    count: usize,
    plans: &mut Vec<PipelinePlan>,
) {
    for _ in 0..count {
        let Some((members, leader)) = board.choose(config.required_nodes() as usize) else { break };
        board.add_pipeline(&members, Some(leader));
        plans.push(PipelinePlan { config, members, leader });
    }
}

/// The priorities to send with the order to start the group, in the order of the members.
pub fn priorities(pipeline: &Pipeline) -> Vec<i32> {
    let of = |m: &types::DatanodeDetails| match Some(m.id) == pipeline.suggested_leader {
        true => HIGH_PRIORITY,
        false => LOW_PRIORITY,
    };
    pipeline.members.iter().map(of).collect()
}
