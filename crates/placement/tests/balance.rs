//! The container balancer: nodes become even, and no replica is ever one fewer for it.

use std::collections::BTreeMap;

use placement::balance::{Choice, Configuration, ConfigurationError, Iteration, NotBegun};
use placement::replica::moving::MoveResult;
use placement::{Change, Cluster, Container, Order, OrderKind, Replica, ReplicaState, Storage};
use proptest::prelude::*;
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, ReplicationConfig};

use crate::ec_fixture::{RS_3_2, ec};
use crate::fixture::*;

pub const CAPACITY: u64 = 1_000_000;
const UNIT: u64 = 1_000;

pub fn configuration() -> Configuration {
    Configuration {
        threshold: 10.0,
        max_datanodes_percentage: 100,
        max_size_per_iteration: 1 << 40,
        max_size_entering_target: 1 << 40,
        max_size_leaving_source: 1 << 40,
        iterations: Some(1),
        exclude_containers: [].into(),
        include_containers: [].into(),
        move_timeout: 65 * 60_000,
        replication_timeout: 50 * 60_000,
        interval: 1,
        include_nodes: [].into(),
        exclude_nodes: [].into(),
        network_topology: false,
        trigger_du: false,
        include_non_standard: false,
    }
}

pub struct World {
    pub cluster: Cluster,
    pub now: u64,
    /// Of nodes that have not [`CAPACITY`].
    pub capacities: BTreeMap<DatanodeId, u64>,
    containers: BTreeMap<ContainerId, ReplicationConfig>,
    /// True if half of a node's capacity is an SSD.
    typed: bool,
}

impl World {
    /// `racks` racks, `nodes` nodes in turn in one of them.
    pub fn new(nodes: u128, racks: u128) -> Self {
        let mut cluster = cluster(0, settings());
        for n in 1..=nodes {
            let mut details = details(n);
            details.network_location = format!("/rack{}", n % racks);
            cluster.register(details, disks(1), &[], START);
            cluster.nodes.set_confirmed(node(n), true);
        }
        Self {
            cluster,
            now: START,
            capacities: BTreeMap::new(),
            containers: BTreeMap::new(),
            typed: false,
        }
    }

    /// A closed container of `units` units on these nodes.
    pub fn add(&mut self, config: ReplicationConfig, units: u64, nodes: &[u128]) -> ContainerId {
        self.add_typed(config, units, nodes, types::StorageType::default())
    }

    fn add_typed(
        &mut self,
        config: ReplicationConfig,
        units: u64,
        nodes: &[u128],
        storage_type: types::StorageType,
    ) -> ContainerId {
        let id = container(self.containers.len() as u64 + 1);
        let container = Container {
            id,
            state: LifeCycleState::Open,
            pipeline: None,
            config,
            storage_type,
            owner: OWNER.into(),
            used_bytes: 0,
            keys: 0,
            state_enter_ms: START,
            sequence_id: 0,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        };
        self.cluster.apply(&Change::AddContainer(container)).unwrap();
        for (at, n) in nodes.iter().enumerate() {
            let index = if config.is_ec() { at as u32 + 1 } else { 0 };
            let origin = node(nodes[0]);
            let closed = replica(*n, ReplicaState::Closed, units, 5);
            report(
                &mut self.cluster,
                id,
                Replica { replica_index: index, origin, ..closed },
                START,
            );
        }
        assert_eq!(state(&self.cluster, id), LifeCycleState::Closed);
        self.containers.insert(id, config);
        id
    }

    fn used(&self, node: DatanodeId) -> u64 {
        let on = self.cluster.replicas.on_node(node);
        on.map(|id| self.cluster.replicas.on(id, node).unwrap().used_bytes).sum()
    }

    /// The disk of that type, which is half of the node.
    fn half(&self, node: DatanodeId, of: types::StorageType) -> Storage {
        let on = self.cluster.replicas.on_node(node);
        let replicas = on.filter_map(|id| self.cluster.replicas.on(id, node));
        let used = replicas.filter(|r| r.storage_type == of).map(|r| r.used_bytes).sum();
        let capacity = CAPACITY / 2;
        let remaining = capacity.saturating_sub(used);
        Storage { capacity, used, remaining, storage_type: of, ..Storage::default() }
    }

    fn nodes(&self) -> Vec<DatanodeId> {
        self.cluster.nodes.iter().map(|n| n.details.id).collect()
    }

    /// All nodes send heartbeats with their usage.
    pub fn beat(&mut self) {
        self.now += 1_000;
        for node in self.nodes() {
            if self.typed {
                let disks = [types::StorageType::Disk, types::StorageType::Ssd];
                let disks = disks.map(|of| self.half(node, of));
                self.cluster.nodes.set_storage(node, disks.to_vec());
                self.cluster.heartbeat(node, self.now);
                continue;
            }
            let used = self.used(node);
            let capacity = self.capacities.get(&node).copied().unwrap_or(CAPACITY);
            let remaining = capacity.saturating_sub(used);
            let storage = Storage { capacity, used, remaining, ..Storage::default() };
            self.cluster.nodes.set_storage(node, vec![storage]);
            self.cluster.heartbeat(node, self.now);
        }
    }

    fn percents(&self) -> Vec<f64> {
        let percent = |node| self.used(node) as f64 * 100.0 / CAPACITY as f64;
        self.nodes().into_iter().map(percent).collect()
    }

    /// The replica arrives where it was ordered to.
    fn deliver(&mut self, order: &Order) {
        match &order.kind {
            OrderKind::ReplicateContainer { id, target } => {
                let from = self.cluster.replicas.on(*id, order.node).unwrap().clone();
                report(&mut self.cluster, *id, Replica { node: *target, ..from }, self.now);
            }
            OrderKind::DeleteContainer { id, .. } => {
                let from = self.cluster.replicas.on(*id, order.node).unwrap().clone();
                let gone = Replica { state: ReplicaState::Deleted, ..from };
                report(&mut self.cluster, *id, gone, self.now);
            }
            other => panic!("{other:?}"),
        }
        self.check();
    }

    fn repairs(&mut self) -> Vec<Order> {
        self.cluster.repair_containers(ContainerId(0), 10_000, self.now).decision.orders
    }

    /// Runs the replication manager's own repairs, for racks.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            let orders = self.repairs();
            if orders.is_empty() {
                return;
            }
            orders.iter().for_each(|order| self.deliver(order));
            self.beat();
        }
        panic!("replicas are moved for ever");
    }

    /// Every container has a replica, or one of each index, on as many nodes as it should.
    fn check(&self) {
        for (id, config) in &self.containers {
            let replicas = self.cluster.replicas.of(*id);
            if config.is_ec() {
                for index in 1..=config.required_nodes() {
                    assert!(replicas.iter().any(|r| r.replica_index == index), "{id} {index}");
                }
            } else {
                assert!(replicas.len() >= config.required_nodes() as usize, "{id}");
            }
        }
    }

    /// One iteration; `fails` selects the copies that fail.
    fn balance(
        &mut self,
        configuration: Configuration,
        fails: impl Fn(usize) -> bool,
    ) -> Option<Iteration> {
        self.beat();
        self.now += self.cluster.settings.resend_after;
        self.beat();
        let mut iteration = match Iteration::begin(&self.cluster.nodes, configuration) {
            Ok(iteration) => iteration,
            Err(why) => {
                assert_eq!(why, NotBegun::Balanced);
                return None;
            }
        };
        let mut copies = 0;
        loop {
            let mut orders = Vec::new();
            let end = loop {
                match self.cluster.next_move(&mut iteration, self.now) {
                    Choice::Move(order) => orders.push(order),
                    Choice::More => {}
                    end => break end,
                }
            };
            let waits = !self.cluster.moves.is_empty();
            if end == Choice::Exhausted && !waits {
                return Some(iteration);
            }
            assert!(waits, "{end:?} for nothing");
            for order in orders {
                let OrderKind::ReplicateContainer { id, target } = order.kind else { panic!() };
                copies += 1;
                match fails(copies) {
                    true => assert!(self.cluster.pending.failed(id, target)),
                    false => self.deliver(&order),
                }
            }
            self.beat();
            for order in self.repairs() {
                self.deliver(&order);
            }
            self.beat();
            for (moved, result) in self.cluster.review_moves(self.now) {
                iteration.note(&moved, result);
            }
        }
    }
}

fn spread(percents: &[f64]) -> f64 {
    let average = percents.iter().sum::<f64>() / percents.len() as f64;
    percents.iter().map(|p| (p - average).abs()).fold(0.0, f64::max)
}

#[test]
fn nodes_that_came_later_get_their_share() {
    let mut world = World::new(6, 1);
    for _ in 0..60 {
        world.add(THREE, 10, &[1, 2, 3]);
    }
    let iteration = world.balance(configuration(), |_| false).unwrap();
    let percents = world.percents();
    assert!(spread(&percents) <= 10.0, "{percents:?}");
    let s = iteration.statistics();
    assert_eq!((s.scheduled, s.failed, s.timed_out), (s.completed, 0, 0));
    assert_eq!(s.moved_bytes, s.completed * 10 * UNIT);
    assert_eq!(s.entered.values().sum::<u64>(), s.moved_bytes);
    assert_eq!(s.left.keys().copied().collect::<Vec<_>>(), [node(1), node(2), node(3)]);
    assert!(world.balance(configuration(), |_| false).is_none(), "it is balanced");
}

/// Half of what nodes have is DISK, the other half SSD. All are as full as the others, and the
/// SSDs are not.
#[test]
fn each_storage_type_is_made_even_by_itself() {
    let ssd = types::StorageType::Ssd;
    let mut world = World::new(6, 1);
    let mut add = |of, nodes: &[u128]| {
        let id = world.add_typed(THREE, 10, nodes, of);
        for n in nodes {
            let found = world.cluster.replicas.on(id, node(*n)).unwrap().clone();
            let typed = Replica { storage_type: of, ..found };
            report(&mut world.cluster, id, typed, START);
        }
        id
    };
    let on_ssd: Vec<_> = (0..30).map(|_| add(ssd, &[1, 2, 3])).collect();
    let on_disk: Vec<_> = (0..30).map(|_| add(types::StorageType::Disk, &[4, 5, 6])).collect();
    world.typed = true;
    let before: Vec<_> = world.percents();
    assert!(spread(&before) < 1.0, "all nodes are as full: {before:?}");
    world.balance(configuration(), |_| false).unwrap();
    let moved = |ids: &[ContainerId], nodes: [u128; 3]| {
        let on = |id: &ContainerId| {
            nodes.iter().any(|n| world.cluster.replicas.on(*id, node(*n)).is_some())
        };
        ids.iter().filter(|id| on(id)).count()
    };
    assert!(moved(&on_ssd, [4, 5, 6]) >= 10, "SSDs of nodes 4 to 6 were empty");
    assert!(moved(&on_disk, [1, 2, 3]) >= 10, "disks of nodes 1 to 3 were empty");
    assert!(world.balance(configuration(), |_| false).is_none(), "it is balanced");
}

#[test]
fn an_iteration_keeps_within_its_limits() {
    let fill = || {
        let mut world = World::new(6, 1);
        for _ in 0..60 {
            world.add(THREE, 10, &[1, 2, 3]);
        }
        world
    };
    let limited = Configuration { max_size_per_iteration: 50 * UNIT, ..configuration() };
    let moved = fill().balance(limited, |_| false).unwrap().statistics().moved_bytes;
    assert_eq!(moved, 50 * UNIT);
    let limited = Configuration { max_size_leaving_source: 25 * UNIT, ..configuration() };
    let iteration = fill().balance(limited, |_| false).unwrap();
    assert!(iteration.statistics().left.values().all(|bytes| *bytes == 20 * UNIT));
    let limited = Configuration { max_size_entering_target: 35 * UNIT, ..configuration() };
    let iteration = fill().balance(limited, |_| false).unwrap();
    assert!(iteration.statistics().entered.values().all(|bytes| *bytes == 30 * UNIT));
    // Two of six nodes.
    let limited = Configuration { max_datanodes_percentage: 34, ..configuration() };
    let iteration = fill().balance(limited, |_| false).unwrap();
    let s = iteration.statistics();
    assert_eq!((s.left.len(), s.entered.len()), (1, 1));
    let none = Configuration { max_datanodes_percentage: 10, ..configuration() };
    let iteration = fill().balance(none, |_| false).unwrap();
    assert_eq!(iteration.result().as_str(), "CAN_NOT_BALANCE_ANY_MORE");
}

#[test]
fn what_is_excluded_stays() {
    let mut world = World::new(4, 1);
    let ids: Vec<_> = (0..60).map(|_| world.add(THREE, 10, &[1, 2, 3])).collect();
    let one = Configuration { include_containers: [ids[7], ids[8]].into(), ..configuration() };
    let one = Configuration { exclude_containers: [ids[8]].into(), ..one };
    assert_eq!(world.balance(one, |_| false).unwrap().statistics().completed, 1);
    assert!(world.cluster.replicas.on(ids[7], node(4)).is_some());
    let without = Configuration { exclude_nodes: ["host4".into()].into(), ..configuration() };
    assert!(world.balance(without, |_| false).is_none(), "the others are even");
    let only = Configuration {
        include_nodes: ["10.0.0.1".into(), "host4".into()].into(),
        ..configuration()
    };
    let iteration = world.balance(only, |_| false).unwrap();
    assert_eq!(iteration.statistics().left.keys().copied().collect::<Vec<_>>(), [node(1)]);
}

#[test]
fn a_move_whose_copy_is_late_is_given_up_and_one_whose_deletion_is_late_too() {
    let mut world = World::new(4, 1);
    let id = world.add(THREE, 200, &[1, 2, 3]);
    let other = world.add(THREE, 200, &[1, 2, 3]);
    let configuration = || Configuration { exclude_containers: [other].into(), ..configuration() };
    world.beat();
    world.now += world.cluster.settings.resend_after;
    world.beat();
    let mut iteration = Iteration::begin(&world.cluster.nodes, configuration()).unwrap();
    let Choice::Move(order) = world.cluster.next_move(&mut iteration, world.now) else { panic!() };
    assert_eq!(world.cluster.next_move(&mut iteration, world.now), Choice::Exhausted);
    assert_eq!(world.cluster.review_moves(world.now), []);
    // The copy has timed out.
    world.now += configuration().replication_timeout;
    world.beat();
    assert_eq!(world.repairs(), []);
    let ended = world.cluster.review_moves(world.now);
    assert_eq!(ended.iter().map(|(_, r)| *r).collect::<Vec<_>>(), [MoveResult::Failed]);
    iteration.note(&ended[0].0, ended[0].1);
    assert_eq!(iteration.statistics().failed, 1);

    // Another iteration: the copy arrives, and the source sends no heartbeats.
    let mut iteration = Iteration::begin(&world.cluster.nodes, configuration()).unwrap();
    let Choice::Move(again) = world.cluster.next_move(&mut iteration, world.now) else { panic!() };
    assert_eq!(again.kind, order.kind);
    world.deliver(&again);
    world.now += configuration().move_timeout;
    assert_eq!(world.cluster.review_moves(world.now)[0].1, MoveResult::TimedOut);
    world.beat();
    // One of the four is deleted anyway; the choice is as without the move.
    assert_eq!(world.repairs().len(), 1);
    assert_eq!(world.cluster.replicas.of(id).len(), 4);
}

#[test]
fn racks_are_as_good_as_before() {
    // Nodes 2, 4 and 6 are in one rack, 1, 3 and 5 in the other.
    let mut world = World::new(6, 2);
    let ids: Vec<_> = (0..60).map(|_| world.add(THREE, 10, &[1, 2, 4])).collect();
    world.balance(configuration(), |_| false).unwrap();
    for id in ids {
        let count = world.cluster.replica_count(world.cluster.containers.get(id).unwrap()).unwrap();
        assert!(!count.misplaced && count.excess() == 0, "{count:?}");
    }
}

#[test]
fn a_configuration_that_moves_nothing_is_refused() {
    let world = World::new(3, 1);
    let check = |c: Configuration| c.check(&world.cluster.nodes, 5 << 30, 6 * 60_000);
    assert_eq!(check(configuration()), Ok(()));
    let small = Configuration { max_size_entering_target: 5 << 30, ..configuration() };
    assert!(matches!(check(small), Err(ConfigurationError::SmallerThanContainer(_))));
    let late = Configuration { replication_timeout: 65 * 60_000, ..configuration() };
    assert_eq!(check(late), Err(ConfigurationError::ReplicationTimeout));
    let late = Configuration { replication_timeout: 51 * 60_000, ..configuration() };
    assert!(matches!(check(late), Err(ConfigurationError::DeletionTime { .. })));
    let unknown = Configuration { exclude_nodes: ["host9".into()].into(), ..configuration() };
    assert!(matches!(
        check(unknown),
        Err(ConfigurationError::UnknownNode { list: "excluded", .. })
    ));
}

prop_compose! {
    fn placed()(seed in any::<u64>(), units in 1..40_u64, coded in any::<bool>()) -> (u64, u64, bool) {
        (seed, units, coded)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// For any distribution, and any failing copies: nodes are no less even than before, each
    /// replica exists once in the end, and those that can be balanced are.
    #[test]
    fn an_iteration_makes_nodes_more_even(
        nodes in 6..10_u128,
        racks in 1..4_u128,
        few in 5..7_u128,
        containers in proptest::collection::vec(placed(), 1..60),
        bad in 2..9_usize,
    ) {
        let mut world = World::new(nodes, racks);
        for (seed, units, coded) in containers {
            // Most of them are on the first nodes.
            let on = if seed % 4 == 0 { nodes } else { few.min(nodes) };
            let config = if coded { ec(RS_3_2) } else { THREE };
            let first = u128::from(seed) % on;
            let members: Vec<u128> =
                (0..config.required_nodes()).map(|i| (first + u128::from(i)) % on + 1).collect();
            world.add(config, units, &members);
        }
        world.now += world.cluster.settings.resend_after;
        world.beat();
        world.settle();
        let before = spread(&world.percents());
        let configuration = Configuration { threshold: 2.0, ..configuration() };
        world.balance(configuration, |copy| copy % bad == 0);
        world.settle();
        prop_assert!(spread(&world.percents()) <= before + 1e-9);
        for (id, config) in &world.containers {
            prop_assert_eq!(world.cluster.replicas.of(*id).len(), config.required_nodes() as usize);
        }
    }
}
