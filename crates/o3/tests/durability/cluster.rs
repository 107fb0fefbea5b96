//! An OM, an SCM and some DataNodes as processes of their own.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use client::{Client, ListContainers, ScmClient};
use config::Configuration;
use proto::hdds::LifeCycleState;
use types::ContainerId;

use super::client_of;
use crate::process::{Daemon, o3};

/// An OM, an SCM and some DataNodes as processes, the DataNodes in two racks.
pub struct Cluster {
    dir: tempfile::TempDir,
    scm: Daemon,
    om: Daemon,
    /// DataNodes by number; `None` for stopped ones.
    pub datanodes: Vec<Option<Daemon>>,
    /// Additional settings of the DataNodes.
    settings: &'static [(&'static str, &'static str)],
}

pub fn role(kind: &str, definitions: &[(&str, String)]) -> Command {
    let mut command = o3(&[kind, "--json"]);
    for (key, value) in definitions {
        command.args(["-D", &format!("{key}={value}")]);
    }
    command
}

fn folders_of(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

pub fn free() -> String {
    "127.0.0.1:0".to_owned()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

impl Cluster {
    pub fn start(nodes: usize) -> Self {
        Self::start_with(nodes, &[])
    }

    /// Starts a cluster with these additional settings of all DataNodes.
    pub fn start_with(nodes: usize, settings: &'static [(&'static str, &'static str)]) -> Self {
        Self::start_with_scm(nodes, settings, &[])
    }

    /// Starts a cluster with these additional settings of all DataNodes, and these of SCM.
    pub fn start_with_scm(
        nodes: usize,
        settings: &'static [(&'static str, &'static str)],
        of_scm: &[(&str, &str)],
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let racks = dir.path().join("racks");
        // One more may be added later.
        let lines = (0..=nodes).map(|n| format!("dn{n} /rack{}\n", n % 2));
        std::fs::write(&racks, lines.collect::<String>()).unwrap();
        let mut definitions = vec![
            ("ozone.metadata.dirs", text(&dir.path().join("scm"))),
            ("ozone.scm.client.address", free()),
            ("ozone.scm.block.client.address", free()),
            ("ozone.scm.datanode.address", free()),
            ("ozone.scm.http-address", free()),
            // Killed nodes are dead soon; nodes delayed by a busy machine are not.
            ("ozone.scm.stale.node.interval", "6s".to_owned()),
            ("ozone.scm.dead.node.interval", "12s".to_owned()),
            ("hdds.scm.replication.thread.interval", "1s".to_owned()),
            ("hdds.scm.wait.time.after.safemode.exit", "0s".to_owned()),
            ("ozone.scm.datanode.admin.monitor.interval", "1s".to_owned()),
            ("hdds.container.balancer.balancing.iteration.interval", "1s".to_owned()),
            (
                "net.topology.node.switch.mapping.impl",
                "org.apache.hadoop.net.TableMapping".to_owned(),
            ),
            ("net.topology.table.file.name", text(&racks)),
        ];
        definitions.extend(of_scm.iter().map(|(key, value)| (*key, (*value).to_owned())));
        let scm = Daemon::start(role("scm", &definitions));
        let om = Daemon::start(role(
            "om",
            &[
                ("ozone.metadata.dirs", text(&dir.path().join("om"))),
                ("ozone.scm.client.address", scm.address("client")),
                ("ozone.scm.block.client.address", scm.address("block")),
                ("ozone.om.address", free()),
                ("ozone.om.grpc.port", "0".to_owned()),
                ("ozone.om.http-address", free()),
            ],
        ));
        let mut cluster = Self { dir, scm, om, datanodes: Vec::new(), settings };
        for n in 0..nodes {
            let node = Daemon::start(cluster.datanode(n, &[]));
            cluster.datanodes.push(Some(node));
        }
        cluster
    }

    pub fn home(&self, n: usize) -> std::path::PathBuf {
        self.dir.path().join(format!("dn{n}"))
    }

    /// A DataNode with two disks and these additional settings.
    pub fn datanode(&self, n: usize, more: &[(&str, &str)]) -> Command {
        let home = self.home(n);
        let disks = format!("{},{}", text(&home.join("d1")), text(&home.join("d2")));
        let mut definitions = vec![
            ("ozone.metadata.dirs", text(&home.join("meta"))),
            ("hdds.datanode.dir", disks),
            ("hdds.datanode.hostname", format!("dn{n}")),
            ("trioxide.datanode.bind.host", "127.0.0.1".to_owned()),
            ("ozone.scm.datanode.address", self.scm.address("datanode")),
            ("hdds.container.ipc.random.port", "true".to_owned()),
            ("hdds.container.ratis.ipc.random.port", "true".to_owned()),
            // A pipeline whose other members have closed it is abandoned after half of that.
            ("ozone.scm.dead.node.interval", "40s".to_owned()),
            ("trioxide.datanode.port", "0".to_owned()),
            ("hdds.datanode.http-address", free()),
        ];
        definitions.extend(
            self.settings.iter().chain(more).map(|(key, value)| (*key, (*value).to_owned())),
        );
        role("datanode", &definitions)
    }

    /// SCM's address for clients.
    pub fn scm_address(&self) -> String {
        self.scm.address("client")
    }

    pub fn kill(&mut self, n: usize) {
        self.datanodes[n].take().unwrap().kill();
    }

    pub fn restart(&mut self, n: usize) {
        self.datanodes[n] = Some(Daemon::start(self.datanode(n, &[])));
    }

    /// The containers with a directory on a node's disks, regardless of SCM's state.
    pub fn on_disk(&self, n: usize, disks: &[&str]) -> BTreeSet<ContainerId> {
        let folders = disks.iter().flat_map(|disk| {
            let current = self.home(n).join(disk).join("hdds");
            let mut below = folders_of(&current);
            // hdds/CLUSTER/current/containerDirN/ID, or without the cluster.
            for _ in 0..3 {
                below.extend(below.clone().iter().flat_map(|folder| folders_of(folder)));
            }
            below
        });
        let id = |folder: std::path::PathBuf| {
            let within = folder.parent()?.file_name()?.to_str()?.starts_with("containerDir");
            let id = folder.file_name()?.to_str()?.parse().ok()?;
            within.then_some(ContainerId(id))
        };
        folders.filter_map(id).collect()
    }

    /// The same without containers that have no blocks, which SCM deletes.
    pub async fn filled_on_disk(
        &self,
        scm: &ScmClient,
        n: usize,
        disks: &[&str],
    ) -> BTreeSet<ContainerId> {
        let all = containers(scm).await;
        let filled: BTreeSet<_> =
            all.into_iter().filter(|(_, _, keys)| *keys > 0).map(|(id, ..)| id).collect();
        &self.on_disk(n, disks) & &filled
    }

    /// Returns `true` if each of these containers is on the disks of three nodes.
    pub fn are_on_three(&self, ids: &BTreeSet<ContainerId>) -> bool {
        let found: Vec<_> =
            (0..self.datanodes.len()).map(|n| self.on_disk(n, &["d1", "d2"])).collect();
        ids.iter().all(|id| found.iter().filter(|of| of.contains(id)).count() == 3)
    }

    pub fn client(&self) -> Client {
        client_of(&self.om.address("om"), &self.scm.address("client"))
    }

    pub fn scm_client(&self) -> ScmClient {
        let address = self.scm.address("client");
        let conf = Configuration::builder()
            .define(format!("ozone.scm.client.address={address}"))
            .and_then(|b| b.build())
            .unwrap();
        ScmClient::connect(&conf)
    }
}

pub async fn containers(scm: &ScmClient) -> Vec<(ContainerId, LifeCycleState, u64)> {
    let all = ListContainers { count: 1_000, ..ListContainers::default() };
    let (list, _) = scm.list_containers(&all).await.unwrap();
    let one = |c: &proto::hdds::ContainerInfoProto| {
        (ContainerId::from_wire(c.container_id), c.state(), c.number_of_keys)
    };
    list.iter().map(one).collect()
}

/// Returns `true` if every container with blocks has three CLOSED replicas on two racks, none of
/// them on `without`.
pub async fn is_healed(scm: &ScmClient, without: Option<&str>) -> bool {
    for (id, state, keys) in containers(scm).await {
        if keys == 0 || matches!(state, LifeCycleState::Deleted | LifeCycleState::Deleting) {
            continue;
        }
        let replicas = scm.replicas(id).await.unwrap();
        let nodes = replicas.iter().map(|r| &r.datanode_details);
        let mut racks: Vec<_> = nodes.clone().map(|n| n.network_location()).collect();
        racks.sort_unstable();
        racks.dedup();
        let away = nodes.clone().any(|n| Some(n.host_name.as_str()) == without);
        let closed = replicas.iter().all(|r| r.state == "CLOSED");
        if state != LifeCycleState::Closed
            || replicas.len() != 3
            || racks.len() != 2
            || away
            || !closed
        {
            return false;
        }
    }
    let report = scm.container_report().await.unwrap();
    let troubles =
        ["UNDER_REPLICATED", "OVER_REPLICATED", "MIS_REPLICATED", "MISSING", "UNHEALTHY"];
    report.stat.iter().all(|s| !troubles.contains(&s.key.as_str()) || s.value() == 0)
}

pub async fn close_all(scm: &ScmClient) {
    for (id, state, _) in containers(scm).await {
        if state == LifeCycleState::Open {
            scm.close_container(id).await.unwrap();
        }
    }
    testkit::until("all containers with blocks are closed", async || is_healed(scm, None).await)
        .await;
}

pub async fn dead(scm: &ScmClient, count: usize) -> bool {
    let state = Some(proto::hdds::NodeState::Dead);
    scm.nodes(state, None).await.unwrap().len() == count
}
