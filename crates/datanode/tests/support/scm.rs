//! An SCM that records reports and sends the commands of the test.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use framed::{Call, Handler, HandlerFuture, Reply, Server, ServerOptions, Status};
use futures::FutureExt;
use parking_lot::Mutex;
use proto::scm_datanode as wire;
use proto::scm_datanode::container_replica_proto::State as ReplicaState;
use tokio::net::TcpSocket;
use tokio::sync::watch;
use types::{DatanodeDetails, DatanodeId, PipelineId, ReplicationFactor};

pub const CLUSTER: &str = "CID-datanode-test";

/// Longest wait for anything.
const TIMEOUT: Duration = testkit::LIMIT;

#[derive(Default)]
pub struct Known {
    pub nodes: HashMap<DatanodeId, DatanodeDetails>,
    pub registrations: HashMap<DatanodeId, usize>,
    pub replicas: HashMap<(DatanodeId, i64), wire::ContainerReplicaProto>,
    pub pipelines: HashMap<PipelineId, HashMap<DatanodeId, bool>>,
    pub full: HashSet<i64>,
    pub failed: HashMap<PipelineId, String>,
    pub statuses: Vec<(DatanodeId, wire::CommandStatus)>,
    pub storage: HashMap<DatanodeId, Vec<wire::StorageReportProto>>,
    pub logs: HashMap<DatanodeId, Vec<wire::MetadataStorageReportProto>>,
    /// Nodes that are cut off from this SCM.
    pub cut: HashSet<DatanodeId>,
    /// Heartbeats with a report.
    pub beats: usize,
    /// Its list of the SCMs of its service.
    pub places: Option<proto::hdds::ScmPlacesProto>,
    queues: HashMap<DatanodeId, Vec<wire::ScmCommandProto>>,
    /// Waiting heartbeats of each node so far: only the newest one is given commands, those of a
    /// process that has ended none.
    waiting: HashMap<DatanodeId, u64>,
    next: i64,
}

#[derive(Clone)]
pub struct Scm {
    known: Arc<Mutex<Known>>,
    changed: watch::Sender<u64>,
    pub cluster: String,
}

pub struct RunningScm {
    pub scm: Scm,
    server: Option<Server>,
    pub address: SocketAddr,
    /// Bound while nothing listens there, so that no other test gets the port.
    reserved: Option<TcpSocket>,
}

impl RunningScm {
    pub async fn start() -> Self {
        Self::start_for(CLUSTER).await
    }

    pub async fn start_for(cluster: &str) -> Self {
        let changed = watch::Sender::new(0);
        let scm = Scm { known: Arc::default(), changed, cluster: cluster.to_owned() };
        let server = Self::serve(&scm, "127.0.0.1:0").await;
        Self { address: server.local_addr(), server: Some(server), scm, reserved: None }
    }

    async fn serve(scm: &Scm, address: &str) -> Server {
        let handler = Arc::new(scm.clone());
        Server::bind(address, handler, ServerOptions::default()).await.unwrap()
    }

    /// Stops; its records are lost.
    pub async fn stop(&mut self) {
        self.server.take().unwrap().shutdown().await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(self.address).unwrap();
        self.reserved = Some(socket);
        *self.scm.known.lock() = Known::default();
    }

    /// Comes back at the same address.
    pub async fn restart(&mut self) {
        self.reserved = None;
        self.server = Some(Self::serve(&self.scm, &self.address.to_string()).await);
    }
}

impl Scm {
    pub fn with<T>(&self, f: impl FnOnce(&mut Known) -> T) -> T {
        f(&mut self.known.lock())
    }

    /// Waits until `look` finds something in what is known.
    pub async fn wait<T>(&self, what: &str, look: impl Fn(&Known) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        let found = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = look(&self.known.lock()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(TIMEOUT, found).await {
            Ok(found) => found,
            Err(_) => {
                let replicas: Vec<_> = self.with(|known| {
                    let state = |r: &wire::ContainerReplicaProto| r.state().as_str_name();
                    let line = |(k, r): (&(DatanodeId, i64), _)| (k.0, k.1, state(r));
                    known.replicas.iter().map(line).collect()
                });
                panic!("SCM timed out waiting for: {what}; replicas: {replicas:?}")
            }
        }
    }

    pub async fn wait_for_nodes(&self, count: usize) {
        self.wait("registrations", |known| (known.nodes.len() >= count).then_some(())).await;
    }

    /// Waits until a node has a replica, and so all that its pipeline had applied to it by then.
    pub async fn wait_for_container(&self, node: DatanodeId, container: i64) {
        self.wait(&format!("container {container} on {node}"), |known| {
            known.replicas.contains_key(&(node, container)).then_some(())
        })
        .await;
    }

    /// Waits until a replica is in a state.
    pub async fn wait_for_replica(&self, node: DatanodeId, container: i64, state: ReplicaState) {
        self.wait(&format!("container {container} {state:?} on {node}"), |known| {
            let replica = known.replicas.get(&(node, container))?;
            (replica.state() == state).then_some(())
        })
        .await;
    }

    pub async fn wait_for_leader(
        &self,
        pipeline: PipelineId,
        but: Option<DatanodeId>,
    ) -> DatanodeId {
        self.wait("a leader", |known| {
            let members = known.pipelines.get(&pipeline)?;
            members.iter().find(|(id, leads)| **leads && Some(**id) != but).map(|(id, _)| *id)
        })
        .await
    }

    /// From now on SCM and this node do not hear each other.
    pub fn cut(&self, node: DatanodeId) {
        self.with(|known| known.cut.insert(node));
        // A heartbeat that waits for commands is answered, the next one is not.
        self.changed.send_modify(|n| *n += 1);
    }

    /// Returns `true` if a message is of a node that is cut off. The version request names no node.
    fn is_cut(&self, request: &wire::ScmDatanodeRequest) -> bool {
        let beat = request.send_heartbeat_request.as_ref().map(|beat| &beat.datanode_details);
        let registers = request.register_request.as_ref().map(|r| &r.datanode_details);
        let details = beat.or(registers).map(|d| DatanodeDetails::from_wire(d).unwrap());
        self.with(|known| details.map_or(!known.cut.is_empty(), |d| known.cut.contains(&d.id)))
    }

    fn next_id(&self) -> i64 {
        self.with(|known| {
            known.next += 1;
            known.next
        })
    }

    pub fn send(&self, to: DatanodeId, command: wire::ScmCommandProto) {
        self.with(|known| known.queues.entry(to).or_default().push(command));
        self.changed.send_modify(|n| *n += 1);
    }

    /// Has a pipeline made of these nodes, the first of them preferred as the leader; waits until
    /// all of them have it and it has a leader.
    pub async fn create_pipeline(&self, members: &[DatanodeId]) -> (PipelineId, DatanodeId) {
        let id = PipelineId::random();
        self.send_create_pipeline(id, members);
        let count = members.len();
        self.wait("all members", |known| (known.pipelines.get(&id)?.len() == count).then_some(()))
            .await;
        (id, self.wait_for_leader(id, None).await)
    }

    pub fn send_create_pipeline(&self, id: PipelineId, members: &[DatanodeId]) {
        let datanode: Vec<_> =
            self.with(|known| members.iter().map(|id| known.nodes[id].to_wire()).collect());
        let factor =
            if members.len() == 1 { ReplicationFactor::One } else { ReplicationFactor::Three };
        let priority = (0..members.len() as i32).rev().collect();
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::CreatePipelineCommand as i32,
            create_pipeline_command_proto: Some(wire::CreatePipelineCommandProto {
                storage_type: None,
                pipeline_id: id.to_wire(),
                r#type: proto::hdds::ReplicationType::Ratis as i32,
                factor: factor.to_wire() as i32,
                datanode,
                cmd_id: self.next_id(),
                priority,
            }),
            ..Default::default()
        };
        members.iter().for_each(|member| self.send(*member, command.clone()));
    }

    pub fn send_close_pipeline(&self, to: DatanodeId, id: PipelineId) {
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::ClosePipelineCommand as i32,
            close_pipeline_command_proto: Some(wire::ClosePipelineCommandProto {
                pipeline_id: id.to_wire(),
                cmd_id: self.next_id(),
            }),
            ..Default::default()
        };
        self.send(to, command);
    }

    pub fn send_close_container(
        &self,
        to: DatanodeId,
        container: i64,
        pipeline: PipelineId,
        force: bool,
    ) {
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::CloseContainerCommand as i32,
            close_container_command_proto: Some(wire::CloseContainerCommandProto {
                container_id: container,
                pipeline_id: pipeline.to_wire(),
                cmd_id: self.next_id(),
                force: Some(force),
            }),
            ..Default::default()
        };
        self.send(to, command);
    }

    /// Has a container copied from a node to another one.
    pub fn send_replicate(&self, from: DatanodeId, container: i64, to: DatanodeId) {
        let target = self.with(|known| known.nodes[&to].to_wire());
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::ReplicateContainerCommand as i32,
            replicate_container_command_proto: Some(wire::ReplicateContainerCommandProto {
                storage_type: None,
                container_id: container,
                sources: Vec::new(),
                cmd_id: self.next_id(),
                replica_index: None,
                target: Some(target),
                priority: None,
            }),
            ..Default::default()
        };
        self.send(from, command);
    }

    /// Has replica indexes rebuilt by the first target; returns what it says in the end.
    pub async fn reconstruct(
        &self,
        container: i64,
        config: types::replication::EcConfig,
        sources: &[(u32, DatanodeId)],
        targets: &[(u32, DatanodeId)],
    ) -> wire::CommandStatus {
        let details = |node: &DatanodeId| self.with(|known| known.nodes[node].to_wire());
        let source =
            |(index, node): &(u32, DatanodeId)| wire::DatanodeDetailsAndReplicaIndexProto {
                datanode_details: details(node),
                replica_index: *index as i32,
            };
        let cmd_id = self.next_id();
        let part = wire::ReconstructEcContainersCommandProto {
            storage_type: None,
            container_id: container,
            sources: sources.iter().map(source).collect(),
            targets: targets.iter().map(|(_, node)| details(node)).collect(),
            missing_container_indexes: targets.iter().map(|(index, _)| *index as u8).collect(),
            ec_replication_config: config.to_wire(),
            cmd_id,
        };
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::ReconstructEcContainersCommand as i32,
            reconstruct_ec_containers_command_proto: Some(part),
            ..Default::default()
        };
        self.send(targets[0].1, command);
        self.wait("what became of a reconstruction", |known| {
            let mut all = known.statuses.iter().map(|(_, status)| status);
            all.find(|status| status.cmd_id == cmd_id).cloned()
        })
        .await
    }

    /// Waits until a node has reported the outcome of `count` copies.
    pub async fn wait_for_statuses(
        &self,
        node: DatanodeId,
        count: usize,
    ) -> Vec<wire::CommandStatus> {
        let kind = wire::scm_command_proto::Type::ReplicateContainerCommand;
        self.wait("statuses of copies", |known| {
            let all = known.statuses.iter().filter(|(n, s)| *n == node && s.r#type() == kind);
            let all: Vec<_> = all.map(|(_, s)| s.clone()).collect();
            (all.len() >= count).then_some(all)
        })
        .await
    }

    /// Has a replica reconciled with those of other nodes.
    pub fn send_reconcile(&self, to: DatanodeId, container: i64, peers: &[DatanodeId]) {
        let peers = self.with(|known| peers.iter().map(|id| known.nodes[id].to_wire()).collect());
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::ReconcileContainerCommand as i32,
            reconcile_container_command_proto: Some(wire::ReconcileContainerCommandProto {
                container_id: container,
                peers,
            }),
            ..Default::default()
        };
        self.send(to, command);
    }

    pub fn send_delete_container(&self, to: DatanodeId, container: i64) {
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::DeleteContainerCommand as i32,
            delete_container_command_proto: Some(wire::DeleteContainerCommandProto {
                container_id: container,
                cmd_id: self.next_id(),
                force: true,
                replica_index: None,
            }),
            ..Default::default()
        };
        self.send(to, command);
    }

    /// Has blocks deleted; waits for the acknowledgement and returns whether it succeeded.
    pub async fn delete_blocks(
        &self,
        to: DatanodeId,
        container: i64,
        tx_id: i64,
        blocks: &[i64],
    ) -> bool {
        let cmd_id = self.next_id();
        let command = wire::ScmCommandProto {
            command_type: wire::scm_command_proto::Type::DeleteBlocksCommand as i32,
            delete_blocks_command_proto: Some(wire::DeleteBlocksCommandProto {
                deleted_blocks_transactions: vec![wire::DeletedBlocksTransaction {
                    tx_id,
                    container_id: container,
                    local_id: blocks.to_vec(),
                    ..Default::default()
                }],
                cmd_id,
            }),
            ..Default::default()
        };
        self.send(to, command);
        self.wait("a deletion's acknowledgement", |known| {
            let acks = known.statuses.iter().filter(|(node, s)| *node == to && s.cmd_id == cmd_id);
            let ack = acks.filter_map(|(_, status)| status.block_deletion_ack.as_ref()).next()?;
            Some(ack.results.iter().all(|result| result.success))
        })
        .await
    }

    fn learn(&self, beat: &wire::ScmHeartbeatRequestProto, node: DatanodeId) {
        self.with(|known| {
            for report in &beat.incremental_container_report {
                learn_replicas(known, node, &report.report);
            }
            known.beats += 1;
            if let Some(all) = &beat.container_report {
                known.replicas.retain(|(id, _), _| *id != node);
                learn_replicas(known, node, &all.reports);
            }
            learn_pipelines(known, node, beat.pipeline_reports.as_ref());
            for report in &beat.command_status_reports {
                known.statuses.extend(report.cmd_status.iter().map(|s| (node, s.clone())));
            }
            if let Some(actions) = &beat.container_actions {
                known.full.extend(actions.container_actions.iter().map(|a| a.container_id));
            }
            for action in beat.pipeline_actions.iter().flat_map(|a| &a.pipeline_actions) {
                let close = action.close_pipeline.as_ref().unwrap();
                let id = PipelineId::from_wire(&close.pipeline_id).unwrap();
                known.failed.insert(id, close.detailed_reason().to_owned());
            }
            if let Some(report) = &beat.node_report {
                known.storage.insert(node, report.storage_report.clone());
                known.logs.insert(node, report.metadata_storage_report.clone());
            }
        });
        self.changed.send_modify(|n| *n += 1);
    }

    async fn answer(self, request: wire::ScmDatanodeRequest) -> wire::ScmDatanodeResponse {
        let mut response = wire::ScmDatanodeResponse {
            cmd_type: request.cmd_type,
            status: wire::Status::Ok as i32,
            ..Default::default()
        };
        if request.get_version_request.is_some() {
            response.get_version_response = Some(wire::ScmVersionResponseProto {
                software_version: 1,
                keys: vec![proto::hdds::KeyValue {
                    key: "clusterID".into(),
                    value: Some(self.cluster.clone()),
                }],
            });
        }
        if let Some(register) = request.register_request {
            let details = DatanodeDetails::from_wire(&register.datanode_details).unwrap();
            let node = details.id;
            self.with(|known| {
                known.nodes.insert(node, details);
                *known.registrations.entry(node).or_default() += 1;
                // Heartbeats of before that are of its last process.
                *known.waiting.entry(node).or_default() += 1;
                known.replicas.retain(|(id, _), _| *id != node);
                learn_replicas(known, node, &register.container_report.reports);
                learn_pipelines(known, node, Some(&register.pipeline_reports));
                known.storage.insert(node, register.node_report.storage_report.clone());
                known.logs.insert(node, register.node_report.metadata_storage_report.clone());
            });
            self.changed.send_modify(|n| *n += 1);
            response.register_response = Some(wire::ScmRegisteredResponseProto {
                error_code: wire::scm_registered_response_proto::ErrorCode::Success as i32,
                datanode_uuid: node.to_string(),
                cluster_id: self.cluster.clone(),
                ..Default::default()
            });
        }
        if let Some(beat) = request.send_heartbeat_request {
            let node = DatanodeDetails::from_wire(&beat.datanode_details).unwrap().id;
            let commands = self.heartbeat(node, &beat).await;
            response.send_heartbeat_response = Some(wire::ScmHeartbeatResponseProto {
                datanode_uuid: node.to_string(),
                commands,
                term: Some(1),
                scms: self.with(|known| known.places.clone()),
            });
        }
        response
    }

    async fn heartbeat(
        &self,
        node: DatanodeId,
        beat: &wire::ScmHeartbeatRequestProto,
    ) -> Vec<wire::ScmCommandProto> {
        if !self.with(|known| known.nodes.contains_key(&node)) {
            return vec![wire::ScmCommandProto {
                command_type: wire::scm_command_proto::Type::ReregisterCommand as i32,
                ..Default::default()
            }];
        }
        if beat.node_report.is_some() {
            self.learn(beat, node);
            return Vec::new();
        }
        // A waiting heartbeat.
        let mut changed = self.changed.subscribe();
        let mine = self.with(|known| {
            let waiting = known.waiting.entry(node).or_default();
            *waiting += 1;
            *waiting
        });
        let waiting = async {
            loop {
                changed.borrow_and_update();
                let commands = self.with(|known| match known.waiting.get(&node) == Some(&mine) {
                    true => known.queues.remove(&node).unwrap_or_default(),
                    false => Vec::new(),
                });
                if !commands.is_empty() {
                    return commands;
                }
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap_or_default()
    }
}

fn learn_replicas(known: &mut Known, node: DatanodeId, replicas: &[wire::ContainerReplicaProto]) {
    for replica in replicas {
        known.replicas.insert((node, replica.container_id), replica.clone());
    }
}

fn learn_pipelines(
    known: &mut Known,
    node: DatanodeId,
    reports: Option<&wire::PipelineReportsProto>,
) {
    for report in reports.iter().flat_map(|reports| &reports.pipeline_report) {
        let id = PipelineId::from_wire(&report.pipeline_id).unwrap();
        known.pipelines.entry(id).or_default().insert(node, report.is_leader);
    }
}

impl Handler for Scm {
    fn call(&self, call: Call) -> HandlerFuture {
        let scm = self.clone();
        async move {
            if call.method != proto::method::SCM_DATANODE {
                return Err(Status::invalid("not for datanodes"));
            }
            let request: wire::ScmDatanodeRequest = framed::message::decode(call.header)?;
            if scm.is_cut(&request) {
                return Err(Status::new(framed::Code::Unavailable, "the link is cut"));
            }
            let response = scm.answer(request).await;
            Ok::<Reply, Status>(framed::message::reply(&response))
        }
        .boxed()
    }
}
