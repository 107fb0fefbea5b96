//! All faults at once: clients propose and read while nodes crash, links are cut and leaders
//! change. No acknowledged write is lost, all replicas agree, no read is stale.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use multiraft::{Change, Group, Proposal, TrimOptions};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

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

/// State shared by clients: the groups that are up, and the acknowledged writes.
#[derive(Default)]
struct World {
    groups: Mutex<Vec<Group>>,
    acknowledged: Mutex<BTreeMap<u64, String>>,
    /// Highest acknowledged index.
    newest: AtomicU64,
    reads: AtomicU64,
    done: AtomicBool,
}

impl World {
    /// Starts clients of each kind.
    fn clients(self: &Arc<Self>, writers: usize, readers: usize) -> Vec<JoinHandle<()>> {
        let writers = (0..writers).map(|n| tokio::spawn(write(self.clone(), n)));
        let readers = (0..readers).map(|n| tokio::spawn(read(self.clone(), n)));
        writers.chain(readers).collect()
    }

    /// Waits until writes succeed again.
    async fn go_on(&self) {
        let before = self.newest.load(Ordering::Acquire);
        until("writes go on", async || self.newest.load(Ordering::Acquire) > before + 20).await;
    }

    /// Stops the clients and checks that no node in `of` lacks an acknowledged write.
    async fn settle(&self, clients: Vec<JoinHandle<()>>, cluster: &Cluster, of: &[usize]) {
        self.done.store(true, Ordering::Release);
        for client in clients {
            client.await.unwrap();
        }
        let newest = self.newest.load(Ordering::Acquire);
        until("all replicas catch up and agree", async || {
            let first = cluster.entries(of[0]);
            let same =
                |n: &usize| cluster.group(*n).applied() >= newest && cluster.entries(*n) == first;
            of.iter().all(same)
        })
        .await;
        let entries = cluster.entries(of[0]);
        for (index, header) in self.acknowledged.lock().iter() {
            let found = entries.get(index).map(|e| &e[..]);
            assert_eq!(found, Some(header.as_bytes()), "entry {index}");
        }
        assert!(self.reads.load(Ordering::Relaxed) > 0);
        self.groups.lock().clear();
    }
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
    // These events take longer.
    cluster.heartbeat = Duration::from_millis(30);
    cluster.election_timeout = Duration::from_millis(200);
    cluster.trim = TrimOptions { entries: 200, bytes: u64::MAX, keep: 20 };
    cluster.cache = 10_000;
    cluster.files = seed.is_multiple_of(2);
    (0..3).for_each(|n| cluster.start(n));
    let world = Arc::new(World::default());
    show(&world, &cluster);
    let clients = world.clients(4, 3);
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
    // All links work again.
    world.go_on().await;
    world.settle(clients, &cluster, &[0, 1, 2]).await;
    cluster.shutdown().await;
}

/// Three members become four, five and three again, under load, with a node killed in each step.
async fn members_come_and_go(seed: u64) {
    let mut dice = Dice(seed);
    let mut cluster = Cluster::new(3);
    // These events take longer.
    cluster.heartbeat = Duration::from_millis(30);
    cluster.election_timeout = Duration::from_millis(200);
    cluster.trim = TrimOptions { entries: 200, bytes: u64::MAX, keep: 20 };
    cluster.files = seed.is_multiple_of(2);
    (0..3).for_each(|n| cluster.start(n));
    let world = Arc::new(World::default());
    show(&world, &cluster);
    let clients = world.clients(4, 3);
    let mut members = vec![0, 1, 2];
    for _ in 0..2 {
        world.go_on().await;
        let (new, down) = (cluster.grow(), members[dice.roll(members.len())]);
        cluster.join(&members, new).await;
        members.push(new);
        show(&world, &cluster);
        tokio::time::sleep(Duration::from_millis(dice.roll(200) as u64)).await;
        kill(&world, &mut cluster, down).await;
        world.go_on().await;
        cluster.start(down);
        show(&world, &cluster);
        cluster.votes(&members, new).await;
    }
    for _ in 0..2 {
        world.go_on().await;
        // The leader, or any member.
        let gone = match dice.roll(2) {
            0 => cluster.leader_of(&members).await,
            _ => members[dice.roll(members.len())],
        };
        let down = members[dice.roll(members.len())];
        let removal = cluster.change(&members, Change::Remove(cluster.nodes[gone].id));
        let removed = tokio::time::timeout(Duration::from_millis(dice.roll(60) as u64), removal);
        let done = removed.await.is_ok();
        kill(&world, &mut cluster, down).await;
        tokio::time::sleep(Duration::from_millis(dice.roll(200) as u64)).await;
        cluster.start(down);
        show(&world, &cluster);
        if !done {
            cluster.change(&members, Change::Remove(cluster.nodes[gone].id)).await;
        }
        members.retain(|n| *n != gone);
        world.go_on().await;
        if dice.roll(2) == 0 {
            kill(&world, &mut cluster, gone).await;
        }
    }
    // All of them at once, too.
    for n in members.clone() {
        kill(&world, &mut cluster, n).await;
    }
    members.iter().for_each(|n| cluster.start(*n));
    show(&world, &cluster);
    world.go_on().await;
    let ids: BTreeSet<Uuid> = members.iter().map(|n| cluster.nodes[*n].id).collect();
    until("all have the same three members", async || {
        let voters = |n: &usize| {
            let membership = cluster.group(*n).membership();
            membership.voters().map(|m| m.peer.node).collect::<BTreeSet<Uuid>>()
        };
        members.iter().all(|n| voters(n) == ids)
    })
    .await;
    world.settle(clients, &cluster, &members).await;
    cluster.shutdown().await;
}

/// Kills a node; its machine loses its unflushed state.
async fn kill(world: &World, cluster: &mut Cluster, n: usize) {
    world.groups.lock().clear();
    cluster.stop(n, true).await;
    show(world, cluster);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_while_members_come_and_go() {
    for seed in 1..=storms(2) {
        members_come_and_go(seed).await;
    }
}

/// Number of seeds; more with MULTIRAFT_STORMS=100.
fn storms(usual: u64) -> u64 {
    std::env::var("MULTIRAFT_STORMS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_no_read_is_stale_in_a_storm() {
    for seed in 1..=storms(3) {
        storm(seed).await;
    }
}
