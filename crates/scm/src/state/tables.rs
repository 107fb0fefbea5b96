//! The tables of `scm.db`: Ozone's names, key formats and messages.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `containers` | container id, 8 bytes big-endian | `ContainerInfoProto`, and fields of ours from 1001 on |
//! | `pipelines` | uuid, 16 bytes | `Pipeline` |
//! | `deletedBlocks` | transaction id, 8 bytes big-endian | `DeletedBlocksTransaction` |
//! | `sequenceId` | name | last id of the last batch taken, 8 bytes big-endian |
//! | `scmTransactionInfos` | `#TRANSACTIONINFO` | `term#index` |
//! | `statefulServiceConfig` | name of a service | the service's own message; of `ContainerBalancer` a `ContainerBalancerConfigurationProto`; ours is `DatanodeDestinations` |
//! | `meta` | Ozone's; nothing is written to it | |

use metastore::{KeyCodec, Preset, TableSpec, TypedTable, ValueCodec};
use multiraft::LogPosition;
use placement::node::Destinations;
use placement::{Balancer, Container, Evidence, Transaction};
use prost::Message;
use proto::{hdds, scm_datanode};
use types::ids::{uuid_from_wire, uuid_to_wire};
use types::{ContainerId, DatanodeId, Pipeline, PipelineId};
use uuid::Uuid;

/// Every table of the database.
pub const ALL: [TableSpec; 7] = [
    TableSpec::new("containers", Preset::Scan),
    TableSpec::new("pipelines", Preset::Scan),
    TableSpec::new("deletedBlocks", Preset::Queue),
    TableSpec::new("sequenceId", Preset::Point),
    TableSpec::new("scmTransactionInfos", Preset::Point),
    TableSpec::new("statefulServiceConfig", Preset::Point),
    TableSpec::new("meta", Preset::Point),
];

/// Containers.
pub const CONTAINERS: TypedTable<ContainerKey, ContainerRow> = TypedTable::named("containers");
/// Pipelines.
pub const PIPELINES: TypedTable<PipelineKey, PipelineRow> = TypedTable::named("pipelines");
/// The deletion log.
pub const DELETED_BLOCKS: TypedTable<u64, DeletionRow> = TypedTable::named("deletedBlocks");
/// Sequence numbers.
pub const SEQUENCE_ID: TypedTable<String, NumberRow> = TypedTable::named("sequenceId");
/// Applied position of the Raft log.
pub const TRANSACTION_INFO: TypedTable<String, PositionRow> =
    TypedTable::named("scmTransactionInfos");

/// Requested states of services.
pub const SERVICE_CONFIG: TypedTable<String, BalancerRow> =
    TypedTable::named("statefulServiceConfig");

/// The key of [`SERVICE_CONFIG`] that the container balancer has.
pub const BALANCER_KEY: &str = "ContainerBalancer";

/// Destinations of the replicas of DataNodes that leave.
pub const DESTINATIONS: TypedTable<String, DestinationsRow> =
    TypedTable::named("statefulServiceConfig");

/// The only key of [`DESTINATIONS`].
pub const DESTINATIONS_KEY: &str = "DatanodeDestinations";

/// The only key of [`TRANSACTION_INFO`].
pub const TRANSACTION_INFO_KEY: &str = "#TRANSACTIONINFO";

/// Key of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerKey(pub ContainerId);

impl KeyCodec for ContainerKey {
    fn encode(&self) -> Vec<u8> {
        self.0.0.to_be_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|b| Self(ContainerId(u64::from_be_bytes(b))))
    }
}

/// Key of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineKey(pub PipelineId);

impl KeyCodec for PipelineKey {
    fn encode(&self) -> Vec<u8> {
        self.0.0.as_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        Uuid::from_slice(bytes).ok().map(|id| Self(PipelineId(id)))
    }
}

/// A container.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerRow(pub Container);

/// Data of replicas that were not reported: fields that follow those of Ozone's message in the same
/// row. Ozone reads the row without them.
#[derive(Clone, PartialEq, Message)]
struct EvidenceProto {
    #[prost(message, repeated, tag = "1001")]
    members: Vec<hdds::Uuid>,
    #[prost(bool, tag = "1002")]
    emptied: bool,
    #[prost(uint32, repeated, tag = "1003")]
    cleared: Vec<u32>,
}

impl ValueCodec for ContainerRow {
    fn encode(&self) -> Vec<u8> {
        let evidence = &self.0.evidence;
        let evidence = EvidenceProto {
            members: evidence.members.iter().map(|id| uuid_to_wire(id.0)).collect(),
            emptied: evidence.emptied,
            cleared: evidence.cleared.iter().copied().collect(),
        };
        let mut row = self.0.to_wire().encode_to_vec();
        row.extend(evidence.encode_to_vec());
        row
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut container =
            Container::from_wire(&hdds::ContainerInfoProto::decode(bytes).ok()?).ok()?;
        let evidence = EvidenceProto::decode(bytes).ok()?;
        container.evidence = Evidence {
            members: evidence.members.iter().map(|id| DatanodeId(uuid_from_wire(id))).collect(),
            emptied: evidence.emptied,
            cleared: evidence.cleared.into_iter().collect(),
        };
        Some(Self(container))
    }
}

/// A pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineRow(pub Pipeline);

impl ValueCodec for PipelineRow {
    fn encode(&self) -> Vec<u8> {
        self.0.to_wire().encode_to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        Pipeline::from_wire(&hdds::Pipeline::decode(bytes).ok()?).ok().map(Self)
    }
}

/// A transaction of the deletion log.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletionRow(pub Transaction);

impl ValueCodec for DeletionRow {
    fn encode(&self) -> Vec<u8> {
        self.0.to_wire().encode_to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let wire = scm_datanode::DeletedBlocksTransaction::decode(bytes).ok()?;
        Some(Self(Transaction::from_wire(&wire)))
    }
}

/// Requested state of the container balancer.
#[derive(Debug, Clone, PartialEq)]
pub struct BalancerRow(pub Balancer);

impl ValueCodec for BalancerRow {
    fn encode(&self) -> Vec<u8> {
        self.0.to_wire().encode_to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let wire = hdds::ContainerBalancerConfigurationProto::decode(bytes).ok()?;
        Balancer::from_wire(&wire).ok().map(Self)
    }
}

/// The destinations of all DataNodes that have one.
#[derive(Debug, Clone, PartialEq)]
pub struct DestinationsRow(pub Destinations);

#[derive(Clone, PartialEq, Message)]
struct DestinationsProto {
    #[prost(message, repeated, tag = "1")]
    pairs: Vec<DestinationProto>,
}

#[derive(Clone, PartialEq, Message)]
struct DestinationProto {
    #[prost(message, required, tag = "1")]
    node: hdds::Uuid,
    #[prost(message, required, tag = "2")]
    destination: hdds::Uuid,
}

impl ValueCodec for DestinationsRow {
    fn encode(&self) -> Vec<u8> {
        let pair = |(node, to): (&DatanodeId, &DatanodeId)| DestinationProto {
            node: uuid_to_wire(node.0),
            destination: uuid_to_wire(to.0),
        };
        DestinationsProto { pairs: self.0.iter().map(pair).collect() }.encode_to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let id = |uuid: &hdds::Uuid| DatanodeId(uuid_from_wire(uuid));
        let pairs = DestinationsProto::decode(bytes).ok()?.pairs;
        Some(Self(pairs.iter().map(|pair| (id(&pair.node), id(&pair.destination))).collect()))
    }
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRow(pub u64);

impl ValueCodec for NumberRow {
    fn encode(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|b| Self(u64::from_be_bytes(b)))
    }
}

/// A position in the Raft log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionRow(pub LogPosition);

impl ValueCodec for PositionRow {
    fn encode(&self) -> Vec<u8> {
        format!("{}#{}", self.0.term, self.0.index).into_bytes()
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (term, index) = std::str::from_utf8(bytes).ok()?.split_once('#')?;
        Some(Self(LogPosition { term: term.parse().ok()?, index: index.parse().ok()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_keeps_its_evidence_and_rows_of_other_releases_are_read() {
        let known = Container {
            id: ContainerId(7),
            state: hdds::LifeCycleState::Closing,
            pipeline: Some(PipelineId::random()),
            config: types::ReplicationConfig::RATIS_THREE,
            storage_type: types::StorageType::Archive,
            owner: "om".into(),
            used_bytes: 1,
            keys: 2,
            state_enter_ms: 3,
            sequence_id: 4,
            delete_transaction: 5,
            suppressed: true,
            evidence: Evidence {
                members: vec![DatanodeId::random(), DatanodeId::random()],
                emptied: true,
                cleared: [1, 300].into(),
            },
        };
        let row = ContainerRow(known.clone());
        assert_eq!(ContainerRow::decode(&row.encode()), Some(row.clone()));
        // An earlier release reads the rest, and writes it without.
        let earlier = hdds::ContainerInfoProto::decode(row.encode().as_slice()).unwrap();
        assert_eq!(earlier, known.to_wire());
        let without = Container { evidence: Evidence::default(), ..known };
        let rewritten = ContainerRow::decode(&earlier.encode_to_vec());
        assert_eq!(rewritten, Some(ContainerRow(without.clone())));
        assert_eq!(ContainerRow(without).encode(), earlier.encode_to_vec());
    }

    #[test]
    fn keys_and_positions_have_ozones_bytes() {
        assert_eq!(ContainerKey(ContainerId(258)).encode(), [0, 0, 0, 0, 0, 0, 1, 2]);
        let id = PipelineId(Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10));
        assert_eq!(PipelineKey(id).encode(), (1..=16).collect::<Vec<u8>>());
        let position = PositionRow(LogPosition { term: 1, index: 105 });
        assert_eq!(position.encode(), b"1#105");
        assert_eq!(PositionRow::decode(b"1#105"), Some(position));
        assert_eq!(PositionRow::decode(b"1"), None);
    }
}
