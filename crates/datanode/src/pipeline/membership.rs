//! The members of a pipeline, as ordered by SCM.

use multiraft::Peer;
use proto::scm_datanode::CreatePipelineCommandProto;
use types::{DatanodeDetails, PipelineId, PortName, StorageType, WireError};
use uuid::Uuid;

/// A pipeline to be created.
#[derive(Debug, Clone)]
pub(crate) struct Membership {
    /// Its id.
    pub id: PipelineId,
    /// Its members.
    pub peers: Vec<Peer>,
    /// Addresses of their Ratis client protocol.
    pub ratis: Vec<(Uuid, String)>,
    /// The storage type of the disk that it gets; any when `None`.
    pub storage_type: Option<StorageType>,
}

impl Membership {
    /// # Errors
    /// When it is no RATIS pipeline, or a member has no NATIVE port.
    pub fn from_wire(command: &CreatePipelineCommandProto) -> Result<Self, WireError> {
        const MESSAGE: &str = "CreatePipelineCommandProto";
        if command.r#type() != proto::hdds::ReplicationType::Ratis {
            return Err(WireError::invalid(MESSAGE, "type", command.r#type().as_str_name()));
        }
        let mut peers = Vec::with_capacity(command.datanode.len());
        let mut ratis = Vec::new();
        for (index, member) in command.datanode.iter().enumerate() {
            let node = DatanodeDetails::from_wire(member)?;
            let address = node.address(&PortName::Native).ok_or_else(|| {
                WireError::invalid(MESSAGE, "datanode", format!("{node}: no port"))
            })?;
            ratis.extend(node.address(&PortName::Ratis).map(|address| (node.id.0, address)));
            let priority = command.priority.get(index).copied().unwrap_or(0);
            peers.push(Peer { node: node.id.0, address, priority: priority.into() });
        }
        let storage_type = command.storage_type.map(StorageType::from_wire).transpose()?;
        Ok(Self { id: PipelineId::from_wire(&command.pipeline_id)?, peers, ratis, storage_type })
    }
}

#[cfg(test)]
mod tests {
    use types::DatanodeId;

    use super::*;

    fn command(port: bool) -> CreatePipelineCommandProto {
        let mut node = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "h");
        if port {
            node.set_port(PortName::Native, 9);
        }
        node.set_port(PortName::Ratis, 8);
        CreatePipelineCommandProto {
            pipeline_id: PipelineId::random().to_wire(),
            r#type: proto::hdds::ReplicationType::Ratis as i32,
            factor: proto::hdds::ReplicationFactor::One as i32,
            datanode: vec![node.to_wire()],
            cmd_id: 1,
            priority: vec![3],
            storage_type: Some(StorageType::Archive.to_wire() as i32),
        }
    }

    #[test]
    fn members_are_found_by_their_native_ports() {
        let membership = Membership::from_wire(&command(true)).unwrap();
        assert_eq!(membership.peers[0].address, "127.0.0.1:9");
        assert_eq!(membership.peers[0].priority, 3);
        assert_eq!(membership.storage_type, Some(StorageType::Archive));
        assert_eq!(membership.ratis, [(membership.peers[0].node, "127.0.0.1:8".to_owned())]);
        assert!(Membership::from_wire(&command(false)).is_err());
    }
}
