//! Orders as protobuf commands. Referenced objects are looked up when the command is sent, so that
//! they are current.

use std::sync::atomic::{AtomicI64, Ordering};

use placement::{Cluster, Millis, OrderKind, Transaction, pipeline};
use proto::scm_datanode::{
    self as wire, CloseContainerCommandProto, ClosePipelineCommandProto,
    CreatePipelineCommandProto, DatanodeDetailsAndReplicaIndexProto, DeleteBlocksCommandProto,
    DeleteContainerCommandProto, DeletedBlocksTransaction, ReconcileContainerCommandProto,
    ReconstructEcContainersCommandProto, ReplicateContainerCommandProto, ReregisterCommandProto,
    ScmCommandProto, SetNodeOperationalStateCommandProto,
};
use types::{ContainerId, DatanodeDetails, DatanodeId};
use wire::scm_command_proto::Type;

/// Numbers commands, so that a node's report on one can name it.
#[derive(Debug)]
pub struct CommandIds(AtomicI64);

impl CommandIds {
    /// Ids from `first` on; a time in microseconds keeps those of different starts apart.
    pub fn new(first: i64) -> Self {
        Self(AtomicI64::new(first))
    }

    fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// The command for an order; `None` when an object that it refers to does not exist any more.
pub fn to_wire(
    cluster: &Cluster,
    kind: &OrderKind,
    ids: &CommandIds,
    term: i64,
    now: Millis,
) -> Option<ScmCommandProto> {
    let cmd_id = ids.next();
    let mut command = ScmCommandProto { term: Some(term), ..ScmCommandProto::default() };
    match kind {
        OrderKind::CreatePipeline(id) => {
            let record = &cluster.pipelines.get(*id)?.record;
            command.set_command_type(Type::CreatePipelineCommand);
            command.create_pipeline_command_proto = Some(CreatePipelineCommandProto {
                pipeline_id: id.to_wire(),
                r#type: record.config.wire_type() as i32,
                factor: record.config.wire_factor()? as i32,
                datanode: record.members.iter().map(DatanodeDetails::to_wire).collect(),
                cmd_id,
                priority: pipeline::create::priorities(record),
                storage_type: Some(record.storage_type.to_wire() as i32),
            });
        }
        OrderKind::ClosePipeline(id) => {
            command.set_command_type(Type::ClosePipelineCommand);
            command.close_pipeline_command_proto =
                Some(ClosePipelineCommandProto { pipeline_id: id.to_wire(), cmd_id });
        }
        OrderKind::CloseContainer { id, pipeline, force } => {
            command.set_command_type(Type::CloseContainerCommand);
            command.close_container_command_proto = Some(CloseContainerCommandProto {
                container_id: id.to_wire(),
                pipeline_id: pipeline.to_wire(),
                cmd_id,
                force: Some(*force),
            });
        }
        OrderKind::ReplicateContainer { id, target } => {
            let target = &cluster.nodes.get(*target)?.details;
            let container = cluster.containers.get(*id)?;
            command.set_command_type(Type::ReplicateContainerCommand);
            command.replicate_container_command_proto = Some(ReplicateContainerCommandProto {
                container_id: id.to_wire(),
                sources: Vec::new(),
                cmd_id,
                replica_index: None,
                target: Some(target.to_wire()),
                priority: None,
                storage_type: Some(container.storage_type.to_wire() as i32),
            });
        }
        OrderKind::ReconstructEcContainer { id, sources, targets } => {
            command.set_command_type(Type::ReconstructEcContainersCommand);
            command.deadline_ms_since_epoch = deadline(cluster, now);
            command.reconstruct_ec_containers_command_proto =
                Some(reconstruction(cluster, *id, sources, targets, cmd_id)?);
        }
        OrderKind::ReconcileContainer { id, peers } => {
            command.set_command_type(Type::ReconcileContainerCommand);
            command.reconcile_container_command_proto = Some(reconciliation(cluster, *id, peers)?);
        }
        OrderKind::SetOperationalState { state, expiry } => {
            command.set_command_type(Type::SetNodeOperationalStateCommand);
            command.set_node_operational_state_command_proto =
                Some(SetNodeOperationalStateCommandProto {
                    cmd_id,
                    node_operational_state: state.to_wire() as i32,
                    state_expiry_epoch_seconds: *expiry,
                });
        }
        OrderKind::DeleteContainer { id, index, force } => {
            command.set_command_type(Type::DeleteContainerCommand);
            // A node that is later than SCM's timeout keeps its replica: another one may be deleted
            // instead.
            command.deadline_ms_since_epoch = deadline(cluster, now);
            command.delete_container_command_proto = Some(DeleteContainerCommandProto {
                container_id: id.to_wire(),
                cmd_id,
                force: *force,
                replica_index: i32::try_from(*index).ok().filter(|index| *index > 0),
            });
        }
        OrderKind::DeleteBlocks(ids) => {
            let live = ids.iter().filter_map(|id| cluster.deletions.get(*id));
            let transactions: Vec<_> = live.map(|t| deletion(cluster, t)).collect();
            if transactions.is_empty() {
                return None;
            }
            command.set_command_type(Type::DeleteBlocksCommand);
            command.delete_blocks_command_proto = Some(DeleteBlocksCommandProto {
                deleted_blocks_transactions: transactions,
                cmd_id,
            });
        }
    }
    Some(command)
}

/// A transaction as it is sent to a node, with the newest forgotten one of its container.
fn deletion(cluster: &Cluster, t: &Transaction) -> DeletedBlocksTransaction {
    let forgotten = cluster.containers.get(t.container).map(|c| c.delete_transaction);
    DeletedBlocksTransaction { forgotten, ..t.to_wire() }
}

/// Time until which a node may begin a command: a part of the time for which SCM waits for it. The
/// rest allows for clocks that differ.
fn deadline(cluster: &Cluster, now: Millis) -> Option<i64> {
    let settings = &cluster.settings.replication;
    let within = settings.timeout.saturating_sub(settings.deadline_offset);
    i64::try_from(now.saturating_add(within)).ok()
}

/// The protobuf part of a reconstruction command; `None` when the container or a target does not
/// exist any more.
fn reconstruction(
    cluster: &Cluster,
    id: ContainerId,
    sources: &[(DatanodeId, u32)],
    targets: &[(DatanodeId, u32)],
    cmd_id: i64,
) -> Option<ReconstructEcContainersCommandProto> {
    let container = cluster.containers.get(id)?;
    let config = container.config.wire_ec()?;
    let source = |(node, index): &(DatanodeId, u32)| {
        Some(DatanodeDetailsAndReplicaIndexProto {
            datanode_details: cluster.nodes.get(*node)?.details.to_wire(),
            replica_index: i32::try_from(*index).ok()?,
        })
    };
    let target = |(node, _): &(DatanodeId, u32)| Some(cluster.nodes.get(*node)?.details.to_wire());
    let index = |(_, index): &(DatanodeId, u32)| u8::try_from(*index).ok();
    Some(ReconstructEcContainersCommandProto {
        container_id: id.to_wire(),
        sources: sources.iter().filter_map(source).collect(),
        targets: targets.iter().map(target).collect::<Option<_>>()?,
        missing_container_indexes: targets.iter().map(index).collect::<Option<Vec<u8>>>()?.into(),
        ec_replication_config: config,
        cmd_id,
        storage_type: Some(container.storage_type.to_wire() as i32),
    })
}

/// The part of a command to reconcile a replica with those of `peers`. `None` when that is not
/// allowed any more: blocks of the container were deleted since it was ordered.
fn reconciliation(
    cluster: &Cluster,
    id: ContainerId,
    peers: &[DatanodeId],
) -> Option<ReconcileContainerCommandProto> {
    if let Err(why) = cluster.reconcilable(id) {
        tracing::warn!(container = %id, %why, "cannot build reconciliation command; replica skipped");
        return None;
    }
    let sources = cluster.reconciliation_sources(id);
    let peers = peers.iter().filter(|peer| sources.contains(peer));
    let peers = peers.filter_map(|peer| Some(cluster.nodes.get(*peer)?.details.to_wire()));
    Some(ReconcileContainerCommandProto { container_id: id.to_wire(), peers: peers.collect() })
}

/// The command that makes a node register.
pub fn reregister(term: i64) -> ScmCommandProto {
    let mut command = ScmCommandProto {
        term: Some(term),
        reregister_command_proto: Some(ReregisterCommandProto {}),
        ..ScmCommandProto::default()
    };
    command.set_command_type(Type::ReregisterCommand);
    command
}

#[cfg(test)]
mod tests {
    use placement::{Change, Container, Replica, ReplicaState, Settings, Storage};
    use proto::hdds::LifeCycleState;
    use types::{LocalId, ReplicationConfig};

    use super::*;

    /// A cluster with a closed container.
    fn cluster() -> Cluster {
        let mut cluster = Cluster::new(Settings::default());
        cluster.containers.insert(Container {
            id: ContainerId(1),
            state: LifeCycleState::Closed,
            pipeline: None,
            config: ReplicationConfig::RATIS_THREE,
            storage_type: types::StorageType::default(),
            owner: "om".into(),
            used_bytes: 0,
            keys: 0,
            state_enter_ms: 0,
            sequence_id: 0,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        });
        cluster
    }

    fn transaction(id: u64) -> Transaction {
        let (container, blocks) = (ContainerId(1), vec![LocalId(id)]);
        Transaction { id, container, blocks, ..Transaction::default() }
    }

    #[test]
    fn a_node_is_told_with_a_transaction_which_one_is_forgotten() {
        let mut cluster = cluster();
        cluster.apply(&Change::AddDeletions(vec![transaction(4), transaction(5)])).unwrap();
        cluster.apply(&Change::RemoveDeletions(vec![4])).unwrap();
        let order = OrderKind::DeleteBlocks(vec![4, 5]);
        let command = to_wire(&cluster, &order, &CommandIds::new(1), 1, 0).unwrap();
        let sent = command.delete_blocks_command_proto.unwrap().deleted_blocks_transactions;
        let told: Vec<_> = sent.iter().map(|t| (t.tx_id, t.forgotten)).collect();
        assert_eq!(told, [(5, Some(4))]);
    }

    #[test]
    fn what_is_deleted_between_order_and_command_is_not_given_back() {
        let mut cluster = cluster();
        let nodes = [1, 2, 3].map(|n| DatanodeId(uuid::Uuid::from_u128(n)));
        let replica = |node, delete_transaction| Replica {
            node,
            state: ReplicaState::Closed,
            used_bytes: 1,
            keys: 1,
            sequence_id: 0,
            origin: node,
            replica_index: 0,
            storage_type: types::StorageType::default(),
            is_empty: false,
            data_checksum: 0,
            delete_transaction,
            lags: false,
        };
        let report = |cluster: &mut Cluster, node, transaction| {
            cluster.report_replicas(vec![(ContainerId(1), replica(node, transaction))], 0);
        };
        for node in nodes {
            let details = DatanodeDetails::new(node, "127.0.0.1", "localhost");
            cluster.register(details, vec![Storage::default()], &[], 0);
            report(&mut cluster, node, 0);
        }
        let order = cluster.order_reconciliation(ContainerId(1), 0).unwrap().remove(0);
        assert_eq!(order.node, nodes[0]);
        let peers = |cluster: &Cluster| {
            let command = to_wire(cluster, &order.kind, &CommandIds::new(1), 8, 0)?;
            assert_eq!((command.term, command.deadline_ms_since_epoch), (Some(8), None));
            let peers = command.reconcile_container_command_proto.unwrap().peers;
            Some(peers.iter().map(|p| DatanodeDetails::from_wire(p).unwrap().id).collect())
        };
        assert_eq!(peers(&cluster), Some(nodes[1..].to_vec()));
        cluster.apply(&Change::AddDeletions(vec![transaction(4)])).unwrap();
        assert_eq!(peers(&cluster), None);
        cluster.apply(&Change::RemoveDeletions(vec![4])).unwrap();
        report(&mut cluster, nodes[1], 3);
        report(&mut cluster, nodes[2], 4);
        assert_eq!(peers(&cluster), Some(nodes[2..].to_vec()));
    }

    #[test]
    fn an_order_to_delete_names_the_index_that_is_meant() {
        let (cluster, ids) = (Cluster::new(Settings::default()), CommandIds::new(1));
        for (index, named) in [(3, Some(3)), (0, None)] {
            let kind = OrderKind::DeleteContainer { id: ContainerId(7), index, force: true };
            let command = to_wire(&cluster, &kind, &ids, 1, 0).unwrap();
            let delete = command.delete_container_command_proto.unwrap();
            assert_eq!((delete.container_id, delete.replica_index), (7, named));
        }
    }
}
