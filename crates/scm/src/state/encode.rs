//! Changes as Raft log entries.
//!
//! Our own messages, since no other program reads SCM's log; the parts are Ozone's messages where
//! there is one. New kinds of change get new numbers; numbers are never used again.

use bytes::Bytes;
use multiraft::MachineError;
use placement::{Balancer, Change, Container, Refused, Sequence, Transaction, Usage};
use prost::Message;
use proto::hdds::{self, LifeCycleEvent};
use proto::scm_datanode::DeletedBlocksTransaction;
use types::ids::{uuid_from_wire, uuid_to_wire};
use types::{ContainerId, DatanodeId, Pipeline, PipelineId};

#[derive(Clone, PartialEq, Message)]
struct EntryProto {
    #[prost(message, repeated, tag = "1")]
    changes: Vec<ChangeProto>,
}

#[derive(Clone, PartialEq, Message)]
struct ChangeProto {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    AddPipeline(hdds::Pipeline),
    #[prost(message, tag = "2")]
    OpenPipeline(hdds::PipelineId),
    #[prost(message, tag = "3")]
    DeactivatePipeline(hdds::PipelineId),
    #[prost(message, tag = "4")]
    ActivatePipeline(hdds::PipelineId),
    #[prost(message, tag = "5")]
    ClosePipeline(ClosePipelineProto),
    #[prost(message, tag = "6")]
    RemovePipeline(hdds::PipelineId),
    #[prost(message, tag = "7")]
    AddContainer(hdds::ContainerInfoProto),
    #[prost(message, tag = "8")]
    MoveContainer(MoveContainerProto),
    #[prost(message, tag = "9")]
    ReserveIds(ReserveIdsProto),
    #[prost(message, tag = "10")]
    AddDeletions(AddDeletionsProto),
    #[prost(message, tag = "11")]
    RemoveDeletions(RemoveDeletionsProto),
    #[prost(message, tag = "12")]
    SetBalancer(hdds::ContainerBalancerConfigurationProto),
    #[prost(message, tag = "13")]
    SetDestination(SetDestinationProto),
    #[prost(message, tag = "14")]
    ClearLeftOvers(ClearLeftOversProto),
}

#[derive(Clone, PartialEq, Message)]
struct ClosePipelineProto {
    #[prost(message, required, tag = "1")]
    id: hdds::PipelineId,
    #[prost(uint64, tag = "2")]
    now: u64,
}

/// Without a destination, the node's replicas are sent to any nodes.
#[derive(Clone, PartialEq, Message)]
struct SetDestinationProto {
    #[prost(message, required, tag = "1")]
    node: hdds::Uuid,
    #[prost(message, optional, tag = "2")]
    destination: Option<hdds::Uuid>,
}

/// A member of an earlier release refuses it: it has not recorded that the container was emptied,
/// either, without which nothing is cleared.
#[derive(Clone, PartialEq, Message)]
struct ClearLeftOversProto {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(uint32, repeated, tag = "2")]
    indexes: Vec<u32>,
}

/// An event of 0 or -1 revives a container, as CLOSED or QUASI_CLOSED.
#[derive(Clone, PartialEq, Message)]
struct MoveContainerProto {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(int32, tag = "2")]
    event: i32,
    #[prost(uint64, tag = "3")]
    now: u64,
    #[prost(uint64, tag = "4")]
    used_bytes: u64,
    #[prost(uint64, tag = "5")]
    keys: u64,
    #[prost(uint64, tag = "6")]
    sequence_id: u64,
    /// With DELETE: all replicas are empty. A member of an earlier release deletes it without
    /// recording that, and deletes fewer leftovers when it leads.
    #[prost(bool, tag = "7")]
    emptied: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ReserveIdsProto {
    #[prost(string, tag = "1")]
    sequence: String,
    #[prost(uint64, tag = "2")]
    expected: u64,
    #[prost(uint64, tag = "3")]
    last: u64,
}

#[derive(Clone, PartialEq, Message)]
struct AddDeletionsProto {
    #[prost(message, repeated, tag = "1")]
    transactions: Vec<DeletedBlocksTransaction>,
}

#[derive(Clone, PartialEq, Message)]
struct RemoveDeletionsProto {
    #[prost(uint64, repeated, tag = "1")]
    ids: Vec<u64>,
}

/// One text per change: empty when it was applied, else why not.
const REVIVE: i32 = 0;
const REVIVE_QUASI: i32 = -1;

/// The log entry of these changes.
pub fn encode_changes(changes: &[Change]) -> Bytes {
    let changes = changes.iter().map(|c| ChangeProto { kind: Some(kind_of(c)) }).collect();
    EntryProto { changes }.encode_to_vec().into()
}

/// The changes of an entry, each decoded separately: one that this release does not support, or
/// that is incomplete, is refused, and the others are applied. An entry that does not decode is one
/// such change.
pub fn decode_changes(entry: &Bytes) -> Vec<Result<Change, Refused>> {
    let unknown = |e: MachineError| Refused::Unknown(e.to_string());
    match EntryProto::decode(entry.clone()) {
        Ok(entry) => {
            let change = |c: ChangeProto| match c.kind {
                Some(kind) => change_of(kind).map_err(unknown),
                None => Err(Refused::Unknown(UNKNOWN.to_owned())),
            };
            entry.changes.into_iter().map(change).collect()
        }
        Err(e) => vec![Err(unknown(e.into()))],
    }
}

const UNKNOWN: &str = "a kind of change that this release does not support";

fn kind_of(change: &Change) -> Kind {
    match change {
        Change::AddPipeline(p) => Kind::AddPipeline(p.to_wire()),
        Change::OpenPipeline(id) => Kind::OpenPipeline(id.to_wire()),
        Change::SetPipelineDormant(id, true) => Kind::DeactivatePipeline(id.to_wire()),
        Change::SetPipelineDormant(id, false) => Kind::ActivatePipeline(id.to_wire()),
        Change::ClosePipeline { id, now } => {
            Kind::ClosePipeline(ClosePipelineProto { id: id.to_wire(), now: *now })
        }
        Change::RemovePipeline(id) => Kind::RemovePipeline(id.to_wire()),
        Change::AddContainer(c) => Kind::AddContainer(c.to_wire()),
        Change::MoveContainer { id, event, now, usage } => {
            Kind::MoveContainer(MoveContainerProto {
                id: id.to_wire(),
                event: *event as i32,
                now: *now,
                used_bytes: usage.used_bytes,
                keys: usage.keys,
                sequence_id: usage.sequence_id,
                emptied: false,
            })
        }
        Change::DeleteEmptied { id, now, usage } => Kind::MoveContainer(MoveContainerProto {
            id: id.to_wire(),
            event: LifeCycleEvent::Delete as i32,
            now: *now,
            used_bytes: usage.used_bytes,
            keys: usage.keys,
            sequence_id: usage.sequence_id,
            emptied: true,
        }),
        Change::ClearLeftOvers { id, indexes } => {
            Kind::ClearLeftOvers(ClearLeftOversProto { id: id.to_wire(), indexes: indexes.clone() })
        }
        Change::ReviveContainer { id, quasi, now } => Kind::MoveContainer(MoveContainerProto {
            id: id.to_wire(),
            event: if *quasi { REVIVE_QUASI } else { REVIVE },
            now: *now,
            ..MoveContainerProto::default()
        }),
        Change::ReserveIds { sequence, expected, last } => Kind::ReserveIds(ReserveIdsProto {
            sequence: sequence.name().to_owned(),
            expected: *expected,
            last: *last,
        }),
        Change::AddDeletions(ts) => Kind::AddDeletions(AddDeletionsProto {
            transactions: ts.iter().map(Transaction::to_wire).collect(),
        }),
        Change::RemoveDeletions(ids) => {
            Kind::RemoveDeletions(RemoveDeletionsProto { ids: ids.clone() })
        }
        Change::SetBalancer(balancer) => Kind::SetBalancer(balancer.to_wire()),
        Change::SetDestination { node, destination } => Kind::SetDestination(SetDestinationProto {
            node: uuid_to_wire(node.0),
            destination: destination.map(|id| uuid_to_wire(id.0)),
        }),
    }
}

fn change_of(kind: Kind) -> Result<Change, MachineError> {
    Ok(match kind {
        Kind::AddPipeline(p) => Change::AddPipeline(Pipeline::from_wire(&p)?),
        Kind::OpenPipeline(id) => Change::OpenPipeline(PipelineId::from_wire(&id)?),
        Kind::DeactivatePipeline(id) => {
            Change::SetPipelineDormant(PipelineId::from_wire(&id)?, true)
        }
        Kind::ActivatePipeline(id) => {
            Change::SetPipelineDormant(PipelineId::from_wire(&id)?, false)
        }
        Kind::ClosePipeline(c) => {
            Change::ClosePipeline { id: PipelineId::from_wire(&c.id)?, now: c.now }
        }
        Kind::RemovePipeline(id) => Change::RemovePipeline(PipelineId::from_wire(&id)?),
        Kind::AddContainer(c) => Change::AddContainer(Container::from_wire(&c)?),
        Kind::MoveContainer(m) => {
            let id = ContainerId::from_wire(m.id);
            let usage =
                Usage { used_bytes: m.used_bytes, keys: m.keys, sequence_id: m.sequence_id };
            match m.event {
                event if m.emptied && event == LifeCycleEvent::Delete as i32 => {
                    Change::DeleteEmptied { id, now: m.now, usage }
                }
                REVIVE => Change::ReviveContainer { id, quasi: false, now: m.now },
                REVIVE_QUASI => Change::ReviveContainer { id, quasi: true, now: m.now },
                event => Change::MoveContainer {
                    id,
                    event: LifeCycleEvent::try_from(event).map_err(|_| UNKNOWN)?,
                    now: m.now,
                    usage,
                },
            }
        }
        Kind::ReserveIds(r) => Change::ReserveIds {
            sequence: Sequence::from_name(&r.sequence).ok_or(UNKNOWN)?,
            expected: r.expected,
            last: r.last,
        },
        Kind::AddDeletions(a) => {
            Change::AddDeletions(a.transactions.iter().map(Transaction::from_wire).collect())
        }
        Kind::RemoveDeletions(r) => Change::RemoveDeletions(r.ids),
        Kind::SetBalancer(b) => {
            Change::SetBalancer(Balancer::from_wire(&b).map_err(|e| e.to_string())?)
        }
        Kind::ClearLeftOvers(c) => {
            Change::ClearLeftOvers { id: ContainerId::from_wire(c.id), indexes: c.indexes }
        }
        Kind::SetDestination(d) => Change::SetDestination {
            node: DatanodeId(uuid_from_wire(&d.node)),
            destination: d.destination.map(|id| DatanodeId(uuid_from_wire(&id))),
        },
    })
}

#[cfg(test)]
mod tests {
    use placement::balance::Configuration;

    use super::*;
    use types::{DatanodeDetails, PipelineState, ReplicationConfig};

    #[test]
    fn any_bytes_are_changes_or_refused() {
        let read = |data: &[u8]| {
            let changes = decode_changes(&Bytes::copy_from_slice(data));
            let known: Vec<Change> = changes.into_iter().flatten().collect();
            let again: Result<Vec<Change>, _> =
                decode_changes(&encode_changes(&known)).into_iter().collect();
            assert_eq!(again.ok().as_ref(), Some(&known));
        };
        testkit::fuzz(vec![("scm-changes", read, vec![encode_changes(&changes()).to_vec()])]);
    }

    #[test]
    fn every_change_survives_the_log() {
        let changes = changes();
        let decoded: Result<Vec<_>, _> =
            decode_changes(&encode_changes(&changes)).into_iter().collect();
        assert_eq!(decoded.unwrap(), changes);
    }

    /// One of every kind.
    fn changes() -> Vec<Change> {
        let pipeline = Pipeline {
            id: PipelineId::random(),
            config: ReplicationConfig::RATIS_ONE,
            storage_type: types::StorageType::Archive,
            state: PipelineState::Allocated,
            members: vec![DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "h")],
            replica_indexes: Vec::new(),
            leader: None,
            suggested_leader: None,
            created_ms: 5,
            order: Vec::new(),
        };
        let id = pipeline.id;
        let container = Container {
            id: ContainerId(7),
            state: hdds::LifeCycleState::Open,
            pipeline: Some(id),
            config: ReplicationConfig::RATIS_ONE,
            storage_type: types::StorageType::Archive,
            owner: "om".into(),
            used_bytes: 1,
            keys: 2,
            state_enter_ms: 3,
            sequence_id: 4,
            delete_transaction: 5,
            suppressed: false,
            evidence: Default::default(),
        };
        let usage = Usage { used_bytes: 1, keys: 2, sequence_id: 3 };
        vec![
            Change::AddPipeline(pipeline),
            Change::OpenPipeline(id),
            Change::SetPipelineDormant(id, true),
            Change::SetPipelineDormant(id, false),
            Change::ClosePipeline { id, now: 9 },
            Change::RemovePipeline(id),
            Change::AddContainer(container),
            Change::MoveContainer {
                id: ContainerId(7),
                event: LifeCycleEvent::ForceClose,
                now: 1,
                usage,
            },
            Change::DeleteEmptied { id: ContainerId(7), now: 1, usage },
            Change::ClearLeftOvers { id: ContainerId(7), indexes: vec![1, 5] },
            Change::ReviveContainer { id: ContainerId(7), quasi: false, now: 2 },
            Change::ReviveContainer { id: ContainerId(7), quasi: true, now: 2 },
            Change::ReserveIds { sequence: Sequence::LocalId, expected: 3, last: 1_003 },
            Change::AddDeletions(vec![Transaction {
                id: 1,
                container: ContainerId(7),
                blocks: vec![types::LocalId(1), types::LocalId(2)],
                size: 10,
                replicated_size: 30,
            }]),
            Change::RemoveDeletions(vec![1, 2]),
            Change::SetBalancer(Balancer {
                configuration: Configuration {
                    threshold: 7.5,
                    max_datanodes_percentage: 20,
                    max_size_per_iteration: 1,
                    max_size_entering_target: 2,
                    max_size_leaving_source: 3,
                    iterations: Some(4),
                    exclude_containers: [ContainerId(1), ContainerId(12)].into(),
                    include_containers: [ContainerId(3)].into(),
                    move_timeout: 5,
                    replication_timeout: 6,
                    interval: 7,
                    include_nodes: ["a".to_owned()].into(),
                    exclude_nodes: ["b".to_owned(), "c".to_owned()].into(),
                    network_topology: true,
                    trigger_du: true,
                    include_non_standard: true,
                },
                should_run: true,
                next_iteration: 8,
            }),
            Change::SetDestination {
                node: DatanodeId::random(),
                destination: Some(DatanodeId::random()),
            },
            Change::SetDestination { node: DatanodeId::random(), destination: None },
        ]
    }

    /// The row as an earlier release decodes it, which skips the unknown field.
    #[test]
    fn an_earlier_release_deletes_what_was_emptied() {
        let usage = Usage { used_bytes: 1, keys: 2, sequence_id: 3 };
        let id = ContainerId(7);
        let Kind::MoveContainer(mut sent) = kind_of(&Change::DeleteEmptied { id, now: 4, usage })
        else {
            panic!("another kind")
        };
        sent.emptied = false;
        let event = LifeCycleEvent::Delete;
        let read = change_of(Kind::MoveContainer(sent)).unwrap();
        assert_eq!(read, Change::MoveContainer { id, event, now: 4, usage });
    }

    #[test]
    fn a_change_of_a_later_release_is_refused() {
        let known = ChangeProto { kind: Some(kind_of(&Change::RemoveDeletions(vec![7]))) };
        let entry = EntryProto { changes: vec![ChangeProto { kind: None }, known] };
        let decoded = decode_changes(&entry.encode_to_vec().into());
        assert!(matches!(decoded[0], Err(Refused::Unknown(_))), "{decoded:?}");
        assert_eq!(decoded[1], Ok(Change::RemoveDeletions(vec![7])));
        let decoded = decode_changes(&Bytes::from_static(&[0xff; 5]));
        assert!(matches!(decoded.as_slice(), [Err(Refused::Unknown(_))]), "{decoded:?}");
    }
}
