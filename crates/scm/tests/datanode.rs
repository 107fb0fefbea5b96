//! A DataNode that only talks: registers, heartbeats, and does in memory what SCM commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use framed::{Client, ClientOptions};
use parking_lot::Mutex;
use proto::method;
use proto::scm_datanode::container_replica_proto::State;
use proto::scm_datanode::*;
use tokio::sync::Notify;
use types::{ContainerId, DatanodeDetails, DatanodeId, PipelineId, PortName};

/// Contents of the node's only disk.
#[derive(Debug, Default)]
pub struct Disk {
    pub pipelines: BTreeMap<PipelineId, bool>,
    pub containers: BTreeMap<u64, ContainerReplicaProto>,
    /// Blocks that commands have deleted.
    pub deleted: Vec<i64>,
    pub acknowledges: bool,
    /// Transactions of those commands, including repeated ones.
    pub transactions: Vec<DeletedBlocksTransaction>,
    /// Replicas that SCM ordered to be sent to other nodes.
    pub pushed: Vec<(DatanodeId, ContainerReplicaProto)>,
    /// Commands to reconstruct replicas, with their deadlines.
    pub reconstructions: Vec<(ReconstructEcContainersCommandProto, Option<i64>)>,
    /// Commands to reconcile replicas, with their terms.
    pub reconciliations: Vec<(ReconcileContainerCommandProto, Option<i64>)>,
    pending_reports: PendingReports,
}

#[derive(Debug, Default)]
struct PendingReports {
    pipelines: Vec<PipelineReport>,
    replicas: Vec<ContainerReplicaProto>,
    statuses: Vec<CommandStatus>,
    actions: Vec<ContainerAction>,
}

impl Disk {
    /// An empty one, whose node confirms deletions.
    pub fn new() -> Self {
        Self { acknowledges: true, ..Self::default() }
    }
}

/// A DataNode. It stops when it is dropped, like one that is killed.
pub struct FakeDatanode {
    pub id: DatanodeId,
    pub disk: Arc<Mutex<Disk>>,
    session: Arc<Session>,
    notify: Arc<Notify>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for FakeDatanode {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|t| t.abort());
    }
}

impl FakeDatanode {
    /// A new node with an empty disk.
    pub async fn start(address: std::net::SocketAddr) -> Self {
        let disk = Disk::new();
        Self::start_with(address, DatanodeId::random(), Arc::new(Mutex::new(disk))).await
    }

    /// A node with the disk of an earlier one.
    pub async fn start_with(
        address: std::net::SocketAddr,
        id: DatanodeId,
        disk: Arc<Mutex<Disk>>,
    ) -> Self {
        Self::start_as(address, DatanodeDetails::new(id, "127.0.0.1", "localhost"), disk).await
    }

    /// A new node of that host name.
    pub async fn start_on(address: std::net::SocketAddr, host: &str) -> Self {
        let disk = Disk::new();
        let details = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", host);
        Self::start_as(address, details, Arc::new(Mutex::new(disk))).await
    }

    /// A new node of that host name and that port for Ratis.
    pub async fn start_at(address: std::net::SocketAddr, host: &str, ratis: u16) -> Self {
        let disk = Disk::new();
        let mut details = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", host);
        details.set_port(PortName::Ratis, ratis);
        Self::start_as(address, details, Arc::new(Mutex::new(disk))).await
    }

    async fn start_as(
        address: std::net::SocketAddr,
        mut details: DatanodeDetails,
        disk: Arc<Mutex<Disk>>,
    ) -> Self {
        let id = details.id;
        details.set_port(PortName::Native, 1 + (id.0.as_u128() % 60_000) as u16);
        let client = Client::new(address.to_string(), ClientOptions::default());
        let notify = Arc::new(Notify::new());
        let session = Arc::new(Session {
            client,
            details: Mutex::new(details),
            disk: disk.clone(),
            notify: notify.clone(),
        });
        session.register().await;
        let tasks = vec![
            tokio::spawn({
                let session = session.clone();
                async move { session.report().await }
            }),
            tokio::spawn({
                let session = session.clone();
                async move { session.wait().await }
            }),
        ];
        Self { id, disk, session, notify, tasks }
    }

    /// Blocks were written here: the container is made if it is not there.
    pub fn write(&self, container: ContainerId, keys: i64, bytes: i64) {
        let mut disk = self.disk.lock();
        let replica = disk.containers.entry(container.0).or_insert_with(|| ContainerReplicaProto {
            container_id: container.to_wire(),
            state: State::Open as i32,
            origin_node_id: Some(self.id.to_string()),
            ..Default::default()
        });
        replica.key_count = Some(keys);
        replica.used = Some(bytes);
        replica.is_empty = Some(keys == 0);
        replica.block_commit_sequence_id = Some(keys as u64);
        let replica = replica.clone();
        disk.pending_reports.replicas.push(replica);
        drop(disk);
        self.notify.notify_one();
    }

    /// Loses the replica with its disk.
    pub fn lose(&self, container: ContainerId) {
        let mut disk = self.disk.lock();
        if let Some(mut replica) = disk.containers.remove(&container.0) {
            replica.state = State::Deleted as i32;
            disk.pending_reports.replicas.push(replica);
        }
        drop(disk);
        self.notify.notify_one();
    }

    /// The node could not carry out a command.
    pub fn fail(&self, command: i64, kind: scm_command_proto::Type) {
        self.disk.lock().pending_reports.statuses.push(CommandStatus {
            cmd_id: command,
            status: command_status::Status::Failed as i32,
            r#type: kind as i32,
            msg: Some("a source is gone".to_owned()),
            block_deletion_ack: None,
        });
        self.notify.notify_one();
    }

    /// A replica has arrived from another node.
    pub fn take(&self, replica: ContainerReplicaProto) {
        let mut disk = self.disk.lock();
        disk.containers.insert(replica.container_id as u64, replica.clone());
        disk.pending_reports.replicas.push(replica);
        drop(disk);
        self.notify.notify_one();
    }

    /// Reports the container as full.
    pub fn is_full(&self, container: ContainerId) {
        self.disk.lock().pending_reports.actions.push(ContainerAction {
            container_id: container.to_wire(),
            action: container_action::Action::Close as i32,
            reason: Some(container_action::Reason::ContainerFull as i32),
        });
        self.notify.notify_one();
    }

    /// The operational state that SCM sent to the node.
    pub fn op_state(&self) -> types::OperationalState {
        self.session.details.lock().op_state
    }

    /// The state of a replica, `None` when there is none.
    pub fn state(&self, container: ContainerId) -> Option<State> {
        self.disk.lock().containers.get(&container.0).map(|r| r.state())
    }
}

struct Session {
    client: Client,
    details: Mutex<DatanodeDetails>,
    disk: Arc<Mutex<Disk>>,
    notify: Arc<Notify>,
}

impl Session {
    async fn call(&self, request: ScmDatanodeRequest) -> Option<ScmDatanodeResponse> {
        let method = method::SCM_DATANODE;
        framed::message::call(&self.client, method, &request, testkit::LIMIT).await.ok()
    }

    async fn register(&self) {
        let request = {
            let disk = self.disk.lock();
            let one = |(id, leads): (&PipelineId, &bool)| PipelineReport {
                pipeline_id: id.to_wire(),
                is_leader: *leads,
                bytes_written: None,
            };
            ScmDatanodeRequest {
                cmd_type: Type::Register as i32,
                register_request: Some(ScmRegisterRequestProto {
                    datanode_details: self.details.lock().to_wire(),
                    node_report: node_report(),
                    container_report: ContainerReportsProto {
                        reports: disk.containers.values().cloned().collect(),
                    },
                    pipeline_reports: PipelineReportsProto {
                        pipeline_report: disk.pipelines.iter().map(one).collect(),
                    },
                    data_node_layout_version: None,
                }),
                ..Default::default()
            }
        };
        let response = self.call(request).await.unwrap();
        assert_eq!(response.status(), Status::Ok, "{response:?}");
    }

    async fn report(&self) {
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = self.notify.notified() => {}
            }
            let pending_reports = std::mem::take(&mut self.disk.lock().pending_reports);
            let mut beat = self.beat();
            beat.node_report = Some(node_report());
            if !pending_reports.pipelines.is_empty() {
                beat.pipeline_reports =
                    Some(PipelineReportsProto { pipeline_report: pending_reports.pipelines });
            }
            if !pending_reports.replicas.is_empty() {
                beat.incremental_container_report =
                    vec![IncrementalContainerReportProto { report: pending_reports.replicas }];
            }
            if !pending_reports.statuses.is_empty() {
                beat.command_status_reports =
                    vec![CommandStatusReportsProto { cmd_status: pending_reports.statuses }];
            }
            if !pending_reports.actions.is_empty() {
                beat.container_actions =
                    Some(ContainerActionsProto { container_actions: pending_reports.actions });
            }
            self.send(beat).await;
        }
    }

    async fn wait(&self) {
        loop {
            if !self.send(self.beat()).await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    fn beat(&self) -> ScmHeartbeatRequestProto {
        ScmHeartbeatRequestProto {
            datanode_details: self.details.lock().to_wire(),
            ..Default::default()
        }
    }

    async fn send(&self, beat: ScmHeartbeatRequestProto) -> bool {
        let request = ScmDatanodeRequest {
            cmd_type: Type::SendHeartbeat as i32,
            send_heartbeat_request: Some(beat),
            ..Default::default()
        };
        let Some(response) = self.call(request).await else { return false };
        let Some(answer) = response.send_heartbeat_response else { return false };
        for command in answer.commands {
            if command.reregister_command_proto.is_some() {
                self.register().await;
            } else {
                self.carry_out(command);
            }
        }
        true
    }

    fn carry_out(&self, command: ScmCommandProto) {
        let mut disk = self.disk.lock();
        if let Some(create) = command.create_pipeline_command_proto {
            let id = PipelineId::from_wire(&create.pipeline_id).unwrap();
            let me = create
                .datanode
                .iter()
                .position(|d| DatanodeDetails::from_wire(d).unwrap().id == self.details.lock().id)
                .unwrap();
            // The highest priority leads.
            let leads = create.priority[me] == *create.priority.iter().max().unwrap();
            disk.pipelines.insert(id, leads);
            disk.pending_reports.pipelines.push(PipelineReport {
                pipeline_id: id.to_wire(),
                is_leader: leads,
                bytes_written: None,
            });
        } else if let Some(close) = command.close_pipeline_command_proto {
            disk.pipelines.remove(&PipelineId::from_wire(&close.pipeline_id).unwrap());
        } else if let Some(close) = command.close_container_command_proto {
            if let Some(replica) = disk.containers.get_mut(&(close.container_id as u64)) {
                replica.state = State::Closed as i32;
                let replica = replica.clone();
                disk.pending_reports.replicas.push(replica);
            }
        } else if let Some(delete) = command.delete_container_command_proto {
            let id = delete.container_id as u64;
            let is_meant = disk.containers.get(&id).is_some_and(|replica| {
                delete.replica_index.is_none_or(|index| replica.replica_index == Some(index))
            });
            if is_meant && let Some(mut replica) = disk.containers.remove(&id) {
                replica.state = State::Deleted as i32;
                disk.pending_reports.replicas.push(replica);
            }
        } else if let Some(copy) = command.replicate_container_command_proto {
            let target = DatanodeDetails::from_wire(&copy.target.unwrap()).unwrap().id;
            let replica = disk.containers.get(&(copy.container_id as u64)).cloned();
            if let Some(replica) = replica {
                disk.pushed.push((target, replica));
            }
        } else if let Some(made) = command.reconstruct_ec_containers_command_proto {
            disk.reconstructions.push((made, command.deadline_ms_since_epoch));
        } else if let Some(reconcile) = command.reconcile_container_command_proto {
            disk.reconciliations.push((reconcile, command.term));
        } else if let Some(set) = command.set_node_operational_state_command_proto {
            let mut details = self.details.lock();
            details.op_state = types::OperationalState::from_wire(set.node_operational_state);
            details.op_state_expiry = set.state_expiry_epoch_seconds;
        } else if let Some(delete) = command.delete_blocks_command_proto {
            self.delete_blocks(&mut disk, delete);
        }
        drop(disk);
        self.notify.notify_one();
    }

    fn delete_blocks(&self, disk: &mut Disk, delete: DeleteBlocksCommandProto) {
        let mut results = Vec::new();
        for t in delete.deleted_blocks_transactions {
            disk.transactions.push(t.clone());
            if let Some(replica) = disk.containers.get_mut(&(t.container_id as u64)) {
                let left = replica.key_count() - t.local_id.len() as i64;
                replica.key_count = Some(left.max(0));
                replica.is_empty = Some(left <= 0);
                replica.delete_transaction_id = Some(replica.delete_transaction_id().max(t.tx_id));
                let replica = replica.clone();
                disk.pending_reports.replicas.push(replica);
            }
            disk.deleted.extend(t.local_id);
            results.push(container_blocks_deletion_ack_proto::DeleteBlockTransactionResult {
                tx_id: t.tx_id,
                container_id: t.container_id,
                success: disk.acknowledges,
            });
        }
        disk.pending_reports.statuses.push(CommandStatus {
            cmd_id: delete.cmd_id,
            status: command_status::Status::Executed as i32,
            r#type: scm_command_proto::Type::DeleteBlocksCommand as i32,
            msg: None,
            block_deletion_ack: Some(ContainerBlocksDeletionAckProto {
                results,
                dn_id: self.details.lock().id.to_string(),
            }),
        });
    }
}

fn node_report() -> NodeReportProto {
    NodeReportProto {
        storage_report: vec![StorageReportProto {
            storage_uuid: "DS-1".to_owned(),
            storage_location: "/data".to_owned(),
            capacity: Some(1 << 40),
            scm_used: Some(1 << 20),
            remaining: Some(1 << 39),
            ..Default::default()
        }],
        ..Default::default()
    }
}
