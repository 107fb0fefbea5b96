//! A replica is deleted only if enough others certainly exist, whatever heartbeats arrive and
//! whichever SCM leads.

use std::collections::{BTreeMap, BTreeSet};

use placement::{Change, Cluster, OrderKind, Replica, ReplicaState, Settings, Transaction};
use proptest::prelude::*;
use types::ContainerId;

use crate::fixture::*;

const NODES: u128 = 6;
const REQUIRED: usize = 3;

/// Container 1, closed on nodes 1 to 3, and a copy of it on each of `copies`.
fn closed(copies: &[u128]) -> (Cluster, ContainerId) {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let p = make_pipelines(&mut cluster, 1, START)[0];
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 5, START);
    for n in 4..=NODES {
        register(&mut cluster, n, &[], START);
    }
    for n in copies {
        report(&mut cluster, c, copy(*n), START);
    }
    (cluster, c)
}

fn copy(n: u128) -> placement::Replica {
    placement::Replica { origin: node(1), ..replica(n, ReplicaState::Closed, 5, 5) }
}

fn repair(cluster: &mut Cluster, now: u64) -> Vec<placement::Order> {
    cluster.repair_containers(ContainerId(0), 100, now).decision.orders
}

fn deletions(orders: &[placement::Order]) -> Vec<u128> {
    let deletes = |o: &&placement::Order| matches!(o.kind, OrderKind::DeleteContainer { .. });
    orders.iter().filter(deletes).map(|o| o.node.0.as_u128()).collect()
}

/// Heartbeats of these nodes, and a check of all.
fn beat(cluster: &mut Cluster, nodes: &[u128], now: u64) {
    for n in nodes {
        cluster.heartbeat(node(*n), now);
    }
    let (_, decision) = cluster.watch_nodes(now);
    apply(cluster, &decision);
}

/// Container 1 on nodes 1 to 4, of which one has missed a deletion of blocks and gets the order to
/// delete its replica.
fn late_one_goes(late: u128) -> (Cluster, ContainerId) {
    let (mut cluster, c) = closed(&[4]);
    let transaction = Transaction { id: 7, container: c, ..Default::default() };
    cluster.apply(&Change::AddDeletions(vec![transaction])).unwrap();
    cluster.apply(&Change::RemoveDeletions(vec![7])).unwrap();
    for replica in cluster.replicas.of(c).to_vec() {
        let delete_transaction = if replica.node == node(late) { 6 } else { 7 };
        report(&mut cluster, c, Replica { delete_transaction, ..replica }, START);
    }
    let later = START + cluster.settings.resend_after;
    beat(&mut cluster, &[1, 2, 3, 4], later);
    assert_eq!(deletions(&repair(&mut cluster, later)), [late]);
    (cluster, c)
}

#[test]
fn the_one_that_missed_a_deletion_goes_before_the_others() {
    (1..=4).for_each(|late| drop(late_one_goes(late)));
}

#[test]
fn readers_are_told_last_of_a_replica_that_is_to_go() {
    for late in 1..=4 {
        let (cluster, c) = late_one_goes(late);
        let (_, pipeline) = cluster.locate(c).unwrap();
        let members: Vec<_> = pipeline.members.iter().map(|member| member.id).collect();
        assert_eq!((members.len(), members[3]), (4, node(late)));
    }
}

#[test]
fn a_stale_replica_makes_no_other_one_superfluous() {
    let (mut cluster, c) = closed(&[4]);
    let later = START + cluster.settings.stale_after;
    beat(&mut cluster, &[1, 2, 4], later);
    assert_eq!(repair(&mut cluster, later), [], "three are heard of, the fourth may be lost");
    // One with fewer copies than it needs anyway.
    report(&mut cluster, c, replica(4, ReplicaState::Deleted, 0, 0), later);
    assert_eq!(repair(&mut cluster, later), []);
    // It is back: now one is surplus.
    report(&mut cluster, c, copy(4), later);
    beat(&mut cluster, &[1, 2, 3, 4], later);
    assert_eq!(deletions(&repair(&mut cluster, later)).len(), 1);
}

#[test]
fn a_bad_replica_stays_while_a_good_one_is_stale() {
    let (mut cluster, c) = closed(&[4]);
    report(&mut cluster, c, replica(4, ReplicaState::Unhealthy, 5, 5), START);
    let later = START + cluster.settings.stale_after;
    beat(&mut cluster, &[1, 2, 4, 5, 6], later);
    assert_eq!(deletions(&repair(&mut cluster, later)), [], "it may be the third best there is");
    beat(&mut cluster, &[3], later);
    assert_eq!(deletions(&repair(&mut cluster, later)), [4]);
}

#[test]
fn a_heartbeat_that_is_too_old_counts_as_missed_before_anybody_looks() {
    let (mut cluster, _) = closed(&[4]);
    let later = START + cluster.settings.stale_after;
    // As after a pause of this whole process.
    assert_eq!(deletions(&repair(&mut cluster, later)), []);
    beat(&mut cluster, &[1, 2, 3, 4], later);
    assert_eq!(deletions(&repair(&mut cluster, later)).len(), 1);
}

#[test]
fn a_quasi_closed_replica_that_lacks_writes_goes_behind_three_that_are_heard_of() {
    let (mut cluster, c) = closed(&[]);
    let later = START + cluster.settings.stale_after;
    beat(&mut cluster, &[1, 2, 4, 5, 6], later);
    let orders = report(&mut cluster, c, replica(4, ReplicaState::QuasiClosed, 1, 1), later);
    assert_eq!(deletions(&orders), [], "one of the three is stale");
    assert_eq!(deletions(&repair(&mut cluster, later)), []);
    beat(&mut cluster, &[3], later);
    assert_eq!(deletions(&repair(&mut cluster, later)), [4]);
}

#[test]
fn a_new_leader_orders_nothing_away_until_the_nodes_know_it() {
    let (mut cluster, _) = closed(&[4]);
    let later = START + cluster.settings.resend_after;
    beat(&mut cluster, &[1, 2, 3, 4, 5, 6], later);
    cluster.nodes.doubt_all();
    assert_eq!(deletions(&repair(&mut cluster, later)), []);
    for n in 1..=3 {
        cluster.nodes.set_confirmed(node(n), true);
    }
    assert_eq!(deletions(&repair(&mut cluster, later)), [], "the fourth may be about to go");
    cluster.nodes.set_confirmed(node(4), true);
    assert_eq!(deletions(&repair(&mut cluster, later)).len(), 1);
}

#[test]
fn the_choice_does_not_depend_on_the_order_of_reports_nor_on_what_else_is_deleted() {
    let mut chosen = BTreeSet::new();
    for order in [[4, 5, 6], [6, 5, 4], [5, 6, 4]] {
        let (mut cluster, c) = closed(&order);
        let later = START + cluster.settings.resend_after;
        beat(&mut cluster, &[1, 2, 3, 4, 5, 6], later);
        let first = deletions(&repair(&mut cluster, later))[0];
        chosen.insert(first);
        // SCM waits for a node with too many pending deletions.
        let (mut busy, _) = closed(&order);
        beat(&mut busy, &[1, 2, 3, 4, 5, 6], later);
        busy.settings.replication.deletes_per_node = 1;
        for other in 2..40 {
            let p = pipeline(1);
            let more = open_container(&mut busy, other, p);
            close(&mut busy, more, 5, START);
            report(&mut busy, more, copy(4), START);
        }
        repair(&mut busy, later);
        let pending = busy.pending.of(c);
        assert!(pending.iter().all(|p| p.node == node(first)), "{pending:?}");
    }
    assert_eq!(chosen.len(), 1, "{chosen:?}");
}

#[test]
fn what_a_node_was_told_to_delete_counts_as_gone_when_it_died_and_came_back() {
    let (mut cluster, c) = closed(&[4]);
    let later = START + cluster.settings.resend_after;
    beat(&mut cluster, &[1, 2, 3, 4, 5, 6], later);
    let victim = deletions(&repair(&mut cluster, later))[0];
    let others: Vec<u128> = (1..=NODES).filter(|n| *n != victim).collect();
    let dead = later + cluster.settings.dead_after;
    beat(&mut cluster, &others, dead);
    register(&mut cluster, victim, &[], dead);
    report(&mut cluster, c, copy(victim), dead);
    assert_eq!(deletions(&repair(&mut cluster, dead)), [victim], "once more, and no other one");
    assert_eq!(deletions(&repair(&mut cluster, dead)), [], "it may carry the order out still");
    // The order has an end, after which the node does not.
    let expired = dead + cluster.settings.replication.timeout;
    let all: Vec<u128> = (1..=NODES).collect();
    beat(&mut cluster, &all, expired);
    assert_eq!(deletions(&repair(&mut cluster, expired)), [victim]);
}

#[test]
fn what_was_to_be_deleted_counts_as_gone_until_its_node_reports_it_behind_that_time() {
    let (mut cluster, c) = closed(&[4, 5]);
    let all = [1, 2, 3, 4, 5, 6];
    let later = START + cluster.settings.resend_after;
    beat(&mut cluster, &all, later);
    let first = deletions(&repair(&mut cluster, later))[0];
    // It is reported once more before its deletion, whose report is lost.
    report(&mut cluster, c, copy(first), later + 1);
    let second = deletions(&repair(&mut cluster, later + 1))[0];
    report(&mut cluster, c, replica(second, ReplicaState::Deleted, 0, 0), later + 1);
    let expired = later + 1 + cluster.settings.replication.timeout;
    beat(&mut cluster, &all, expired);
    assert_eq!(deletions(&repair(&mut cluster, expired)), [first], "once more, and no other one");
    let again = expired + cluster.settings.replication.timeout;
    beat(&mut cluster, &all, again);
    let other = all.into_iter().find(|n| *n != first && *n != second && *n <= 5).unwrap();
    report(&mut cluster, c, replica(other, ReplicaState::Deleted, 0, 0), again);
    let orders = repair(&mut cluster, again);
    assert_eq!((deletions(&orders).len(), orders.len()), (0, 1), "two are sure: one is made");
    report(&mut cluster, c, copy(first), again);
    let deletes = |p: &placement::replica::pending::Pending| p.task.comes().is_none();
    assert!(!cluster.pending.of(c).iter().any(deletes), "it is there");
}

/// Possible events, each of one node or one SCM.
#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    /// A heartbeat, that reaches both SCMs or one of them.
    Beat(u128, Option<usize>),
    /// A full report, likewise.
    Report(u128, Option<usize>),
    /// A node carries out the oldest order it has.
    Obey(u128),
    /// A node stops, or restarts with the contents of its disks.
    Toggle(u128),
    Look,
    Repair,
    NewLeader,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = || 1..=NODES;
    let scm = || prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(1))];
    let step = prop_oneof![
        3 => prop_oneof![Just(1_000_u64), Just(5_000), Just(11_000), Just(61_000), Just(400_000)]
            .prop_map(Step::Pass),
        10 => (n(), scm()).prop_map(|(n, scm)| Step::Beat(n, scm)),
        5 => (n(), scm()).prop_map(|(n, scm)| Step::Report(n, scm)),
        4 => n().prop_map(Step::Obey),
        1 => n().prop_map(Step::Toggle),
        3 => Just(Step::Look),
        6 => Just(Step::Repair),
        1 => Just(Step::NewLeader),
    ];
    proptest::collection::vec(step, 1..250)
}

/// A node as it is.
#[derive(Debug, Clone, Default)]
struct Real {
    up: bool,
    has: bool,
    term: u64,
    /// Orders with the term and time they were given in.
    orders: Vec<(u64, u64, OrderKind)>,
}

/// Two SCMs and their nodes.
struct World {
    scms: [Cluster; 2],
    leader: usize,
    term: u64,
    now: u64,
    nodes: BTreeMap<u128, Real>,
    c: ContainerId,
}

impl World {
    fn new(copies: &[u128]) -> Self {
        let (first, c) = closed(copies);
        let (second, _) = closed(copies);
        let has = |n| n <= 3 || copies.contains(&n);
        let real = |n| (n, Real { up: true, has: has(n), term: 1, orders: Vec::new() });
        let nodes = (1..=NODES).map(real).collect();
        Self { scms: [first, second], leader: 0, term: 1, now: START + 20_000, nodes, c }
    }

    fn reached(scm: Option<usize>) -> Vec<usize> {
        scm.map_or(vec![0, 1], |scm| vec![scm])
    }

    fn beat(&mut self, n: u128, scm: usize) {
        if self.scms[scm].heartbeat(node(n), self.now).is_none() {
            self.register(n, scm);
        }
        let known = self.scms[scm].nodes.get(node(n)).is_some_and(|n| n.confirmed);
        if scm == self.leader && !known {
            // The response carries the term; replicas reported after it are free of orders of
            // earlier terms.
            self.nodes.get_mut(&n).unwrap().term = self.term;
            self.register(n, scm);
            self.scms[scm].nodes.set_confirmed(node(n), true);
        }
    }

    fn register(&mut self, n: u128, scm: usize) {
        let confirmed = scm != self.leader || self.nodes[&n].term == self.term;
        register(&mut self.scms[scm], n, &[], self.now);
        self.scms[scm].nodes.set_confirmed(node(n), confirmed);
        self.report(n, scm);
    }

    fn report(&mut self, n: u128, scm: usize) {
        let has = self.nodes[&n].has;
        let replicas = if has { vec![(self.c, copy(n))] } else { Vec::new() };
        let decision = self.scms[scm].report_all_replicas(node(n), replicas, self.now);
        self.deliver(&decision.orders);
    }

    fn deliver(&mut self, orders: &[placement::Order]) {
        for order in orders {
            if let Some(real) = self.nodes.get_mut(&order.node.0.as_u128()) {
                real.orders.push((self.term, self.now, order.kind.clone()));
            }
        }
    }

    /// Returns `true` if the node will carry out such an order.
    fn obeys(&self, real: &Real, term: u64, given: u64) -> bool {
        let deadline = given + self.scms[0].settings.replication.timeout / 2;
        term >= real.term && self.now <= deadline
    }

    /// Replicas on nodes with recent heartbeats to the leader that no order will delete.
    fn sure(&self, but: u128) -> usize {
        let stale_after = self.scms[0].settings.stale_after;
        let heard = |n: u128| {
            let known = self.scms[self.leader].nodes.get(node(n));
            known.is_some_and(|n| self.now - n.last_heartbeat < stale_after)
        };
        let goes = |real: &Real| {
            real.orders.iter().any(|(term, given, kind)| {
                matches!(kind, OrderKind::DeleteContainer { .. }) && self.obeys(real, *term, *given)
            })
        };
        let sure = |(n, real): &(&u128, &Real)| **n != but && real.has && heard(**n) && !goes(real);
        self.nodes.iter().filter(sure).count()
    }

    fn repair(&mut self) {
        let orders = repair(&mut self.scms[self.leader], self.now);
        for victim in deletions(&orders) {
            let bad = !self.nodes[&victim].has;
            let sure = self.sure(victim);
            assert!(bad || sure >= REQUIRED, "{sure} besides {victim}: {:?}", self.nodes);
        }
        self.deliver(&orders);
    }

    fn obey(&mut self, n: u128) {
        let real = self.nodes[&n].clone();
        if !real.up || real.orders.is_empty() {
            return;
        }
        let (term, given, kind) = self.nodes.get_mut(&n).unwrap().orders.remove(0);
        if !self.obeys(&real, term, given) {
            return;
        }
        match kind {
            OrderKind::DeleteContainer { .. } => self.nodes.get_mut(&n).unwrap().has = false,
            OrderKind::ReplicateContainer { target, .. } if real.has => {
                if let Some(to) = self.nodes.get_mut(&target.0.as_u128()).filter(|to| to.up) {
                    to.has = true;
                }
            }
            _ => {}
        }
        let there = self.nodes.values().filter(|real| real.has).count();
        assert!(there >= REQUIRED, "{there} replicas are left: {:?}", self.nodes);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Pass(ms) => self.now += ms,
            Step::Beat(n, scm) if self.nodes[n].up => {
                Self::reached(*scm).into_iter().for_each(|scm| self.beat(*n, scm));
            }
            Step::Report(n, scm) if self.nodes[n].up => {
                for scm in Self::reached(*scm) {
                    self.beat(*n, scm);
                    self.report(*n, scm);
                }
            }
            Step::Beat(..) | Step::Report(..) => {}
            Step::Obey(n) => self.obey(*n),
            Step::Toggle(n) => {
                let real = self.nodes.get_mut(n).unwrap();
                real.up = !real.up;
                // Its orders are lost with the process.
                real.orders.clear();
            }
            Step::Look => {
                for scm in &mut self.scms {
                    let (_, decision) = scm.watch_nodes(self.now);
                    apply(scm, &decision);
                }
            }
            Step::Repair => self.repair(),
            Step::NewLeader => {
                self.leader = 1 - self.leader;
                self.term += 1;
                self.scms[self.leader].nodes.doubt_all();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn deletions_never_leave_fewer_than_there_must_be(
        copies in proptest::sample::subsequence(vec![4_u128, 5, 6], 0..=3),
        steps in steps(),
    ) {
        let mut world = World::new(&copies);
        for step in &steps {
            world.step(step);
        }
        // The nodes come back without further events: surplus replicas are deleted, and three stay.
        for _ in 0..40 {
            world.now += 1_000;
            for n in 1..=NODES {
                world.nodes.get_mut(&n).unwrap().up = true;
                world.step(&Step::Report(n, None));
                world.step(&Step::Obey(n));
            }
            world.step(&Step::Look);
            world.step(&Step::Repair);
        }
        world.now += 1_000_000;
        for _ in 0..40 {
            world.now += 1_000;
            for n in 1..=NODES {
                world.step(&Step::Report(n, None));
                (0..5).for_each(|_| world.step(&Step::Obey(n)));
            }
            world.step(&Step::Look);
            world.step(&Step::Repair);
        }
        let there = world.nodes.values().filter(|real| real.has).count();
        prop_assert_eq!(there, REQUIRED);
    }
}
