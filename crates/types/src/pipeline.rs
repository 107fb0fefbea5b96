//! A pipeline: the DataNodes that a block is written through, or read from.

use proto::hdds;

use crate::ids::{uuid_from_wire, uuid_to_wire};
use crate::{DatanodeDetails, DatanodeId, PipelineId, ReplicationConfig, StorageType, WireError};

/// State of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PipelineState {
    /// Created, not yet reported by its members. Read pipelines stay in this state.
    Allocated,
    /// Open for writes.
    Open,
    /// Deactivated by an operator.
    Dormant,
    /// Closed for writes.
    Closed,
}

impl PipelineState {
    /// Converts to the wire's enum.
    pub fn to_wire(self) -> hdds::PipelineState {
        match self {
            Self::Allocated => hdds::PipelineState::PipelineAllocated,
            Self::Open => hdds::PipelineState::PipelineOpen,
            Self::Dormant => hdds::PipelineState::PipelineDormant,
            Self::Closed => hdds::PipelineState::PipelineClosed,
        }
    }

    /// # Errors
    /// If the number is not in the enum.
    pub fn from_wire(state: i32) -> Result<Self, WireError> {
        match hdds::PipelineState::try_from(state) {
            Ok(hdds::PipelineState::PipelineAllocated) => Ok(Self::Allocated),
            Ok(hdds::PipelineState::PipelineOpen) => Ok(Self::Open),
            Ok(hdds::PipelineState::PipelineDormant) => Ok(Self::Dormant),
            Ok(hdds::PipelineState::PipelineClosed) => Ok(Self::Closed),
            Err(_) => Err(WireError::invalid("Pipeline", "state", state)),
        }
    }
}

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Its id; of a RATIS pipeline also the id of the Raft group.
    pub id: PipelineId,
    /// Replication of blocks written through it.
    pub config: ReplicationConfig,
    /// The storage type of its members' disks.
    pub storage_type: StorageType,
    /// Its state.
    pub state: PipelineState,
    /// Its DataNodes.
    pub members: Vec<DatanodeDetails>,
    /// Replica index of each member: 0 except for EC. Same length as `members`, or empty for all 0.
    pub replica_indexes: Vec<u32>,
    /// Current Raft leader, if known.
    pub leader: Option<DatanodeId>,
    /// The preferred leader, so that leaders are spread over nodes.
    pub suggested_leader: Option<DatanodeId>,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// Indexes into `members` by distance from the reader; empty means member order.
    pub order: Vec<u32>,
}

impl Pipeline {
    /// Converts to the wire's message.
    pub fn to_wire(&self) -> hdds::Pipeline {
        let node_id = |id: DatanodeId| hdds::DatanodeIdProto { uuid: uuid_to_wire(id.0) };
        hdds::Pipeline {
            members: self.members.iter().map(DatanodeDetails::to_wire).collect(),
            state: Some(self.state.to_wire() as i32),
            r#type: Some(self.config.wire_type() as i32),
            factor: self.config.wire_factor().map(|f| f as i32),
            id: self.id.to_wire(),
            leader_id: Some(self.leader.map(|l| l.to_string()).unwrap_or_default()),
            member_orders: self.order.clone(),
            creation_time_stamp: Some(self.created_ms),
            suggested_leader_id: self.suggested_leader.map(|l| uuid_to_wire(l.0)),
            member_replica_indexes: if self.replica_indexes.is_empty() {
                vec![0; self.members.len()]
            } else {
                self.replica_indexes.clone()
            },
            ec_replication_config: self.config.wire_ec(),
            leader_id128: None,
            leader_datanode_id: self.leader.map(node_id),
            suggested_leader_datanode_id: self.suggested_leader.map(node_id),
            storage_type: self.storage_type.to_optional_wire(),
        }
    }

    /// # Errors
    /// If the id, the replication, the state or a member is invalid.
    pub fn from_wire(wire: &hdds::Pipeline) -> Result<Self, WireError> {
        let leader = match (&wire.leader_datanode_id, &wire.leader_id128, wire.leader_id.as_deref())
        {
            (Some(id), _, _) => Some(DatanodeId(uuid_from_wire(&id.uuid))),
            (None, Some(uuid), _) => Some(DatanodeId(uuid_from_wire(uuid))),
            (None, None, Some(text)) if !text.is_empty() => {
                Some(text.parse().map_err(|_| WireError::invalid("Pipeline", "leaderID", text))?)
            }
            _ => None,
        };
        let suggested_leader = match (&wire.suggested_leader_datanode_id, &wire.suggested_leader_id)
        {
            (Some(id), _) => Some(DatanodeId(uuid_from_wire(&id.uuid))),
            (None, Some(uuid)) => Some(DatanodeId(uuid_from_wire(uuid))),
            _ => None,
        };
        Ok(Self {
            id: PipelineId::from_wire(&wire.id)?,
            config: ReplicationConfig::from_wire(
                wire.r#type() as i32,
                wire.factor,
                wire.ec_replication_config.as_ref(),
            )?,
            storage_type: StorageType::from_wire(wire.storage_type() as i32)?,
            state: PipelineState::from_wire(wire.state() as i32)?,
            members: wire
                .members
                .iter()
                .map(DatanodeDetails::from_wire)
                .collect::<Result<_, _>>()?,
            replica_indexes: match wire.member_replica_indexes.iter().all(|index| *index == 0) {
                true => Vec::new(),
                false => wire.member_replica_indexes.clone(),
            },
            leader,
            suggested_leader,
            created_ms: wire.creation_time_stamp(),
            order: wire.member_orders.clone(),
        })
    }

    /// The member with that id.
    pub fn member(&self, id: DatanodeId) -> Option<&DatanodeDetails> {
        self.members.iter().find(|m| m.id == id)
    }

    /// Members, nearest first if the sender sorted them, else the leader first.
    pub fn read_order(&self) -> Vec<&DatanodeDetails> {
        if !self.order.is_empty() {
            return self.order.iter().filter_map(|i| self.members.get(*i as usize)).collect();
        }
        let mut members: Vec<_> = self.members.iter().collect();
        if let Some(at) = members.iter().position(|m| Some(m.id) == self.leader) {
            members.swap(0, at);
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline() -> Pipeline {
        let members: Vec<_> = (0..3)
            .map(|i| DatanodeDetails::new(DatanodeId::random(), format!("127.0.0.{i}"), "h"))
            .collect();
        Pipeline {
            id: PipelineId::random(),
            config: ReplicationConfig::RATIS_THREE,
            storage_type: StorageType::Archive,
            state: PipelineState::Open,
            leader: Some(members[2].id),
            suggested_leader: Some(members[1].id),
            members,
            replica_indexes: Vec::new(),
            created_ms: 17,
            order: Vec::new(),
        }
    }

    #[test]
    fn a_pipeline_survives_the_wire() {
        let p = pipeline();
        assert_eq!(Pipeline::from_wire(&p.to_wire()).unwrap(), p);
    }

    #[test]
    fn the_leader_is_read_first_unless_the_order_says_otherwise() {
        let mut p = pipeline();
        assert_eq!(p.read_order()[0].id, p.members[2].id);
        p.order = vec![1, 0, 2, 9];
        let order: Vec<_> = p.read_order().iter().map(|m| m.id).collect();
        assert_eq!(order, [p.members[1].id, p.members[0].id, p.members[2].id]);
    }
}
