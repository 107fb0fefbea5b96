//! Seven DataNodes as processes and keys of rs-3-2: their disks lose and change data while clients
//! write and read, and nodes fail during the reconstruction of others.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use client::{Client, KeyPath, ScmClient};
use proto::hdds::{LifeCycleState, NodeState};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand::seq::index::sample;
use testkit::until;
use types::{ContainerId, ReplicationConfig};

use super::cluster::{Cluster, containers};
use super::flipped_bits::files;
use super::ledger::Ledger;
use super::{BUCKET, VOLUME, make_bucket_of, runtime};
use crate::process::{run, stderr, stdout};

/// Two more than the size of a block group, so that keys can be written without any two.
const NODES: usize = 7;
const WRITERS: usize = 2;
/// Maximum number of damaged files of a node.
const FILES: usize = 30;

/// Disks are scanned continuously.
const SCANS: [(&str, &str); 3] = [
    ("hdds.container.scrub.data.scan.interval", "500ms"),
    ("hdds.container.scrub.volume.bytes.per.second", "100MB"),
    ("hdds.container.scrub.min.gap", "0s"),
];

/// Indexes of rs-3-2.
const INDEXES: [i64; 5] = [1, 2, 3, 4, 5];

/// Containers with blocks, and the nodes of their CLOSED replicas by index.
async fn indexes(scm: &ScmClient) -> BTreeMap<ContainerId, Vec<(i64, String)>> {
    let mut found = BTreeMap::new();
    for (id, state, keys) in containers(scm).await {
        if keys == 0 || matches!(state, LifeCycleState::Deleted | LifeCycleState::Deleting) {
            continue;
        }
        let replicas = scm.replicas(id).await.unwrap();
        let closed = replicas.iter().filter(|_| state == LifeCycleState::Closed);
        let closed = closed.filter(|r| r.state == "CLOSED");
        let mut all: Vec<_> =
            closed.map(|r| (r.replica_index(), r.datanode_details.host_name.clone())).collect();
        all.sort();
        found.insert(id, all);
    }
    found
}

/// Returns `true` if each container with blocks has each index once, none of them on these nodes.
async fn is_whole(scm: &ScmClient, without: &[&str]) -> bool {
    let found = indexes(scm).await;
    let report = scm.container_report().await.unwrap();
    let troubles =
        ["UNDER_REPLICATED", "OVER_REPLICATED", "MIS_REPLICATED", "MISSING", "UNHEALTHY"];
    let is_well = |stat: &proto::hdds::KeyIntValue| {
        !troubles.contains(&stat.key.as_str()) || stat.value() == 0
    };
    !found.is_empty()
        && report.stat.iter().all(is_well)
        && found.values().all(|replicas| {
            replicas.iter().map(|(index, _)| *index).eq(INDEXES)
                && !replicas.iter().any(|(_, node)| without.contains(&node.as_str()))
        })
}

struct Test {
    runtime: tokio::runtime::Runtime,
    cluster: Cluster,
    client: Client,
    scm: ScmClient,
    ledger: Arc<Ledger>,
    loads: u64,
}

impl Test {
    fn start() -> Self {
        let (runtime, cluster) = (runtime(), Cluster::start_with(NODES, &SCANS));
        let (client, scm) = (cluster.client(), cluster.scm_client());
        let test = Self { runtime, cluster, client, scm, ledger: Arc::default(), loads: 0 };
        test.runtime.block_on(async {
            until("all nodes are there", async || test.are_up().await).await;
            let config = ReplicationConfig::parse("EC", "rs-3-2-512k").unwrap();
            make_bucket_of(&test.client, Some(config)).await;
        });
        test
    }

    async fn are_up(&self) -> bool {
        let healthy = self.scm.nodes(Some(NodeState::Healthy), None).await.unwrap();
        healthy.len() == NODES
    }

    /// Disturbs the nodes while clients write and read without errors.
    fn under_load(&mut self, what: &str, disturb: impl FnOnce(&mut Cluster)) {
        self.loads += 1;
        let stop = Arc::new(AtomicBool::new(false));
        let (ledger, client) = (&self.ledger, &self.client);
        let writer = |w| ledger.clone().write(client.clone(), w, self.loads, stop.clone());
        let writers: Vec<_> = (0..WRITERS).map(|w| self.runtime.spawn(writer(w))).collect();
        let reading = ledger.clone().read(client.clone(), self.loads, stop.clone());
        let reader = self.runtime.spawn(reading);
        let ended = || writers.iter().any(|w| w.is_finished()) || reader.is_finished();
        let goes_on = |what: &str, more: u64| {
            let (writes, reads) = (ledger.acknowledged() + more, ledger.compared() + more / 10);
            let much = || ledger.acknowledged() > writes && ledger.compared() > reads;
            self.runtime.block_on(until(what, async || much() || ended()))
        };
        // The test is about the random moment.
        goes_on("keys are written and read", rand::rng().random_range(40..80));
        disturb(&mut self.cluster);
        goes_on(&format!("keys are written and read after {what}"), 60);
        stop.store(true, Ordering::Relaxed);
        self.runtime.block_on(async {
            for writer in writers {
                let failed = writer.await.unwrap();
                assert!(failed.is_none(), "a writer saw {what}: {failed:?}");
            }
            let failed = reader.await.unwrap();
            assert!(failed.is_none(), "a reader saw {what}: {failed:?}");
        });
    }

    /// Waits until each index of each container exists and is intact, block by block.
    fn heals(&self, what: &str) {
        let begun = Instant::now();
        self.runtime.block_on(async {
            until("all nodes are back", async || self.are_up().await).await;
            self.ledger.verify(&self.client).await;
            for (id, state, _) in containers(&self.scm).await {
                if state == LifeCycleState::Open {
                    self.scm.close_container(id).await.unwrap();
                }
            }
            until(&format!("all indexes are there after {what}"), async || {
                is_whole(&self.scm, &[]).await && self.bad_replicas().await.is_empty()
            })
            .await;
            self.ledger.verify(&self.client).await;
        });
        println!("{what}: whole after {:?}", begun.elapsed());
    }

    /// Replicas of blocks that differ from the written data.
    async fn bad_replicas(&self) -> Vec<String> {
        let mut bad = Vec::new();
        for key in self.ledger.keys() {
            let path = KeyPath::new(VOLUME, BUCKET, &key);
            let (_, blocks) = self.client.key_replicas(&path).await.unwrap();
            for block in blocks {
                let failures = block.verify().await;
                if failures.len() != 5 || failures.iter().any(|of_one| !of_one.is_empty()) {
                    bad.push(format!("{key}: block {}: {failures:?}", block.id));
                }
            }
        }
        bad
    }

    /// A node with a replica of a key's container: with few keys, not every node has one.
    async fn holder(&self) -> usize {
        let mut names = BTreeSet::new();
        for key in self.ledger.keys() {
            let path = KeyPath::new(VOLUME, BUCKET, &key);
            let (_, blocks) = self.client.key_replicas(&path).await.unwrap();
            for block in blocks {
                let replicas = self.scm.replicas(block.id.container).await.unwrap();
                names.extend(replicas.into_iter().map(|r| r.datanode_details.host_name));
            }
        }
        let holders: Vec<_> = (0..NODES).filter(|n| names.contains(&format!("dn{n}"))).collect();
        *holders.choose(&mut rand::rng()).unwrap()
    }

    /// Number of containers in this state in `o3 admin container report`.
    fn reported(&self, health: &str) -> u64 {
        let scm = format!("ozone.scm.client.address={}", self.cluster.scm_address());
        let output = run(&["admin", "-D", &scm, "container", "report"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let all = stdout(&output);
        let line = all.lines().find_map(|line| line.strip_prefix(health)?.strip_prefix(": "));
        line.unwrap().parse().unwrap()
    }
}

/// Damages files of blocks of running nodes; returns their number.
fn damage(cluster: &Cluster, nodes: &[usize], change: impl Fn(&Path, u64)) -> usize {
    let mut damaged = 0;
    for n in nodes {
        let of_node = files(&cluster.home(*n), ".block");
        for file in of_node.sample(&mut rand::rng(), FILES) {
            // Its block may be deleted concurrently.
            let Some(length) = file.metadata().ok().map(|data| data.len()) else { continue };
            if length > 0 {
                change(file, rand::rng().random_range(0..length));
                damaged += 1;
            }
        }
    }
    damaged
}

fn open(file: &Path) -> Option<std::fs::File> {
    std::fs::OpenOptions::new().read(true).write(true).open(file).ok()
}

fn flip(file: &Path, at: u64) {
    let Some(file) = open(file) else { return };
    let mut byte = [0];
    if file.read_exact_at(&mut byte, at).is_ok() {
        file.write_all_at(&[byte[0] ^ 1 << rand::rng().random_range(0..8)], at).unwrap();
    }
}

fn truncate(file: &Path, length: u64) {
    if let Some(file) = open(file) {
        file.set_len(length).unwrap();
    }
}

/// Two of the nodes.
fn two() -> Vec<usize> {
    sample(&mut rand::rng(), NODES, 2).into_vec()
}

#[test]
fn damage_and_losses_of_disks_under_load_cost_nothing_and_are_repaired() {
    let mut test = Test::start();
    test.under_load("bits of two nodes flip", |cluster| {
        let files = damage(cluster, &two(), flip);
        println!("{files} files with a flipped bit");
    });
    test.heals("bits of two nodes flipped");
    test.under_load("files of two nodes are cut", |cluster| {
        let files = damage(cluster, &two(), truncate);
        println!("{files} files are cut");
    });
    test.heals("files of two nodes were cut");
    test.under_load("a disk is wiped and another node is killed", |cluster| {
        let nodes = two();
        nodes.iter().for_each(|n| cluster.kill(*n));
        std::fs::remove_dir_all(cluster.home(nodes[0]).join("d1")).unwrap();
        nodes.iter().for_each(|n| cluster.restart(*n));
    });
    test.heals("a disk was wiped and another node was killed");
    test.under_load("all disks of a node are wiped", |cluster| {
        let n = two()[0];
        cluster.kill(n);
        for disk in ["d1", "d2"] {
            std::fs::remove_dir_all(cluster.home(n).join(disk)).unwrap();
        }
        cluster.restart(n);
    });
    test.heals("all disks of a node were wiped");

    // A node loses all data; during the reconstruction of its indexes two others are killed, so
    // that three of five are down. Their data cannot be read, and nothing is invented for it.
    let wiped = test.runtime.block_on(test.holder());
    let others: Vec<_> = (0..NODES).filter(|n| *n != wiped).collect();
    let two = others.sample(&mut rand::rng(), 2).copied().collect::<Vec<_>>();
    let (first, second) = (two[0], two[1]);
    test.cluster.kill(wiped);
    for disk in ["d1", "d2"] {
        std::fs::remove_dir_all(test.cluster.home(wiped).join(disk)).unwrap();
    }
    test.cluster.restart(wiped);
    let under = test.runtime.block_on(async {
        let mut under = 0;
        until("SCM reports the loss", async || {
            under = test.reported("UNDER_REPLICATED");
            under > 0
        })
        .await;
        under
    });
    test.cluster.kill(first);
    test.cluster.kill(second);
    let mut missing = 0;
    test.runtime.block_on(async {
        // The first one's data may be complete again before the second counts as dead.
        until("SCM reports the two as dead", async || {
            let dead = test.scm.nodes(Some(NodeState::Dead), None).await.unwrap();
            let lacking = test.reported("UNDER_REPLICATED")
                + test.reported("MISSING")
                + test.reported("MISSING_UNDER_REPLICATED");
            missing = missing.max(lacking);
            dead.len() == 2
        })
        .await;
    });
    println!("{under} containers lacked an index, then at most {missing} lacked some");
    test.cluster.restart(first);
    test.cluster.restart(second);
    test.heals("two nodes were gone while a third was rebuilt");
    let unhealthy =
        ["UNDER_REPLICATED", "MISSING", "UNHEALTHY"].map(|health| test.reported(health));
    assert_eq!(unhealthy, [0, 0, 0]);
    println!("{} keys written, {} compared", test.ledger.acknowledged(), test.ledger.compared());
}
