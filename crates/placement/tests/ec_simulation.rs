//! Random histories of erasure coded containers: nodes fail and come back with their replicas,
//! disks are lost, replicas are damaged, operators take nodes out of service, orders are lost,
//! late, fail or are half carried out, SCM restarts. Whole groups are down during restarts, and
//! come back a few nodes at a time. At the start containers are written, or were created in advance
//! and never written, or have their blocks deleted on all reachable nodes.
//!
//! No order may ever reduce the number of different good indexes, nor may a container with blocks
//! in use ever be deleted; and in the end every one has one good replica of each index. Of one
//! whose blocks are deleted never more indexes are ordered to be deleted than the code can recover.
//! Faults from outside always leave enough to decode the rest.

use std::collections::{BTreeMap, BTreeSet};

use placement::replica::pending::Task;
use placement::{Change, Cluster, Decision, Health, Order, OrderKind, Replica, ReplicaState};
use proptest::prelude::*;
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, OperationalState, PipelineId, ReplicationConfig};

use crate::ec_fixture::*;
use crate::fixture::*;

const NODES: u128 = 12;
const RACKS: u128 = 4;
const TICK: u64 = 3_000;

/// A replica as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Real {
    index: u32,
    state: ReplicaState,
    empty: bool,
}

impl Real {
    /// True if its bytes are intact, closed or not.
    fn has_part(self, of: &ReplicationConfig) -> bool {
        use ReplicaState::{Closed, Closing, Open};
        matches!(self.state, Open | Closing | Closed)
            && (1..=of.required_nodes()).contains(&self.index)
    }

    fn is_good(self, of: &ReplicationConfig) -> bool {
        self.state == ReplicaState::Closed && (1..=of.required_nodes()).contains(&self.index)
    }
}

#[derive(Debug, Clone)]
struct Given {
    term: u64,
    at: u64,
    kind: OrderKind,
}

/// A node as it is.
#[derive(Debug, Clone, Default)]
struct Datanode {
    up: bool,
    replicas: BTreeMap<ContainerId, Real>,
    orders: Vec<Given>,
    /// The latest term of an SCM that it received.
    term: u64,
    serves: OperationalState,
}

struct World {
    cluster: Cluster,
    nodes: BTreeMap<u128, Datanode>,
    configs: BTreeMap<ContainerId, ReplicationConfig>,
    /// Containers of which all blocks are deleted.
    dead: BTreeSet<ContainerId>,
    /// Indexes ordered to be deleted after the deletion of their containers.
    cleared: BTreeMap<ContainerId, BTreeSet<u32>>,
    term: u64,
    now: u64,
    /// An SCM that starts waits for its nodes.
    repairs_from: u64,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Done,
    Late,
    Lost,
    Failed,
    /// Some of the targets get theirs.
    Half,
}

#[derive(Debug, Clone)]
enum Step {
    Kill(u128),
    Revive(u128),
    /// All nodes go that have a replica of a container.
    Part(usize),
    /// This many failed nodes come back.
    ReviveSome(usize),
    /// SCM starts while all nodes with a replica of a container are down. After a while the failed
    /// ones come back, this many at a time.
    Outage(usize, usize),
    /// The nodes with a replica of a container fail one after the other, and their indexes are
    /// decoded elsewhere; then all blocks are deleted, and the nodes come back.
    Retire(usize, usize),
    /// All blocks of a container are deleted, on the nodes that are up.
    Empty(usize),
    /// A node loses its disks.
    Wipe(u128),
    /// A replica is damaged, or reports another index.
    Damage(u128, usize, Option<u32>),
    Decommission(u128),
    Maintain(u128),
    Recommission(u128),
    Pass(u64),
    Tick(Vec<Fate>),
    RestartScm,
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 1..=NODES;
    let fate = prop_oneof![
        6 => Just(Fate::Done),
        2 => Just(Fate::Late),
        1 => Just(Fate::Lost),
        2 => Just(Fate::Failed),
        2 => Just(Fate::Half),
    ];
    let damage = prop_oneof![3 => Just(None), 1 => prop_oneof![Just(0), Just(77)].prop_map(Some)];
    prop_oneof![
        3 => n().prop_map(Step::Kill),
        3 => n().prop_map(Step::Revive),
        1 => (0..5_usize).prop_map(Step::Part),
        1 => (1..4_usize).prop_map(Step::ReviveSome),
        1 => (0..5_usize, 1..4_usize).prop_map(|(i, some)| Step::Outage(i, some)),
        1 => (0..4_usize, 1..4_usize).prop_map(|(i, some)| Step::Retire(i, some)),
        1 => (0..4_usize).prop_map(Step::Empty),
        2 => n().prop_map(Step::Wipe),
        3 => (n(), 0..4_usize, damage).prop_map(|(n, i, to)| Step::Damage(n, i, to)),
        1 => n().prop_map(Step::Decommission),
        1 => n().prop_map(Step::Maintain),
        2 => n().prop_map(Step::Recommission),
        1 => prop_oneof![Just(4_000_u64), Just(11_000), Just(40_000), Just(70_000)]
            .prop_map(Step::Pass),
        12 => proptest::collection::vec(fate, 1..8).prop_map(Step::Tick),
        1 => Just(Step::RestartScm),
    ]
}

/// The container that is written when the story begins, and the one that never is.
const WRITTEN: ContainerId = ContainerId(5);
const UNUSED: ContainerId = ContainerId(6);

/// A container of rs-3-2 that takes writes.
fn open(cluster: &mut Cluster, id: ContainerId) -> PipelineId {
    let pipeline = make(cluster, ec(RS_3_2), id.0.into());
    open_container(cluster, id.0, pipeline);
    pipeline
}

fn number(node: DatanodeId) -> u128 {
    node.0.as_u128()
}

impl World {
    fn new() -> Self {
        let mut cluster = in_racks(NODES, RACKS);
        cluster.settings.replication.timeout = 60_000;
        let kinds = ["rs-3-2-1024k", "rs-6-3-1024k", "xor-2-1-1024k", "rs-3-2-1024k"];
        let mut configs = BTreeMap::new();
        for (id, kind) in (1..).zip(kinds) {
            let (_, c) = closed_as(&mut cluster, kind, id);
            configs.insert(c, ec(kind));
        }
        let mut nodes: BTreeMap<u128, Datanode> = BTreeMap::new();
        for n in 1..=NODES {
            let of = |id: &ContainerId| cluster.replicas.on(*id, node(n));
            let real = |r: &Replica| Real { index: r.replica_index, state: r.state, empty: false };
            let replicas = configs.keys().filter_map(|id| Some((*id, real(of(id)?)))).collect();
            nodes.insert(n, Datanode { up: true, replicas, term: 1, ..Datanode::default() });
        }
        let written = open(&mut cluster, WRITTEN);
        open(&mut cluster, UNUSED);
        configs.insert(WRITTEN, ec(RS_3_2));
        for index in 1..=5 {
            let on = indexed(&cluster, written, index, ReplicaState::Open).node;
            let real = Real { index, state: ReplicaState::Open, empty: false };
            nodes.get_mut(&number(on)).unwrap().replicas.insert(WRITTEN, real);
        }
        Self {
            cluster,
            nodes,
            configs,
            dead: BTreeSet::new(),
            cleared: BTreeMap::new(),
            term: 1,
            now: START + 20_000,
            repairs_from: 0,
        }
    }

    /// Containers with blocks that are in use.
    fn live(&self) -> impl Iterator<Item = ContainerId> + '_ {
        self.configs.keys().copied().filter(|id| !self.dead.contains(id))
    }

    /// Counts the deletions ordered of a deleted container.
    fn count_cleared(&mut self, order: &Order) {
        let OrderKind::DeleteContainer { id, force: true, .. } = order.kind else { return };
        let state = self.cluster.containers.get(id).unwrap().state;
        if !matches!(state, LifeCycleState::Deleting | LifeCycleState::Deleted) {
            return;
        }
        let Some(real) = self.nodes[&number(order.node)].replicas.get(&id) else { return };
        if !real.empty {
            let ReplicationConfig::Ec(ec) = self.configs[&id] else { unreachable!() };
            let cleared = self.cleared.entry(id).or_default();
            cleared.insert(real.index);
            assert!(cleared.len() <= ec.parity as usize, "{id}: {cleared:?}");
        }
    }

    fn up(&self) -> Vec<u128> {
        self.nodes.iter().filter(|(_, dn)| dn.up).map(|(n, _)| *n).collect()
    }

    fn carry_out(&mut self, decision: Decision) {
        for order in decision.orders {
            self.count_cleared(&order);
            let Order { node, kind } = order;
            let given = Given { term: self.term, at: self.now, kind };
            self.nodes.get_mut(&number(node)).unwrap().orders.push(given);
        }
        for change in decision.changes {
            if self.cluster.apply(&change).is_ok() {
                let more = self.cluster.follow_up(&change, self.now);
                self.carry_out(more);
            }
        }
    }

    fn report(&mut self, n: u128) {
        let one = |(id, real): (&ContainerId, &Real)| {
            let replica = part(node(n), real.index, real.state);
            let empty = Replica { keys: 0, used_bytes: 0, is_empty: true, ..replica.clone() };
            (*id, if real.empty { empty } else { replica })
        };
        let replicas = self.nodes[&n].replicas.iter().map(one).collect();
        let decision = self.cluster.report_all_replicas(node(n), replicas, self.now);
        self.carry_out(decision);
    }

    fn register(&mut self, n: u128) {
        let dn = self.nodes.get_mut(&n).unwrap();
        dn.term = self.term;
        let mut details = details(n);
        details.network_location = format!("/rack{}", n % RACKS);
        details.op_state = dn.serves;
        let (_, decision) = self.cluster.register(details, disks(1), &[], self.now);
        self.carry_out(decision);
        self.report(n);
    }

    /// Returns `true` if a node still carries out an order.
    fn counts(&self, n: u128, given: &Given) -> bool {
        let dn = &self.nodes[&n];
        let deadline = given.at + self.cluster.settings.replication.timeout / 2;
        given.term >= dn.term && self.now <= deadline
    }

    fn is_being_deleted(&self, n: u128, id: ContainerId) -> bool {
        let deletes = |given: &Given| {
            matches!(given.kind, OrderKind::DeleteContainer { id: of, force: true, .. } if of == id)
                && self.counts(n, given)
        };
        self.nodes[&n].orders.iter().any(deletes)
    }

    /// Different good indexes on disks, excluding those on `without` and those being deleted.
    fn sure(&self, id: ContainerId, without: &[u128]) -> BTreeSet<u32> {
        self.sure_of(id, without, Real::is_good)
    }

    fn sure_of(
        &self,
        id: ContainerId,
        without: &[u128],
        counts: impl Fn(Real, &ReplicationConfig) -> bool,
    ) -> BTreeSet<u32> {
        let good = |(n, dn): (&u128, &Datanode)| {
            let real = dn.replicas.get(&id).filter(|real| counts(**real, &self.configs[&id]))?;
            let stays = !without.contains(n) && !self.is_being_deleted(*n, id);
            stays.then_some(real.index)
        };
        self.nodes.iter().filter_map(good).collect()
    }

    fn data(&self, id: ContainerId) -> usize {
        let ReplicationConfig::Ec(ec) = self.configs[&id] else { unreachable!() };
        ec.data as usize
    }

    /// Returns `true` if a container can be decoded without the replicas of a node.
    fn spares(&self, n: u128, id: ContainerId) -> bool {
        self.dead.contains(&id) || self.sure_of(id, &[n], Real::has_part).len() >= self.data(id)
    }

    /// Checks that orders are valid by the reports to SCM, and by the actual state.
    fn check_order(&self, order: &Order) {
        let n = number(order.node);
        match &order.kind {
            OrderKind::DeleteContainer { id, .. } => {
                let config = &self.configs[id];
                let Some(victim) = self.nodes[&n].replicas.get(id) else { return };
                let others = self.sure(*id, &[n]);
                assert!(
                    !victim.is_good(config) || others.contains(&victim.index),
                    "index {} of {id} goes: {:?}",
                    victim.index,
                    self.nodes
                );
                // One that is not closed yet counts: it may be the last of its index.
                assert!(self.spares(n, *id), "what is left of {id} is too little without {n}");
            }
            OrderKind::ReconstructEcContainer { id, .. } => {
                let made = reconstruction(order);
                assert!(made.sources.len() >= self.data(*id), "{order:?}");
                let known = |(source, index): &(DatanodeId, u32)| {
                    assert!(self.cluster.nodes.is_healthy(*source));
                    let known = self.cluster.replicas.on(*id, *source).unwrap();
                    assert_eq!(known.replica_index, *index);
                    known.state
                };
                let states: Vec<_> = made.sources.iter().map(known).collect();
                let good = states.iter().filter(|state| **state == ReplicaState::Closed).count();
                // Damaged ones only when there are too few others.
                let damaged = |s: &ReplicaState| *s == ReplicaState::Unhealthy;
                assert_eq!(good, states.iter().filter(|s| !damaged(s)).count(), "{order:?}");
                assert!(good == states.len() || good < self.data(*id), "{order:?}");
                for (target, index) in &made.targets {
                    assert_eq!(self.cluster.replicas.on(*id, *target), None);
                    assert!(self.cluster.nodes.get(*target).unwrap().accepts_writes());
                    for there in nodes_of(&self.cluster, *id, *index) {
                        let there = self.cluster.nodes.get(there).unwrap();
                        let serves = there.details.op_state == OperationalState::InService;
                        let mut going = self.cluster.pending.of(*id).iter();
                        let id_there = there.details.id;
                        let goes = going.any(|p| p.node == id_there && p.task == Task::Delete);
                        let is_there = serves && there.health != Health::Dead && !goes;
                        assert!(!is_there, "index {index} of {id} is there: {order:?}");
                    }
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, fates: &[Fate]) {
        self.now += TICK;
        for n in self.up() {
            let dn = &self.nodes[&n];
            let knows = dn.term == self.term;
            let serves = dn.serves;
            if !knows || self.cluster.heartbeat(node(n), self.now).is_none() {
                self.register(n);
            } else {
                let decision = self.cluster.report_op_state(node(n), serves, 0, true);
                self.carry_out(decision);
                self.report(n);
            }
        }
        let (_, decision) = self.cluster.watch_nodes(self.now);
        self.carry_out(decision);
        let (_, decision) = self.cluster.check_leaving_nodes(self.now);
        self.carry_out(decision);
        let decision = self.cluster.scrub_pipelines(self.now);
        self.carry_out(decision);
        let decision = self.cluster.review_containers(self.now);
        self.carry_out(decision);
        let decision = self.cluster.clean_containers(self.now);
        self.carry_out(decision);
        if self.now >= self.repairs_from {
            let decision = self.cluster.clear_left_overs(self.now);
            self.carry_out(decision);
            let decision = self.cluster.repeat_closes(ContainerId(0), 1_000, self.now);
            self.carry_out(decision);
            let repairs = self.cluster.repair_containers(ContainerId(0), 1_000, self.now);
            for order in repairs.decision.orders {
                self.check_order(&order);
                self.carry_out(Decision { orders: vec![order], ..Decision::default() });
            }
        }
        let mut turn = 0;
        for n in self.up() {
            let orders = std::mem::take(&mut self.nodes.get_mut(&n).unwrap().orders);
            for given in orders {
                let fate = fates.get((turn + n as usize) % fates.len().max(1)).copied();
                turn += 1;
                if self.counts(n, &given) {
                    self.obey(n, given, fate.unwrap_or(Fate::Done));
                }
            }
            self.report(n);
        }
    }

    fn obey(&mut self, n: u128, given: Given, fate: Fate) {
        match (fate, given.kind) {
            (Fate::Late, kind) => {
                let given = Given { kind, ..given };
                self.nodes.get_mut(&n).unwrap().orders.push(given);
            }
            (_, OrderKind::SetOperationalState { state, .. }) => {
                self.nodes.get_mut(&n).unwrap().serves = state;
            }
            (Fate::Lost, _) => {}
            (Fate::Done, OrderKind::CloseContainer { id, .. }) => {
                let replicas = &mut self.nodes.get_mut(&n).unwrap().replicas;
                let takes_writes = |real: &&mut Real| {
                    matches!(real.state, ReplicaState::Open | ReplicaState::Closing)
                };
                if let Some(real) = replicas.get_mut(&id).filter(takes_writes) {
                    real.state = ReplicaState::Closed;
                }
            }
            (Fate::Done, OrderKind::DeleteContainer { id, index, force }) => {
                // With `force`: other replicas may have been lost since the order, which no rule
                // can detect.
                let replicas = &mut self.nodes.get_mut(&n).unwrap().replicas;
                let may_go = |real: &Real| {
                    let is_meant = index == 0 || index == real.index;
                    is_meant && (force || real.empty && real.state == ReplicaState::Closed)
                };
                if replicas.get(&id).is_some_and(may_go) {
                    replicas.remove(&id);
                }
            }
            (fate, OrderKind::ReplicateContainer { id, target }) => {
                let real = self.nodes[&n].replicas.get(&id).copied();
                let real = real.filter(|real| real.state == ReplicaState::Closed);
                match (fate, real) {
                    (Fate::Done, Some(real)) => self.store(number(target), id, real),
                    _ => {
                        self.cluster.pending.failed(id, target);
                    }
                }
            }
            (fate, OrderKind::ReconstructEcContainer { id, sources, targets }) => {
                self.reconstruct(id, &sources, &targets, fate);
            }
            _ => {}
        }
    }

    /// Different sound indexes on disks.
    fn on_disks(&self, id: ContainerId) -> BTreeSet<u32> {
        let reals = self.nodes.values().filter_map(|dn| dn.replicas.get(&id));
        reals.filter(|real| real.has_part(&self.configs[&id])).map(|real| real.index).collect()
    }

    fn store(&mut self, n: u128, id: ContainerId, real: Real) {
        let dn = self.nodes.get_mut(&n).unwrap();
        if dn.up {
            dn.replicas.entry(id).or_insert(real);
        }
    }

    fn reconstruct(
        &mut self,
        id: ContainerId,
        sources: &[(DatanodeId, u32)],
        targets: &[(DatanodeId, u32)],
        fate: Fate,
    ) {
        let read = |(node, index): &(DatanodeId, u32)| {
            let dn = &self.nodes[&number(*node)];
            let real = dn.replicas.get(&id).filter(|_| dn.up)?;
            (real.index == *index && real.state == ReplicaState::Closed).then_some(*real)
        };
        let readable: Vec<Real> = sources.iter().filter_map(read).collect();
        let enough = readable.len() >= self.data(id);
        // Deleted containers are not recreated from the remaining replicas.
        let empty = readable.iter().any(|real| real.empty);
        let good = Real { index: 0, state: ReplicaState::Closed, empty };
        let done = match fate {
            Fate::Done => targets.len(),
            Fate::Half => targets.len() / 2,
            _ => 0,
        };
        let done = if enough { done } else { 0 };
        for (node, index) in targets.iter().take(done) {
            self.store(number(*node), id, Real { index: *index, ..good });
        }
        if done < targets.len() {
            for (node, _) in targets {
                self.cluster.pending.failed(id, *node);
            }
        }
    }

    fn restart_scm(&mut self) {
        let mut fresh = Cluster::new(self.cluster.settings.clone());
        for c in self.cluster.containers.from(ContainerId(0)) {
            let mut c = c.clone();
            if c.state == LifeCycleState::Open {
                // The row has its size as of when it was made.
                (c.keys, c.used_bytes) = (0, 0);
            }
            fresh.containers.insert(c);
        }
        for e in self.cluster.pipelines.iter() {
            fresh.pipelines.insert((*e.record).clone());
        }
        fresh.destinations = self.cluster.destinations.clone();
        fresh.begin_safe_mode();
        fresh.note_state_machine_ready();
        self.cluster = fresh;
        self.term += 1;
        self.repairs_from = self.now + 3 * TICK;
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Part(i) => {
                let Some(id) = self.configs.keys().nth(i).copied() else { return };
                for dn in self.nodes.values_mut().filter(|dn| dn.replicas.contains_key(&id)) {
                    dn.up = false;
                    dn.orders.clear();
                }
            }
            Step::Outage(i, some) => {
                self.play(&Step::Part(i));
                self.play(&Step::RestartScm);
                (0..4).for_each(|_| self.be_calm());
                self.come_back(some);
            }
            Step::Retire(i, some) => {
                let Some(id) = self.configs.keys().nth(i).copied() else { return };
                for index in 1..=3 {
                    let good = |dn: &Datanode| {
                        dn.replicas.get(&id).is_some_and(|real| {
                            real.index == index && real.is_good(&self.configs[&id])
                        })
                    };
                    let has_it = self.nodes.iter().find(|(_, dn)| dn.up && good(dn));
                    let Some(n) = has_it.map(|(n, _)| *n) else { continue };
                    self.nodes.get_mut(&n).unwrap().up = false;
                    (0..4).for_each(|_| self.be_calm());
                }
                self.play(&Step::Empty(i));
                (0..3).for_each(|_| self.be_calm());
                self.come_back(some);
            }
            Step::ReviveSome(count) => {
                let down = self.nodes.iter().filter(|(_, dn)| !dn.up).map(|(n, _)| *n);
                for n in down.take(count).collect::<Vec<_>>() {
                    self.play(&Step::Revive(n));
                }
            }
            Step::Empty(i) => {
                let Some(id) = self.configs.keys().nth(i).copied() else { return };
                if state(&self.cluster, id) == LifeCycleState::Closed {
                    self.dead.insert(id);
                    for n in self.up() {
                        let real = self.nodes.get_mut(&n).unwrap().replicas.get_mut(&id);
                        if let Some(real) = real.filter(|r| r.state == ReplicaState::Closed) {
                            real.empty = true;
                        }
                    }
                }
            }
            Step::Kill(n) if self.up().len() as u128 > NODES - 3 => {
                let dn = self.nodes.get_mut(&n).unwrap();
                dn.up = false;
                dn.orders.clear();
            }
            Step::Revive(n) if !self.nodes[&n].up => {
                let dn = self.nodes.get_mut(&n).unwrap();
                dn.up = true;
                // Commands queued for it are decided again.
                dn.orders.clear();
                self.register(n);
            }
            // The lost disks of a stopped node are not known.
            Step::Wipe(n) if self.nodes[&n].up => {
                if self.configs.keys().all(|id| self.spares(n, *id)) {
                    self.nodes.get_mut(&n).unwrap().replicas.clear();
                    self.register(n);
                }
            }
            Step::Damage(n, i, index) if self.nodes[&n].up => {
                let id = self.nodes[&n].replicas.keys().nth(i).copied();
                if let Some(id) = id.filter(|id| self.spares(n, *id)) {
                    let real = self.nodes.get_mut(&n).unwrap().replicas.get_mut(&id).unwrap();
                    match index {
                        Some(index) => real.index = index,
                        None => real.state = ReplicaState::Unhealthy,
                    }
                    self.register(n);
                }
            }
            Step::Kill(_) | Step::Revive(_) | Step::Wipe(_) | Step::Damage(..) => {}
            // Unknown to an SCM that has just started, or in a state that does not allow it.
            Step::Decommission(n) => {
                choose_destination(&mut self.cluster, n);
                if let Ok(decision) = self.cluster.decommission(node(n), self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Maintain(n) => {
                choose_destination(&mut self.cluster, n);
                if let Ok(decision) = self.cluster.begin_maintenance(node(n), 0, self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Recommission(n) => {
                if let Ok(decision) = self.cluster.recommission(node(n), self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Pass(ms) => self.now += ms,
            Step::Tick(ref fates) => self.tick(fates),
            Step::RestartScm => self.restart_scm(),
        }
        for id in self.live() {
            assert!(self.on_disks(id).len() >= self.data(id), "{id}: {:?}", self.nodes);
            let state = state(&self.cluster, id);
            let is_kept = !matches!(state, LifeCycleState::Deleting | LifeCycleState::Deleted);
            assert!(is_kept, "{id} is {state:?}: {:?}", self.nodes);
        }
    }

    /// Half a minute in which all that is ordered is done.
    fn be_calm(&mut self) {
        self.play(&Step::Tick(vec![Fate::Done]));
        self.play(&Step::Pass(30_000));
        self.play(&Step::Tick(vec![Fate::Done]));
    }

    /// Failed nodes come back, this many at a time, with some checks in between.
    fn come_back(&mut self, some: usize) {
        while self.up().len() < self.nodes.len() {
            self.play(&Step::ReviveSome(some));
            (0..2).for_each(|_| self.be_calm());
        }
    }

    /// All nodes are back and serve, without further events.
    fn run_until_stable(&mut self) {
        (1..=NODES).for_each(|n| self.play(&Step::Revive(n)));
        for round in 0..160 {
            if round == 5 {
                (1..=NODES).for_each(|n| self.play(&Step::Recommission(n)));
                let ids: Vec<_> = self.cluster.pipelines.iter().map(|e| e.record.id).collect();
                let close = |id| Change::ClosePipeline { id, now: self.now };
                let changes = ids.into_iter().map(close).collect();
                self.carry_out(Decision { changes, ..Decision::default() });
            }
            self.play(&Step::Tick(vec![Fate::Done]));
        }
        assert_eq!(state(&self.cluster, UNUSED), LifeCycleState::Deleted);
        for (id, config) in self.configs.iter().filter(|(id, _)| !self.dead.contains(*id)) {
            let replicas: Vec<_> =
                self.nodes.iter().filter_map(|(n, dn)| Some((*n, *dn.replicas.get(id)?))).collect();
            let mut indexes: Vec<u32> = replicas.iter().map(|(_, real)| real.index).collect();
            indexes.sort_unstable();
            let all: Vec<u32> = (1..=config.required_nodes()).collect();
            assert_eq!(indexes, all, "{id}: {replicas:?}");
            assert!(replicas.iter().all(|(_, real)| real.is_good(config)), "{id}: {replicas:?}");
            let ReplicationConfig::Ec(ec) = config else { unreachable!() };
            let most = (ec.parity as usize).max(all.len().div_ceil(RACKS as usize));
            for rack in 0..RACKS {
                let there = replicas.iter().filter(|(n, _)| n % RACKS == rack).count();
                assert!(there <= most, "{id}: {there} of {} in a rack", all.len());
            }
            assert_eq!(health(&self.cluster, *id), "HEALTHY");
        }
        let pending = &self.cluster.pending;
        assert_eq!((pending.copies(), pending.deletions()), (0, 0));
        assert!(!self.cluster.any_node_leaves());
    }
}

/// Number of histories: `PROPTEST_CASES`, else 300.
#[allow(clippy::disallowed_methods, reason = "how long the test is to run")]
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn no_order_costs_a_good_index_and_all_come_back(
        steps in proptest::collection::vec(step(), 1..150)
    ) {
        let mut world = World::new();
        for step in &steps {
            world.play(step);
        }
        world.run_until_stable();
    }
}
