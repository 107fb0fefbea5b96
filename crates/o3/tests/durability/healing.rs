//! Six DataNodes as processes in two racks: what dies, comes back, is wiped or gets a new disk is healed.

use std::collections::BTreeSet;
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

fn folders_of(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
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

    /// The containers that have a folder in a directory of a node: what SCM believes does not count here.
    fn on_disk(&self, n: usize, disks: &[&str]) -> BTreeSet<ContainerId> {
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

    /// Whether each of these containers is on the disks of three nodes.
    fn are_on_three(&self, ids: &BTreeSet<ContainerId>) -> bool {
        let found: Vec<_> = (0..NODES).map(|n| self.on_disk(n, &["d1", "d2"])).collect();
        ids.iter().all(|id| found.iter().filter(|of| of.contains(id)).count() == 3)
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
    let lost = cluster.on_disk(1, &["d1"]);
    assert!(!lost.is_empty(), "nothing to heal");
    cluster.kill(1);
    std::fs::remove_dir_all(cluster.home(1).join("d1")).unwrap();
    assert!(!cluster.are_on_three(&lost));
    cluster.restart(1);
    runtime.block_on(async {
        let took = until("the disk's replicas are made again", async || {
            cluster.are_on_three(&lost) && is_healed(&scm, None).await
        });
        let took = took.await;
        println!("healed {took:?} after a disk with {} containers was replaced", lost.len());
        ledger.verify(&client).await;
    });

    // A node comes back as somebody else, with nothing.
    let lost = cluster.on_disk(2, &["d1", "d2"]);
    assert!(!lost.is_empty(), "nothing to heal");
    cluster.kill(2);
    std::fs::remove_dir_all(cluster.home(2)).unwrap();
    cluster.restart(2);
    runtime.block_on(async {
        until("the old one is dead", async || dead(&scm, 1).await).await;
        let took = until("its replicas are made again", async || {
            cluster.are_on_three(&lost) && is_healed(&scm, None).await
        });
        let took = took.await;
        println!(
            "healed {took:?} after a node with {} containers was wiped and counted as dead",
            lost.len()
        );
        ledger.verify(&client).await;
    });

    // A node is away until its pipelines are closed, and their logs with them, while the others write on: what it has of
    // their containers is old.
    let before = ledger.acknowledged();
    runtime.block_on(async {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 1, 7, stop.clone()));
        let more = ledger.acknowledged() + 30;
        until("there are open containers again", async || ledger.acknowledged() > more).await;
        cluster.kill(3);
        let more = ledger.acknowledged() + 60;
        until("it is dead", async || dead(&scm, 2).await).await;
        until("much was written without it", async || ledger.acknowledged() > more).await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        cluster.restart(3);
        until("it is back", async || dead(&scm, 1).await).await;
        let begun = Instant::now();
        close_all(&scm).await;
        let with_blocks = containers(&scm).await.into_iter().filter(|(_, _, keys)| *keys > 0);
        let ids = with_blocks.map(|(id, _, _)| id).collect();
        until("all is on three", async || cluster.are_on_three(&ids)).await;
        println!(
            "settled {:?} after a node was back that had missed some of {} writes",
            begun.elapsed(),
            ledger.acknowledged() - before
        );
        ledger.verify(&client).await;
    });
}
