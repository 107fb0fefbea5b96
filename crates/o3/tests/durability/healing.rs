//! Six DataNodes as processes in two racks: what dies, comes back, is wiped or gets a new disk is healed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use client::{Client, ListContainers, ScmClient};
use config::Configuration;
use proto::hdds::LifeCycleState;
use types::ContainerId;

use super::ledger::Ledger;
use super::{client_of, make_bucket, runtime};
use crate::process::{Daemon, PATIENCE, o3};

const NODES: usize = 6;

struct Cluster {
    dir: tempfile::TempDir,
    scm: Daemon,
    om: Daemon,
    datanodes: Vec<Option<Daemon>>,
}

fn role(kind: &str, definitions: &[(&str, String)]) -> Command {
    let mut command = o3(&[kind, "--json"]);
    for (key, value) in definitions {
        command.args(["-D", &format!("{key}={value}")]);
    }
    command
}

fn free() -> String {
    "127.0.0.1:0".to_owned()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

impl Cluster {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let racks = dir.path().join("racks");
        let lines = (0..NODES).map(|n| format!("dn{n} /rack{}\n", n % 2));
        std::fs::write(&racks, lines.collect::<String>()).unwrap();
        let scm = Daemon::start(role(
            "scm",
            &[
                ("ozone.metadata.dirs", text(&dir.path().join("scm"))),
                ("ozone.scm.client.address", free()),
                ("ozone.scm.block.client.address", free()),
                ("ozone.scm.datanode.address", free()),
                ("ozone.scm.http-address", free()),
                ("ozone.scm.stale.node.interval", "2s".to_owned()),
                ("ozone.scm.dead.node.interval", "4s".to_owned()),
                ("hdds.scm.replication.thread.interval", "1s".to_owned()),
                ("hdds.scm.wait.time.after.safemode.exit", "0s".to_owned()),
                ("ozone.scm.datanode.admin.monitor.interval", "1s".to_owned()),
                (
                    "net.topology.node.switch.mapping.impl",
                    "org.apache.hadoop.net.TableMapping".to_owned(),
                ),
                ("net.topology.table.file.name", text(&racks)),
            ],
        ));
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
        let mut cluster = Self { dir, scm, om, datanodes: Vec::new() };
        for n in 0..NODES {
            let node = cluster.datanode(n);
            cluster.datanodes.push(Some(node));
        }
        cluster
    }

    fn home(&self, n: usize) -> std::path::PathBuf {
        self.dir.path().join(format!("dn{n}"))
    }

    fn datanode(&self, n: usize) -> Daemon {
        let home = self.home(n);
        let disks = format!("{},{}", text(&home.join("d1")), text(&home.join("d2")));
        Daemon::start(role(
            "datanode",
            &[
                ("ozone.metadata.dirs", text(&home.join("meta"))),
                ("hdds.datanode.dir", disks),
                ("hdds.datanode.hostname", format!("dn{n}")),
                ("trioxide.datanode.bind.host", "127.0.0.1".to_owned()),
                ("ozone.scm.datanode.address", self.scm.address("datanode")),
                ("hdds.container.ipc.random.port", "true".to_owned()),
                ("hdds.container.ratis.ipc.random.port", "true".to_owned()),
                ("trioxide.datanode.port", "0".to_owned()),
                ("hdds.datanode.http-address", free()),
            ],
        ))
    }

    fn kill(&mut self, n: usize) {
        self.datanodes[n].take().unwrap().kill();
    }

    fn restart(&mut self, n: usize) {
        self.datanodes[n] = Some(self.datanode(n));
    }

    fn client(&self) -> Client {
        client_of(&self.om.address("om"), &self.scm.address("client"))
    }

    fn scm_client(&self) -> ScmClient {
        let address = self.scm.address("client");
        let conf = Configuration::builder()
            .define(format!("ozone.scm.client.address={address}"))
            .and_then(|b| b.build())
            .unwrap();
        ScmClient::connect(&conf)
    }
}

/// Waits for something to be so.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

async fn containers(scm: &ScmClient) -> Vec<(ContainerId, LifeCycleState, u64)> {
    let all = ListContainers { count: 1_000, ..ListContainers::default() };
    let (list, _) = scm.list_containers(&all).await.unwrap();
    let one = |c: &proto::hdds::ContainerInfoProto| {
        (ContainerId::from_wire(c.container_id), c.state(), c.number_of_keys)
    };
    list.iter().map(one).collect()
}

/// Whether every container with blocks has three CLOSED replicas on two racks, none of them on `without`.
async fn is_healed(scm: &ScmClient, without: Option<&str>) -> bool {
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

async fn close_all(scm: &ScmClient) {
    for (id, state, _) in containers(scm).await {
        if state == LifeCycleState::Open {
            scm.close_container(id).await.unwrap();
        }
    }
    until("all containers with blocks are closed", async || is_healed(scm, None).await).await;
}

async fn dead(scm: &ScmClient, count: usize) -> bool {
    let state = Some(proto::hdds::NodeState::Dead);
    scm.nodes(state, None).await.unwrap().len() == count
}

#[test]
fn containers_return_to_three_replicas_on_two_racks_whatever_happens_to_a_datanode() {
    let runtime = runtime();
    let mut cluster = Cluster::start();
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = std::sync::Arc::new(Ledger::default());
    runtime.block_on(async {
        until("the nodes are in their racks and the pipelines span both", async || {
            let pipelines = scm.pipelines().await.unwrap();
            let open = pipelines.iter().filter(|p| {
                let mut racks: Vec<_> = p.members.iter().map(|m| m.network_location()).collect();
                racks.sort_unstable();
                racks.dedup();
                p.members.len() == 3
                    && p.state() == proto::hdds::PipelineState::PipelineOpen
                    && racks.len() == 2
            });
            open.count() == 4
        })
        .await;
        make_bucket(&client).await;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 7, stop.clone()));
        until("something is written", async || ledger.acknowledged() > 60).await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        close_all(&scm).await;
    });

    // A node dies for good.
    cluster.kill(0);
    runtime.block_on(async {
        until("it is dead", async || dead(&scm, 1).await).await;
        let took = until("it is replaced", async || is_healed(&scm, Some("dn0")).await).await;
        println!("healed {took:?} after the node was dead");
        ledger.verify(&client).await;
    });

    // It comes back with what it had: what is too many goes.
    cluster.restart(0);
    runtime.block_on(async {
        until("it is back", async || dead(&scm, 0).await).await;
        let took = until("replicas too many are gone", async || is_healed(&scm, None).await).await;
        println!("settled {took:?} after the node was back");
    });

    // A node's disk is replaced: what was on it is made again.
    cluster.kill(1);
    std::fs::remove_dir_all(cluster.home(1).join("d1")).unwrap();
    cluster.restart(1);
    runtime.block_on(async {
        let took =
            until("the disk's replicas are made again", async || is_healed(&scm, None).await);
        println!("healed {:?} after a disk was replaced", took.await);
    });

    // A node comes back as somebody else, with nothing.
    cluster.kill(2);
    std::fs::remove_dir_all(cluster.home(2)).unwrap();
    cluster.restart(2);
    runtime.block_on(async {
        until("the old one is dead", async || dead(&scm, 1).await).await;
        let took = until("its replicas are made again", async || is_healed(&scm, None).await).await;
        println!("healed {took:?} after a node was wiped");
        ledger.verify(&client).await;
    });
}
