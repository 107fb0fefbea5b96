//! Everything at once: clients propose and read while nodes crash, links are cut and leaders
//! change. Nothing acknowledged is lost, all replicas agree, no read is stale.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use multiraft::{Group, Proposal, TrimOptions};
use parking_lot::Mutex;

use crate::support::{Cluster, until};

/// A fixed sequence of choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// What clients share: the groups that are up, and what was acknowledged.
#[derive(Default)]
struct World {
    groups: Mutex<Vec<Group>>,
    acknowledged: Mutex<BTreeMap<u64, String>>,
    /// Highest index that was acknowledged.
    newest: AtomicU64,
    reads: AtomicU64,
    done: AtomicBool,
}

async fn write(world: Arc<World>, client: usize) {
    let mut n = 0;
    while !world.done.load(Ordering::Acquire) {
        let group = world.groups.lock().iter().find(|g| g.is_leader()).cloned();
        let Some(group) = group else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        n += 1;
        let header = format!("client {client} value {n}");
        let proposed = group.propose(Proposal::new(header.clone()));
        let Ok(Ok(applied)) = tokio::time::timeout(Duration::from_secs(2), proposed).await else {
            continue;
        };
        world.acknowledged.lock().insert(applied.index, header);
        world.newest.fetch_max(applied.index, Ordering::AcqRel);
    }
}

async fn read(world: Arc<World>, which: usize) {
    while !world.done.load(Ordering::Acquire) {
        let group = world.groups.lock().get(which).cloned();
        let Some(group) = group else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let floor = world.newest.load(Ordering::Acquire);
        let asked = tokio::time::timeout(Duration::from_secs(1), group.read_index());
        match asked.await {
            Ok(Ok(index)) => {
                assert!(index >= floor, "read at {index} after {floor} was acknowledged");
                world.reads.fetch_add(1, Ordering::Relaxed);
            }
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}

fn show(world: &World, cluster: &Cluster) {
    let groups = cluster.up().into_iter().map(|n| cluster.group(n)).collect();
    *world.groups.lock() = groups;
}

async fn storm(seed: u64) {
    let mut dice = Dice(seed);
    let mut cluster = Cluster::new(3);
    cluster.trim = TrimOptions { entries: 200, bytes: u64::MAX, keep: 20 };
    cluster.cache = 10_000;
    cluster.files = seed.is_multiple_of(2);
    (0..3).for_each(|n| cluster.start(n));
    let world = Arc::new(World::default());
    show(&world, &cluster);
    let writers: Vec<_> = (0..4).map(|n| tokio::spawn(write(world.clone(), n))).collect();
    let readers: Vec<_> = (0..3).map(|n| tokio::spawn(read(world.clone(), n))).collect();
    for _ in 0..14 {
        let n = dice.roll(3);
        match dice.roll(6) {
            0 | 1 => {
                world.groups.lock().clear();
                cluster.stop(n, true).await;
                show(&world, &cluster);
                tokio::time::sleep(Duration::from_millis(dice.roll(400) as u64)).await;
                cluster.start(n);
                show(&world, &cluster);
            }
            2 | 3 => {
                let others: Vec<_> =
                    (0..3).filter(|o| *o != n).map(|o| cluster.nodes[o].id).collect();
                cluster.network.cut(&[cluster.nodes[n].id], &others);
            }
            4 => {
                cluster.network.lose(dice.roll(200) as u32);
                cluster.group(n).step_down();
            }
            _ => cluster.network.heal(),
        }
        tokio::time::sleep(Duration::from_millis(dice.roll(300) as u64)).await;
    }
    cluster.network.heal();
    // Everybody gets through again.
    let before = world.newest.load(Ordering::Acquire);
    until("writes after the storm", || world.newest.load(Ordering::Acquire) > before + 20).await;
    world.done.store(true, Ordering::Release);
    for task in writers.into_iter().chain(readers) {
        task.await.unwrap();
    }
    let newest = world.newest.load(Ordering::Acquire);
    until("all replicas catch up and agree", || {
        let first = cluster.entries(0);
        (0..3).all(|n| cluster.group(n).applied() >= newest && cluster.entries(n) == first)
    })
    .await;
    let entries = cluster.entries(0);
    for (index, header) in world.acknowledged.lock().iter() {
        let found = entries.get(index).map(|e| &e[..]);
        assert_eq!(found, Some(header.as_bytes()), "seed {seed}: entry {index}");
    }
    assert!(world.reads.load(Ordering::Relaxed) > 0);
    world.groups.lock().clear();
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_no_read_is_stale_in_a_storm() {
    // More seeds, to look for trouble: MULTIRAFT_STORMS=100.
    let count = std::env::var("MULTIRAFT_STORMS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    for seed in 1..=count {
        storm(seed).await;
    }
}
