//! Missing pipelines, and the choice of their nodes.
//!
//! RATIS/THREE: every node takes part in up to its limit of pipelines; the [`board`](super::board)
//! chooses. The member with the fewest leaderships gets the priority to lead. RATIS/ONE: one per
//! healthy disk, at most the node's limit. Those on disks of one storage type are made of the nodes
//! that have such disks, and all limits count for each type by itself.

use types::{
    DatanodeId, Pipeline, PipelineId, PipelineState, ReplicationConfig, ReplicationFactor,
    StorageType,
};

use super::Planning;
use super::board::Board;
use crate::state::decision::Decision;
use crate::state::node::Node;
use crate::state::nodes::Nodes;
use crate::state::order::OrderKind;
use crate::state::pipeline::{PipelineEntry, Pipelines};
use crate::time::Millis;

/// Priority of the member that shall lead, and of the others, as Ozone orders them.
const HIGH_PRIORITY: i32 = 1;
const LOW_PRIORITY: i32 = 0;

/// The replication of pipelines, and the type of the disks that they are on.
pub(super) type Kind = (ReplicationConfig, StorageType);

/// A pipeline that should be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelinePlan {
    /// Replication of blocks written through it.
    pub config: ReplicationConfig,
    /// The storage type of the disks that its members have for it.
    pub storage_type: StorageType,
    /// The members.
    pub members: Vec<DatanodeId>,
    /// The member that shall lead.
    pub leader: DatanodeId,
}

impl Planning<'_> {
    /// The missing pipelines, given the registered nodes. None of three nodes while more nodes are
    /// expected: those of the first few would soon be closed for better ones, and prevent an even
    /// choice of disks until then.
    pub fn plan_pipelines(&self, wait: bool) -> Vec<PipelinePlan> {
        let mut plans = Vec::new();
        for storage_type in StorageType::ALL {
            if self.settings.create_factor_one {
                let kind = (ReplicationConfig::RATIS_ONE, storage_type);
                fill(&mut self.board(kind), kind, usize::MAX, &mut plans);
            }
            if !wait {
                let kind = (ReplicationConfig::RATIS_THREE, storage_type);
                let count = self.cluster_limit().saturating_sub(self.count_pipelines(kind));
                fill(&mut self.board(kind), kind, count, &mut plans);
            }
        }
        plans
    }

    /// One pipeline of that replication made of the least loaded nodes not in `avoid`, whatever the
    /// limits are; for an operator who asks for one. On disks of the usual type, or else of one
    /// that enough nodes have. `None` when there are too few nodes.
    pub fn plan_pipeline(
        &self,
        config: ReplicationConfig,
        avoid: &[DatanodeId],
    ) -> Option<PipelinePlan> {
        StorageType::ANY.into_iter().find_map(|storage_type| {
            let mut board = self.board((config, storage_type));
            board.lift_limits();
            board.avoid(avoid);
            let (members, leader) = board.choose(config.required_nodes() as usize)?;
            Some(PipelinePlan { config, storage_type, members, leader })
        })
    }

    /// RATIS/THREE pipelines that the cluster may have on disks of one type.
    pub(super) fn cluster_limit(&self) -> usize {
        match self.settings.cluster_pipeline_limit {
            0 => usize::MAX,
            limit => limit as usize,
        }
    }

    /// Pipelines of that kind that take writes, or will.
    pub(super) fn count_pipelines(&self, kind: Kind) -> usize {
        self.pipelines.iter().filter(|e| counts(e, kind)).count()
    }

    /// The nodes that take writes on disks of that type, and the pipelines between them.
    pub(super) fn board(&self, kind: Kind) -> Board {
        let mut board = Board::default();
        let serves = |n: &&Node| n.accepts_writes() && n.healthy_disks_of(kind.1) > 0;
        for n in self.nodes.iter().filter(serves) {
            board.add_node(n.details.id, &n.details.network_location, self.limit(n, kind));
        }
        for entry in self.pipelines.iter().filter(|e| counts(e, kind)) {
            board.add_pipeline(&entry.member_ids(), entry.record.suggested_leader);
        }
        board
    }

    fn limit(&self, node: &Node, (config, storage_type): Kind) -> usize {
        let disks = node.healthy_disks_of(storage_type);
        let by_setting = self.settings.pipeline_limit as usize;
        match config {
            ReplicationConfig::Ratis(ReplicationFactor::One) if by_setting == 0 => disks,
            ReplicationConfig::Ratis(ReplicationFactor::One) => disks.min(by_setting),
            _ if by_setting == 0 => node
                .log_disks_of(storage_type)
                .saturating_mul(self.settings.pipelines_per_disk as usize),
            _ => by_setting,
        }
    }
}

/// A planned pipeline as a record, under the id that the leader made up.
pub(crate) fn build(nodes: &Nodes, plan: &PipelinePlan, id: PipelineId, now: Millis) -> Pipeline {
    let members = plan.members.iter().filter_map(|m| nodes.get(*m));
    let ec = plan.config.is_ec();
    Pipeline {
        id,
        config: plan.config,
        storage_type: plan.storage_type,
        // Nodes are not involved in a pipeline without a group.
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
pub(crate) fn order_creation(pipelines: &mut Pipelines, id: PipelineId, now: Millis) -> Decision {
    let mut decision = Decision::default();
    if let Some(entry) = pipelines.get(id).filter(|e| !e.record.config.is_ec()) {
        for member in &entry.record.members {
            decision.order(member.id, OrderKind::CreatePipeline(id));
        }
    }
    pipelines.note_order(id, now);
    decision
}

/// Returns `true` if a pipeline uses up room of its members.
fn counts(entry: &PipelineEntry, kind: Kind) -> bool {
    let record = &entry.record;
    (record.config, record.storage_type) == kind && record.state != PipelineState::Closed
}

/// Plans up to `count` pipelines and puts them on the board.
pub(super) fn fill(
    board: &mut Board,
    (config, storage_type): Kind,
    count: usize,
    plans: &mut Vec<PipelinePlan>,
) {
    for _ in 0..count {
        let Some((members, leader)) = board.choose(config.required_nodes() as usize) else { break };
        board.add_pipeline(&members, Some(leader));
        plans.push(PipelinePlan { config, storage_type, members, leader });
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
