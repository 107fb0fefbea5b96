//! DataNodes of one process around an SCM of the test.

pub mod client;
pub mod groups;
pub mod ratis;
pub mod scm;

use std::path::{Path, PathBuf};

use config::Configuration;
use datanode::{Datanode, DatanodeHandle, DatanodeOptions};
use tempfile::TempDir;
use testkit::until;
use types::{DatanodeId, PipelineId, PortName};

pub use client::{Pipe, Problem, block, bytes, chunk_info};
pub use groups::Groups;
pub use scm::RunningScm;

/// A DataNode that can go and come back.
pub struct Node {
    pub conf: Configuration,
    pub dir: PathBuf,
    pub id: DatanodeId,
    pub handle: Option<DatanodeHandle>,
}

/// Some DataNodes and their SCM.
pub struct Cluster {
    pub scm: RunningScm,
    pub nodes: Vec<Node>,
    _dir: TempDir,
}

/// Settings of a DataNode under test: loopback, any free ports, quick elections.
pub fn conf(dir: &Path, disks: usize, scm: std::net::SocketAddr) -> Configuration {
    let disks: Vec<_> =
        (0..disks).map(|i| dir.join(format!("disk{i}")).display().to_string()).collect();
    let settings = [
        ("hdds.datanode.dir", disks.join(",")),
        ("ozone.metadata.dirs", dir.join("meta").display().to_string()),
        ("trioxide.datanode.bind.host", "127.0.0.1".into()),
        ("hdds.container.ipc.random.port", "true".into()),
        ("hdds.container.ratis.ipc.random.port", "true".into()),
        ("hdds.datanode.http-address", "127.0.0.1:0".into()),
        ("ozone.scm.datanode.address", scm.to_string()),
        ("hdds.heartbeat.interval", "200ms".into()),
        ("hdds.ratis.leader.election.minimum.timeout.duration", "500ms".into()),
        ("hdds.datanode.volume.min.free.space", "1MB".into()),
    ];
    let empty = Configuration::builder().build().unwrap();
    settings.iter().fold(empty, |conf, (key, value)| conf.with(key, value))
}

impl Node {
    pub async fn start(conf: Configuration, dir: PathBuf) -> Self {
        let handle = Datanode::start(&conf, DatanodeOptions::default()).await.unwrap();
        handle.ready().await.unwrap();
        Self { conf, dir, id: handle.id(), handle: Some(handle) }
    }

    pub async fn stop(&mut self) {
        self.handle.take().unwrap().shutdown().await;
    }

    pub async fn restart(&mut self) {
        self.try_restart().await.unwrap();
    }

    pub async fn try_restart(&mut self) -> Result<(), datanode::DatanodeError> {
        let handle = Datanode::start(&self.conf, DatanodeOptions::default()).await?;
        handle.ready().await.unwrap();
        self.handle = Some(handle);
        Ok(())
    }

    pub fn address(&self) -> String {
        let details = self.handle.as_ref().unwrap().details();
        details.address(&PortName::Native).unwrap()
    }
}

impl Cluster {
    pub async fn start(nodes: usize) -> Self {
        Self::start_with(nodes, |conf| conf).await
    }

    pub async fn start_with(count: usize, adapt: impl Fn(Configuration) -> Configuration) -> Self {
        testkit::log();
        let dir = tempfile::tempdir().unwrap();
        let scm = RunningScm::start().await;
        let mut nodes = Vec::new();
        for index in 0..count {
            let home = dir.path().join(format!("dn{index}"));
            nodes.push(Node::start(adapt(conf(&home, 2, scm.address)), home).await);
        }
        scm.scm.wait_for_nodes(count).await;
        Self { scm, nodes, _dir: dir }
    }

    pub fn ids(&self) -> Vec<DatanodeId> {
        self.nodes.iter().map(|node| node.id).collect()
    }

    pub fn node(&mut self, id: DatanodeId) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.id == id).unwrap()
    }

    /// A pipeline over all nodes, any of which may lead it.
    pub async fn pipeline(&self) -> Pipe {
        let (id, leader) = self.scm.scm.create_pipeline(&self.ids()).await;
        for node in &self.nodes {
            let raft = node.handle.as_ref().unwrap().raft().unwrap();
            until("every replica counts in elections", async || {
                let Some(group) = raft.group(id.0) else { return false };
                group.status().await.is_some_and(|status| !status.incomplete)
            })
            .await;
        }
        self.pipe(id, leader)
    }

    /// A client of a pipeline over all nodes that run.
    pub fn pipe(&self, id: PipelineId, leader: DatanodeId) -> Pipe {
        let running = self.nodes.iter().filter(|node| node.handle.is_some());
        let nodes: Vec<_> = running.map(|node| (node.id, node.address())).collect();
        Pipe::new(id, &nodes, leader)
    }

    pub async fn stop(mut self) {
        for node in &mut self.nodes {
            if let Some(handle) = node.handle.take() {
                handle.shutdown().await;
            }
        }
    }
}
