//! SCM's order of a reconstruction.

use erasure::{ReplicaIndex, Scheme};
use proto::scm_datanode as wire;
use types::replication::EcConfig;
use types::{ContainerId, DatanodeDetails, StorageType, WireError};

const MESSAGE: &str = "ReconstructECContainersCommandProto";

/// One replica index and the node that has it, or receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The replica index.
    pub index: ReplicaIndex,
    /// The node.
    pub node: DatanodeDetails,
}

/// An order to rebuild replica indexes of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The container.
    pub container: ContainerId,
    /// Its encoding.
    pub scheme: Scheme,
    /// The remaining replicas, each index once.
    pub sources: Vec<Member>,
    /// Target nodes with their indexes.
    pub targets: Vec<Member>,
    /// The storage type of their target disks, if SCM sent it.
    pub storage_type: Option<StorageType>,
}

impl Job {
    /// # Errors
    /// When the order names an index twice, or one that the scheme has not, has fewer sources than
    /// it takes to decode, or not as many targets as indexes.
    pub fn from_wire(order: &wire::ReconstructEcContainersCommandProto) -> Result<Self, WireError> {
        let invalid = |field, value: String| WireError::invalid(MESSAGE, field, value);
        let config = EcConfig::from_wire(&order.ec_replication_config)?;
        let scheme = Scheme::new(config);
        let scheme = scheme.map_err(|e| invalid("ecReplicationConfig", e.to_string()))?;
        let mut named = vec![false; scheme.total()];
        let mut member = |field, index: u32, node| {
            let index = scheme.replica(index).map_err(|e| invalid(field, e.to_string()))?;
            let seen = named.get_mut(index.position());
            if seen.is_none_or(|seen| std::mem::replace(seen, true)) {
                return Err(invalid(field, format!("{index} is named twice")));
            }
            Ok(Member { index, node: DatanodeDetails::from_wire(node)? })
        };
        let mut sources = Vec::with_capacity(order.sources.len());
        for source in &order.sources {
            let index = u32::try_from(source.replica_index).unwrap_or(0);
            sources.push(member("sources", index, &source.datanode_details)?);
        }
        let indexes = &order.missing_container_indexes;
        if indexes.is_empty() || indexes.len() != order.targets.len() {
            let counts = format!("{} for {} indexes", order.targets.len(), indexes.len());
            return Err(invalid("targets", counts));
        }
        let mut targets = Vec::with_capacity(indexes.len());
        for (index, node) in indexes.iter().zip(&order.targets) {
            targets.push(member("missingContainerIndexes", u32::from(*index), node)?);
        }
        if sources.len() < scheme.data() {
            return Err(invalid("sources", format!("{} of {}", sources.len(), scheme.data())));
        }
        match order.container_id {
            1.. => {}
            id => return Err(invalid("containerID", id.to_string())),
        }
        let container = ContainerId::from_wire(order.container_id);
        let storage_type = order.storage_type.map(StorageType::from_wire).transpose()?;
        Ok(Self { container, scheme, sources, targets, storage_type })
    }

    /// The indexes that are to be rebuilt, as text.
    pub fn indexes(&self) -> String {
        let indexes: Vec<_> = self.targets.iter().map(|t| t.index.to_string()).collect();
        indexes.join(",")
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds;
    use types::DatanodeId;

    use super::*;

    fn node(n: u128) -> hdds::DatanodeDetailsProto {
        let id = DatanodeId(uuid::Uuid::from_u128(n));
        DatanodeDetails::new(id, "127.0.0.1", "localhost").to_wire()
    }

    fn order(sources: &[i32], missing: &[u8], targets: usize) -> Result<Job, WireError> {
        let source = |index: &i32| wire::DatanodeDetailsAndReplicaIndexProto {
            datanode_details: node(*index as u128),
            replica_index: *index,
        };
        Job::from_wire(&wire::ReconstructEcContainersCommandProto {
            container_id: 7,
            sources: sources.iter().map(source).collect(),
            targets: (0..targets).map(|n| node(100 + n as u128)).collect(),
            missing_container_indexes: missing.to_vec().into(),
            ec_replication_config: hdds::EcReplicationConfig {
                data: 3,
                parity: 2,
                codec: "rs".into(),
                ec_chunk_size: 1 << 20,
            },
            cmd_id: 1,
            storage_type: None,
        })
    }

    #[test]
    fn an_order_names_each_index_once() {
        let job = order(&[1, 3, 5], &[2, 4], 2).unwrap();
        assert_eq!(job.indexes(), "2,4");
        assert_eq!(job.sources.iter().map(|s| s.index.get()).collect::<Vec<_>>(), [1, 3, 5]);
        for (sources, missing, targets) in [
            (&[1, 3][..], &[2][..], 1),
            (&[1, 3, 3], &[2], 1),
            (&[1, 3, 6], &[2], 1),
            (&[1, 3, 0], &[2], 1),
            (&[1, 3, -1], &[2], 1),
            (&[1, 2, 3], &[3], 1),
            (&[1, 2, 3], &[], 0),
            (&[1, 2, 3], &[4, 5], 1),
            (&[1, 2, 3], &[4, 4], 2),
        ] {
            assert!(order(sources, missing, targets).is_err(), "{sources:?} {missing:?}");
        }
    }
}
