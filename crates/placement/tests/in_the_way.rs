//! A replica that lacks writes makes room for a good one where there is no other node for it.

use placement::{
    Change, Cluster, Health, Order, OrderKind, Replica, ReplicaState, Settings, Storage,
    Transaction,
};
use proto::hdds::LifeCycleState;
use types::ContainerId;

use crate::fixture::*;

/// All that was written to the container.
const ALL: u64 = 7;

/// A cluster of `nodes` nodes: container 1 is CLOSED on nodes 1 and 2, and QUASI_CLOSED with less
/// on node 3, or on 3 and 4. Its pipeline was removed.
fn lagging(nodes: u128, replicas: u128) -> (Cluster, ContainerId) {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let p = make_pipelines(&mut cluster, 1, START)[0];
    let c = open_container(&mut cluster, 1, p);
    for n in 4..=nodes {
        register(&mut cluster, n, &[], START);
    }
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    for n in [1, 2] {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 5, ALL), START);
    }
    for n in 3..=replicas {
        let sequence = 4 - n as u64;
        report(&mut cluster, c, replica(n, ReplicaState::QuasiClosed, 2, sequence), START);
    }
    (cluster, c)
}

/// Orders after heartbeats of all live nodes.
fn look(cluster: &mut Cluster, now: u64) -> Vec<Order> {
    let now = now + cluster.settings.resend_after;
    let healthy = cluster.nodes.iter().filter(|n| n.health == Health::Healthy);
    for id in healthy.map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    cluster.repair_containers(ContainerId(0), 100, now).decision.orders
}

fn deletion(n: u128, id: ContainerId) -> Order {
    to(n, OrderKind::DeleteContainer { id, index: 0, force: true })
}

fn reconciliation(n: u128, id: ContainerId, peers: &[u128]) -> Order {
    let peers = peers.iter().map(|n| node(*n)).collect();
    to(n, OrderKind::ReconcileContainer { id, peers })
}

fn is_reconciliation(order: &Order) -> bool {
    matches!(order.kind, OrderKind::ReconcileContainer { .. })
}

/// The node on which an order creates a copy.
fn target(orders: &[Order]) -> u128 {
    let [Order { kind: OrderKind::ReplicateContainer { target, .. }, .. }] = orders else {
        panic!("{orders:?}")
    };
    target.0.as_u128()
}

/// A node sends no heartbeats since `since`; all others do.
fn silence(cluster: &mut Cluster, silent: u128, since: u64) -> u64 {
    let now = START + since;
    for id in cluster.nodes.iter().map(|n| n.details.id).collect::<Vec<_>>() {
        if id != node(silent) {
            cluster.heartbeat(id, now);
        }
    }
    let (_, decision) = cluster.watch_nodes(now);
    apply(cluster, &decision);
    now
}

fn gone(cluster: &mut Cluster, c: ContainerId, n: u128) {
    report(cluster, c, replica(n, ReplicaState::Deleted, 0, 0), START);
}

fn arrive(cluster: &mut Cluster, c: ContainerId, n: u128) {
    let copy = Replica { origin: node(1), ..replica(n, ReplicaState::Closed, 5, ALL) };
    report(cluster, c, copy, START);
}

#[test]
fn a_replica_that_lacks_writes_makes_room_for_a_good_one() {
    let (mut cluster, c) = lagging(3, 3);
    assert_eq!(look(&mut cluster, START), [deletion(3, c)]);
    assert_eq!(look(&mut cluster, START), [], "it is on its way out");
    let record = cluster.containers.get(c).unwrap();
    assert_eq!(cluster.health(record), "UNDER_REPLICATED");
    gone(&mut cluster, c, 3);
    assert_eq!(target(&look(&mut cluster, START)), 3);
    assert_eq!(look(&mut cluster, START), []);
    arrive(&mut cluster, c, 3);
    assert_eq!(look(&mut cluster, START), []);
    let record = cluster.containers.get(c).unwrap();
    assert_eq!(cluster.health(record), "HEALTHY");
}

#[test]
fn the_order_is_repeated_when_its_node_may_have_forgotten_it() {
    let (mut cluster, c) = lagging(3, 3);
    assert_eq!(look(&mut cluster, START), [deletion(3, c)]);
    register(&mut cluster, 3, &[], START);
    cluster.heartbeat(node(3), START);
    report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 1), START);
    assert_eq!(look(&mut cluster, START), [deletion(3, c)]);
    // One of the others is lost meanwhile: the order is not repeated.
    register(&mut cluster, 3, &[], START);
    report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 1), START);
    report(&mut cluster, c, replica(2, ReplicaState::Unhealthy, 5, ALL), START);
    assert_eq!(look(&mut cluster, START), []);
}

#[test]
fn one_goes_at_a_time_and_the_next_when_a_copy_is_there() {
    let (mut cluster, c) = lagging(4, 4);
    assert_eq!(look(&mut cluster, START), [deletion(4, c)], "the one that has the least");
    assert_eq!(look(&mut cluster, START), []);
    gone(&mut cluster, c, 4);
    assert_eq!(target(&look(&mut cluster, START)), 4);
    assert_eq!(look(&mut cluster, START), [], "a copy is on its way");
    arrive(&mut cluster, c, 4);
    assert_eq!(look(&mut cluster, START), [deletion(3, c)], "three others are good");
}

/// Difference from the case in which the replica of node 3 is deleted, for which it stays.
type Case = (&'static str, fn(&mut Cluster, ContainerId));

#[test]
fn a_replica_that_lacks_writes_stays() {
    use ReplicaState::{Closed, Closing, QuasiClosed, Unhealthy};
    let cases: &[Case] = &[
        ("one of two others is damaged", |it, c| {
            report(it, c, replica(2, Unhealthy, 5, ALL), START);
        }),
        ("one of two others is gone, and has no disk", |it, c| {
            gone(it, c, 2);
            it.register(details(2), vec![], &[], START);
        }),
        ("one of two others is not CLOSED yet", |it, c| {
            report(it, c, replica(2, QuasiClosed, 5, ALL), START);
        }),
        ("one of two others lacks something, too", |it, c| {
            report(it, c, replica(2, Closed, 4, ALL - 1), START);
        }),
        ("one of two others is not heard of", |it, _| {
            let stale = it.settings.stale_after;
            silence(it, 2, stale);
        }),
        ("one of two others has not said what it has to this leader", |it, _| {
            it.nodes.set_confirmed(node(2), false);
        }),
        ("its own node is not heard of", |it, _| {
            let stale = it.settings.stale_after;
            silence(it, 3, stale);
        }),
        ("its own node has not said what it has to this leader", |it, _| {
            it.nodes.set_confirmed(node(3), false);
        }),
        ("it has more", |it, c| {
            report(it, c, replica(3, QuasiClosed, 6, ALL + 1), START);
        }),
        ("it had more", |it, c| {
            report(it, c, replica(3, QuasiClosed, 6, ALL + 1), START);
            report(it, c, replica(3, QuasiClosed, 2, 1), START);
        }),
        ("it is being closed", |it, c| {
            report(it, c, replica(3, Closing, 2, 1), START);
        }),
        ("its node has no room for a copy", |it, _| {
            let full = Storage { remaining: 1, ..disks(1)[0].clone() };
            it.register(details(3), vec![full], &[], START);
        }),
        ("its node leaves", |it, _| {
            let decision = it.decommission(node(3), START).unwrap();
            apply(it, &decision);
        }),
        ("a node that may be back soon could take a copy", |it, _| {
            register(it, 4, &[], START);
            let stale = it.settings.stale_after;
            silence(it, 4, stale);
        }),
    ];
    for (why, changes) in cases {
        let (mut cluster, c) = lagging(3, 3);
        changes(&mut cluster, c);
        let mut orders = look(&mut cluster, START);
        orders.retain(|order| !is_reconciliation(order));
        assert_eq!(orders, [], "{why}");
    }
}

#[test]
fn a_damaged_replica_that_has_come_as_far_is_reconciled() {
    for sequence in [ALL, ALL + 1] {
        let (mut cluster, c) = lagging(3, 3);
        report(&mut cluster, c, replica(3, ReplicaState::Unhealthy, 5, sequence), START);
        let expected = reconciliation(3, c, &[1, 2]);
        assert_eq!(look(&mut cluster, START), [expected], "{sequence}");
        assert_eq!(look(&mut cluster, START), [], "it is under way");
        if sequence > ALL {
            // The others lack writes as soon as it is not damaged any more.
            continue;
        }
        report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 5, ALL), START);
        assert_eq!(cluster.pending.of(c), []);
        report(&mut cluster, c, replica(3, ReplicaState::Closed, 5, ALL), START);
        let record = cluster.containers.get(c).unwrap();
        assert_eq!(cluster.health(record), "HEALTHY");
        assert_eq!(look(&mut cluster, START), []);
    }
}

#[test]
fn a_reconciliation_is_not_awaited_when_its_replica_is_gone() {
    let (mut cluster, c) = lagging(3, 3);
    report(&mut cluster, c, replica(3, ReplicaState::Unhealthy, 5, ALL), START);
    assert_eq!(look(&mut cluster, START), [reconciliation(3, c, &[1, 2])]);
    gone(&mut cluster, c, 3);
    assert_eq!(cluster.pending.of(c), []);
    assert_eq!(target(&look(&mut cluster, START)), 3);
}

#[test]
fn a_replica_that_stays_damaged_is_reconciled_again_after_an_hour() {
    let (mut cluster, c) = lagging(3, 3);
    report(&mut cluster, c, replica(3, ReplicaState::Unhealthy, 5, ALL), START);
    let expected = [reconciliation(3, c, &[1, 2])];
    assert_eq!(look(&mut cluster, START), expected);
    let late = cluster.settings.replication.timeout + 1_000;
    assert_eq!(look(&mut cluster, START + late), []);
    assert_eq!(cluster.pending.of(c), [], "it is not awaited any longer");
    let hour = 3_600_000;
    assert_eq!(look(&mut cluster, START + hour), expected);
}

#[test]
fn a_damaged_replica_is_left_alone() {
    use ReplicaState::{Closed, Unhealthy};
    let cases: &[Case] = &[
        ("a copy can be made elsewhere", |it, _| drop(register(it, 4, &[], START))),
        ("a node that may be back soon could take a copy", |it, _| {
            register(it, 4, &[], START);
            let stale = it.settings.stale_after;
            silence(it, 4, stale);
        }),
        ("its own node is not heard of", |it, _| {
            let stale = it.settings.stale_after;
            silence(it, 3, stale);
        }),
        ("none is good that is heard of", |it, c| {
            for n in [1, 2] {
                report(it, c, replica(n, Unhealthy, 5, ALL), START);
            }
        }),
        ("blocks of it are being deleted", |it, c| {
            let blocks = vec![types::LocalId(1)];
            let deletion = Transaction { id: 1, container: c, blocks, ..Transaction::default() };
            it.apply(&Change::AddDeletions(vec![deletion])).unwrap();
        }),
        ("the others may have blocks that were deleted", |it, c| {
            let mut record = it.containers.get(c).unwrap().clone();
            record.delete_transaction = 9;
            it.containers.insert(record);
            for n in [1, 2] {
                report(it, c, replica(n, Closed, 5, ALL), START);
            }
        }),
    ];
    for (why, changes) in cases {
        let (mut cluster, c) = lagging(3, 3);
        report(&mut cluster, c, replica(3, Unhealthy, 5, ALL), START);
        changes(&mut cluster, c);
        let orders = look(&mut cluster, START);
        assert_eq!(orders.iter().find(|order| is_reconciliation(order)), None, "{why}");
    }
}

#[test]
fn a_copy_goes_to_another_node_if_there_is_one() {
    let (mut cluster, c) = lagging(4, 3);
    assert_eq!(target(&look(&mut cluster, START)), 4);
    // It has failed once: it is retried, and nothing is deleted.
    cluster.copy_failed(c, node(4), START);
    assert_eq!(target(&look(&mut cluster, START)), 4);
    let (mut cluster, c) = lagging(4, 3);
    let dead = cluster.settings.dead_after;
    let later = silence(&mut cluster, 4, dead);
    assert_eq!(look(&mut cluster, later), [deletion(3, c)], "the other one is dead");
}

#[test]
fn a_copy_is_waited_for_when_the_other_node_has_enough_to_do() {
    let (mut cluster, first) = lagging(4, 3);
    cluster.settings.replication.copies_per_node = 1;
    cluster.settings.replication.in_flight_share = 0.0;
    let p = pipeline(1);
    let second = open_container(&mut cluster, 2, p);
    close(&mut cluster, second, 5, START);
    report(&mut cluster, second, replica(3, ReplicaState::QuasiClosed, 2, 1), START);
    let orders = look(&mut cluster, START);
    assert_eq!(target(&orders), 4);
    assert_eq!(look(&mut cluster, START), [], "{first} or {second} waits");
}

#[test]
fn a_quasi_closed_container_and_one_whose_log_may_go_on_keep_theirs() {
    // Its transition to CLOSED is not committed yet.
    let (mut cluster, _) = lagging(3, 3);
    let p = make_pipelines(&mut cluster, 2, START)[0];
    let c = open_container(&mut cluster, 2, p);
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 1), START);
    report(&mut cluster, c, replica(3, ReplicaState::Unhealthy, 2, 1), START);
    for n in [1, 2] {
        cluster.report_replicas(vec![(c, replica(n, ReplicaState::Closed, 5, ALL))], START);
    }
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed);
    assert_eq!(look(&mut cluster, START), [deletion(3, container(1))]);

    // A member of a living pipeline.
    let (mut cluster, _) = lagging(3, 3);
    let p = make_pipelines(&mut cluster, 2, START)[0];
    let c = open_container(&mut cluster, 2, p);
    close(&mut cluster, c, ALL, START);
    report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 1), START);
    assert_eq!(look(&mut cluster, START), [deletion(3, container(1))]);
    let later = START + cluster.settings.dead_after;
    assert_eq!(look(&mut cluster, later), [deletion(3, c)], "the log had its time");
}
