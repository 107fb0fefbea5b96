//! An SCM on free ports of the loopback interface, its client, and DataNodes around it.

use std::path::Path;
use std::time::Duration;

use config::Configuration;
use framed::{Client, ClientOptions};
use proto::block_location::{
    AllocateBlockResponse, AllocateScmBlockRequestProto, DeleteScmKeyBlocksRequestProto, KeyBlocks,
    ScmBlockLocationRequest, ScmBlockLocationResponse, Type as BlockType,
};
use proto::container_location::{
    ScmContainerLocationRequest, ScmContainerLocationResponse, SingleNodeQueryRequestProto,
    Type as LocationType,
};
use proto::hdds::{self, ExcludeListProto};
use proto::method;
use scm::{Scm, ScmHandle};
use tempfile::TempDir;
use testkit::until;
use types::{Pipeline, ReplicationConfig};

use crate::datanode::FakeDatanode;

pub const THREE: ReplicationConfig = ReplicationConfig::RATIS_THREE;

const TIMEOUT: Duration = testkit::LIMIT;

/// Settings for tests: free ports, small intervals.
pub fn configuration(dir: &Path) -> Configuration {
    let mut conf = Configuration::default();
    for (key, value) in [
        ("ozone.scm.client.address", "127.0.0.1:0"),
        ("ozone.scm.block.client.address", "127.0.0.1:0"),
        ("ozone.scm.datanode.address", "127.0.0.1:0"),
        ("ozone.scm.http-address", "127.0.0.1:0"),
        // Dropped nodes are dead soon; those delayed by a busy machine are not.
        ("ozone.scm.stale.node.interval", "300s"),
        ("ozone.scm.dead.node.interval", "600s"),
        ("ozone.scm.heartbeat.thread.interval", "100ms"),
        ("hdds.heartbeat.interval", "100ms"),
        ("ozone.scm.pipeline.creation.auto.factor.one", "false"),
        ("ozone.scm.sequence.id.batch.size", "1000"),
        ("hdds.scm.wait.time.after.safemode.exit", "0s"),
    ] {
        conf = conf.with(key, value);
    }
    conf.with("ozone.scm.db.dirs", dir.display())
}

/// A running SCM with its directory.
pub struct Harness {
    pub dir: TempDir,
    pub conf: Configuration,
    pub scm: ScmHandle,
    pub client: Client,
}

impl Harness {
    /// Response of the web port, including the header.
    pub async fn http_get(&self, path: &str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let address = self.scm.addresses().http.unwrap();
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    }

    pub async fn start() -> Self {
        Self::start_with(|conf| conf).await
    }

    pub async fn start_with(change: impl FnOnce(Configuration) -> Configuration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let conf = change(configuration(dir.path()));
        Self::open(dir, conf).await
    }

    async fn open(dir: TempDir, conf: Configuration) -> Self {
        let scm = Scm::start(&conf).await.unwrap();
        let address = scm.addresses().client.to_string();
        let client = Client::new(address, ClientOptions::default());
        Self { dir, conf, scm, client }
    }

    /// Stops gracefully and starts again.
    pub async fn restart(self) -> Self {
        let Self { dir, conf, scm, .. } = self;
        scm.shutdown().await;
        Self::open(dir, conf).await
    }

    /// Starts another SCM on what a crash at this moment would leave on the disk.
    pub async fn crash(self) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), copy.path());
        let conf = self.conf.with("ozone.scm.db.dirs", copy.path().display());
        let crashed = Self::open(copy, conf).await;
        self.scm.shutdown().await;
        crashed
    }

    /// Starts DataNodes and waits for a RATIS/THREE pipeline.
    pub async fn datanodes(&self, count: usize) -> Vec<FakeDatanode> {
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(FakeDatanode::start(self.scm.addresses().datanode).await);
        }
        if count >= 3 {
            tokio::time::timeout(TIMEOUT, self.scm.ready_for(THREE)).await.unwrap();
        }
        nodes
    }

    /// Ends a node; SCM takes it for dead.
    pub async fn dies(&self, node: FakeDatanode) {
        let id = node.id;
        drop(node);
        until("the node is dead", async || {
            // A heartbeat of it may still arrive.
            self.scm.silence(id);
            let response = self.location(LocationType::SingleNodeQuery, |r| {
                r.single_node_query_request =
                    Some(SingleNodeQueryRequestProto { uuid: types::ids::uuid_to_wire(id.0) });
            });
            let node = response.await.single_node_query_response.unwrap().datanode.unwrap();
            node.node_states == [hdds::NodeState::Dead as i32]
        })
        .await;
    }

    pub async fn location(
        &self,
        kind: LocationType,
        fill: impl FnOnce(&mut ScmContainerLocationRequest),
    ) -> ScmContainerLocationResponse {
        let mut request =
            ScmContainerLocationRequest { cmd_type: kind as i32, ..Default::default() };
        fill(&mut request);
        let method = method::SCM_CONTAINER_LOCATION;
        framed::message::call(&self.client, method, &request, TIMEOUT).await.unwrap()
    }

    pub async fn block(
        &self,
        kind: BlockType,
        fill: impl FnOnce(&mut ScmBlockLocationRequest),
    ) -> ScmBlockLocationResponse {
        let mut request = ScmBlockLocationRequest { cmd_type: kind as i32, ..Default::default() };
        fill(&mut request);
        framed::message::call(&self.client, method::SCM_BLOCK, &request, TIMEOUT).await.unwrap()
    }

    pub async fn try_allocate(
        &self,
        count: u32,
        exclude: Option<ExcludeListProto>,
    ) -> ScmBlockLocationResponse {
        self.block(BlockType::AllocateScmBlock, |r| {
            r.allocate_scm_block_request = Some(AllocateScmBlockRequestProto {
                size: 256 << 20,
                num_blocks: count,
                r#type: THREE.wire_type() as i32,
                factor: THREE.wire_factor().map(|f| f as i32),
                owner: "omServiceIdDefault".to_owned(),
                exclude_list: exclude,
                ..Default::default()
            });
        })
        .await
    }

    pub async fn allocate(&self, count: u32) -> Vec<AllocateBlockResponse> {
        let response = self.try_allocate(count, None).await;
        assert!(response.success(), "{:?}", response.message);
        response.allocate_scm_block_response.unwrap().blocks
    }

    pub async fn delete(&self, key: &str, blocks: Vec<hdds::BlockId>) -> ScmBlockLocationResponse {
        self.block(BlockType::DeleteScmKeyBlocks, |r| {
            r.delete_scm_key_blocks_request = Some(DeleteScmKeyBlocksRequestProto {
                key_blocks: vec![KeyBlocks {
                    key: key.to_owned(),
                    size: vec![100; blocks.len()],
                    replicated_size: vec![300; blocks.len()],
                    size_per_replica: vec![100; blocks.len()],
                    blocks,
                }],
            });
        })
        .await
    }

    pub async fn pipelines(&self) -> Vec<Pipeline> {
        let response = self
            .location(LocationType::ListPipelines, |r| {
                r.list_pipeline_request = Some(Default::default());
            })
            .await;
        let pipelines = response.list_pipeline_response.unwrap().pipelines;
        pipelines.iter().map(|p| Pipeline::from_wire(p).unwrap()).collect()
    }

    pub async fn container(&self, id: i64) -> Option<hdds::ContainerInfoProto> {
        let response = self
            .location(LocationType::GetContainer, |r| {
                r.get_container_request =
                    Some(proto::container_location::GetContainerRequestProto {
                        container_id: id,
                        trace_id: None,
                    });
            })
            .await;
        response.get_container_response.map(|r| r.container_info)
    }

    /// Number of a container's replicas in SCM.
    pub async fn replicas(&self, id: i64) -> usize {
        let response = self
            .location(LocationType::GetContainerReplicas, |r| {
                r.get_container_replicas_request =
                    Some(proto::container_location::GetContainerReplicasRequestProto {
                        container_id: id,
                        ..Default::default()
                    });
            })
            .await;
        let replicas = response.get_container_replicas_response;
        replicas.map_or(0, |r| r.container_replica.len())
    }

    /// Transactions in the deletion log.
    pub async fn deletions(&self) -> u64 {
        let kind = LocationType::GetDeletedBlocksTransactionSummary;
        let response = self
            .location(kind, |r| {
                r.get_deleted_blocks_txn_summary_request = Some(Default::default());
            })
            .await;
        let summary = response.get_deleted_blocks_txn_summary_response.unwrap().summary.unwrap();
        summary.total_transaction_count()
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
