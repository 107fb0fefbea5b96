//! Leftovers of erasure coded containers that are deleted, on nodes that were down.

use std::collections::{BTreeMap, BTreeSet};

use placement::{Cluster, Container, Evidence, Health, Order, OrderKind, Replica, ReplicaState};
use proptest::prelude::*;
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

/// All replicas of a closed container are empty, and it is deleted.
fn delete(cluster: &mut Cluster, c: ContainerId) {
    let all = cluster.replicas.of(c).to_vec();
    for replica in &all {
        let empty = Replica { keys: 0, used_bytes: 0, is_empty: true, ..replica.clone() };
        report(cluster, c, empty, START);
    }
    let decision = cluster.clean_containers(START);
    apply(cluster, &decision);
    assert_eq!(state(cluster, c), LifeCycleState::Deleting);
    for replica in all {
        report(cluster, c, Replica { state: ReplicaState::Deleted, ..replica }, START);
    }
}

/// A container of rs-3-2 that was deleted while a node with that index was down.
fn deleted() -> (Cluster, ContainerId) {
    let mut cluster = in_racks(9, 1);
    let (_, c) = closed(&mut cluster);
    delete(&mut cluster, c);
    cluster.watch_nodes(START);
    (cluster, c)
}

/// All nodes send heartbeats, and the resulting orders are sent.
fn clear(cluster: &mut Cluster, now: u64) -> Vec<Order> {
    for id in cluster.nodes.iter().map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    let decision = cluster.clear_left_overs(now);
    carry_out(cluster, decision, now)
}

/// Orders to nodes to delete, of a container, the replicas of an index each.
fn forced(id: ContainerId, replicas: &[(u128, u32)]) -> Vec<Order> {
    let order = |(n, index): &(u128, u32)| {
        to(*n, OrderKind::DeleteContainer { id, index: *index, force: true })
    };
    replicas.iter().map(order).collect()
}

#[test]
fn what_a_node_has_of_a_deleted_container_goes_when_all_nodes_are_there() {
    let (mut cluster, c) = deleted();
    assert_eq!(report(&mut cluster, c, part(node(3), 2, ReplicaState::Closed), START), []);
    let later = START + cluster.settings.dead_after;
    assert_eq!(clear(&mut cluster, later - 1), [], "others may be on their way");
    assert_eq!(clear(&mut cluster, later), forced(c, &[(3, 2)]));
    assert_eq!(clear(&mut cluster, later), forced(c, &[(3, 2)]), "until it is gone");
    say(&mut cluster, c, node(3), 2, ReplicaState::Deleted);
    assert_eq!(clear(&mut cluster, later), []);
}

#[test]
fn it_stays_while_a_node_is_not_sure_to_be_there() {
    let (mut cluster, c) = deleted();
    say(&mut cluster, c, node(3), 2, ReplicaState::Closed);
    let later = silence(&mut cluster, node(8), START / 2);
    assert_eq!(cluster.nodes.get(node(8)).unwrap().health, Health::Dead);
    assert_eq!(cluster.clear_left_overs(later).orders, [], "it may have more of it");
    register_in(&mut cluster, 8, "/rack0", later);
    cluster.nodes.doubt_all();
    assert_eq!(clear(&mut cluster, later), [], "none has told this leader what it has");
    (1..=9).for_each(|n| cluster.nodes.set_confirmed(node(n), true));
    assert_eq!(clear(&mut cluster, later), forced(c, &[(3, 2)]));
}

#[test]
fn it_stays_while_it_takes_writes_or_is_more_than_the_code_can_make_up_for() {
    let (mut cluster, c) = deleted();
    let later = START + cluster.settings.dead_after;
    say(&mut cluster, c, node(3), 2, ReplicaState::Open);
    assert_eq!(clear(&mut cluster, later), []);
    say(&mut cluster, c, node(3), 2, ReplicaState::Closed);
    say(&mut cluster, c, node(4), 5, ReplicaState::Closed);
    assert_eq!(clear(&mut cluster, later), forced(c, &[(3, 2), (4, 5)]));
    say(&mut cluster, c, node(5), 1, ReplicaState::Closed);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed, "it can be read");
    assert_eq!(clear(&mut cluster, later), []);

    let mut cluster = in_racks(9, 1);
    let (_, c) = closed_as(&mut cluster, "rs-6-3-1024k", 1);
    delete(&mut cluster, c);
    cluster.watch_nodes(START);
    (1..=4).for_each(|n| say(&mut cluster, c, node(n.into()), n, ReplicaState::Closed));
    assert_eq!(clear(&mut cluster, later), [], "four of nine");
    say(&mut cluster, c, node(4), 4, ReplicaState::Deleted);
    assert_eq!(clear(&mut cluster, later), forced(c, &[(1, 1), (2, 2), (3, 3)]));
}

/// A node as it is.
#[derive(Debug, Clone, Default)]
struct Real {
    down: bool,
    index: Option<u32>,
}

#[derive(Debug, Clone)]
enum Step {
    Kill(u128),
    Revive(u128),
    /// The SCM restarts without nodes.
    Restart,
    Pass(u64),
    /// Orders are carried out, or lost.
    Look(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..=9_u128).prop_map(Step::Kill),
        3 => (1..=9_u128).prop_map(Step::Revive),
        1 => Just(Step::Restart),
        3 => prop_oneof![Just(4_000_u64), Just(100_000), Just(700_000)].prop_map(Step::Pass),
        6 => prop_oneof![4 => Just(true), 1 => Just(false)].prop_map(Step::Look),
    ]
}

/// History of a DELETED container.
#[derive(Debug, Clone)]
enum Past {
    /// Its blocks were all deleted except on nodes that were down, which have these indexes.
    Emptied(BTreeMap<u128, u32>),
    /// By mistake: its indexes all exist, on these nodes. The record has it as empty, or, like that
    /// of an earlier release, without evidence.
    Mistake(Vec<u128>, bool),
}

impl Past {
    fn indexes(&self) -> BTreeMap<u128, u32> {
        match self {
            Self::Emptied(left) => left.clone(),
            Self::Mistake(nodes, _) => nodes.iter().copied().zip(1..=5).collect(),
        }
    }
}

fn past() -> impl Strategy<Value = Past> {
    let left = proptest::collection::btree_map(1..=9_u128, 1..=5_u32, 0..6);
    let nodes = Just((1..=9_u128).collect::<Vec<_>>()).prop_shuffle();
    prop_oneof![
        left.prop_map(Past::Emptied),
        (nodes, any::<bool>()).prop_map(|(nodes, emptied)| Past::Mistake(nodes, emptied)),
    ]
}

struct World {
    cluster: Cluster,
    c: ContainerId,
    nodes: BTreeMap<u128, Real>,
    now: u64,
    /// Indexes that were ever ordered to be deleted.
    gone: BTreeSet<u32>,
}

impl World {
    fn new(past: &Past) -> Self {
        let (mut cluster, c) = deleted();
        if let Past::Mistake(_, emptied) = past {
            let record = cluster.containers.get(c).unwrap().clone();
            let evidence = Evidence { emptied: *emptied, ..Evidence::default() };
            cluster.containers.insert(Container { evidence, ..record });
        }
        let indexes = past.indexes();
        let real = |n| Real { down: indexes.contains_key(&n), index: indexes.get(&n).copied() };
        let nodes = (1..=9).map(|n| (n, real(n))).collect();
        Self { cluster, c, nodes, now: START, gone: BTreeSet::new() }
    }

    fn register(&mut self, n: u128) {
        register_in(&mut self.cluster, n, "/rack0", self.now);
        let real = &self.nodes[&n];
        let replica = |index| (self.c, part(node(n), index, ReplicaState::Closed));
        let replicas = real.index.map(replica).into_iter().collect();
        let decision = self.cluster.report_all_replicas(node(n), replicas, self.now);
        apply(&mut self.cluster, &decision);
    }

    fn restart(&mut self) {
        let mut fresh = Cluster::new(self.cluster.settings.clone());
        self.cluster
            .containers
            .from(ContainerId(0))
            .for_each(|c| fresh.containers.insert(c.clone()));
        fresh.begin_safe_mode();
        fresh.note_state_machine_ready();
        self.cluster = fresh;
    }

    fn look(&mut self, done: bool) {
        let up: Vec<u128> = self.nodes.iter().filter(|(_, r)| !r.down).map(|(n, _)| *n).collect();
        for n in up {
            if self.cluster.heartbeat(node(n), self.now).is_none() {
                self.register(n);
            }
        }
        let (_, decision) = self.cluster.watch_nodes(self.now);
        apply(&mut self.cluster, &decision);
        let mut decision = self.cluster.clean_containers(self.now);
        decision.merge(self.cluster.clear_left_overs(self.now));
        let orders = carry_out(&mut self.cluster, decision, self.now);
        let mut going: Vec<DatanodeId> = orders.iter().map(|o| o.node).collect();
        going.dedup();
        let index = |node: &DatanodeId| self.nodes[&node.0.as_u128()].index;
        self.gone.extend(going.iter().filter_map(index));
        assert!(self.gone.len() <= 2, "no more than the code makes up for: {:?}", self.gone);
        if going.is_empty() {
            return;
        }
        assert!(self.cluster.nodes.iter().all(|n| n.health == Health::Healthy));
        for n in going.into_iter().filter(|_| done).map(|node| node.0.as_u128()) {
            let index = self.nodes.get_mut(&n).unwrap().index.take().unwrap();
            say(&mut self.cluster, self.c, node(n), index, ReplicaState::Deleted);
        }
    }
}

proptest! {
    /// Whatever nodes fail and return, and whenever the SCM restarts: containers that can be read
    /// are revived, also after a mistaken deletion, and leftovers that cannot are deleted once all
    /// nodes are back, up to the number of indexes that the code can recover.
    #[test]
    fn what_is_left_goes_and_what_can_be_read_stays(
        past in past(),
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut world = World::new(&past);
        for step in steps {
            match step {
                Step::Kill(n) => world.nodes.get_mut(&n).unwrap().down = true,
                Step::Revive(n) if world.nodes[&n].down => {
                    world.nodes.get_mut(&n).unwrap().down = false;
                    world.register(n);
                }
                Step::Revive(_) => {}
                Step::Restart => world.restart(),
                Step::Pass(ms) => world.now += ms,
                Step::Look(done) => world.look(done),
            }
        }
        for n in 1..=9 {
            world.nodes.get_mut(&n).unwrap().down = false;
            world.register(n);
        }
        for _ in 0..3 {
            world.now += world.cluster.settings.dead_after;
            world.look(true);
            world.now += 1_000;
            world.look(true);
        }
        let indexes: BTreeSet<u32> =
            world.nodes.values().filter_map(|r| r.index).collect();
        let is_revived = state(&world.cluster, world.c) == LifeCycleState::Closed;
        match past {
            Past::Mistake(_, emptied) => {
                prop_assert!(is_revived && indexes.len() >= 3, "{:?}", world.nodes);
                prop_assert!(emptied || world.gone.is_empty(), "{:?}", world.gone);
            }
            Past::Emptied(_) => {
                let is_too_much = world.gone.union(&indexes).count() > 2;
                let is_as_it_should = indexes.is_empty() || is_revived || is_too_much;
                prop_assert!(is_as_it_should, "{:?}", world.nodes);
            }
        }
    }
}
