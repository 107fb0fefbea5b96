//! Containers get the replicas they should have, and nodes leave when they are not needed.

use placement::node::{Blocked, Refused, ServeError};
use placement::{Change, Cluster, Decision, Event, OrderKind, ReplicaState, Settings, Storage};
use types::{ContainerId, DatanodeDetails, OperationalState};

use crate::fixture::*;

/// Nodes 1 to `nodes`, those above 3 in a rack of their own if `racks`; container 1 with five keys
/// closed on 1 to 3.
fn closed_on_three(nodes: u128, racks: bool) -> (Cluster, ContainerId) {
    closed_at(START, nodes, racks)
}

/// As [`closed_on_three`], by a leader whose clock shows `closed`.
fn closed_at(closed: u64, nodes: u128, racks: bool) -> (Cluster, ContainerId) {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let p = make_pipelines(&mut cluster, 1, START)[0];
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 5, closed);
    for n in 4..=nodes {
        let rack = if racks { "/r2" } else { "/default-rack" }.to_owned();
        let details = DatanodeDetails { network_location: rack, ..details(n) };
        cluster.register(details, disks(1), &[], START);
    }
    (cluster, c)
}

fn repair(cluster: &mut Cluster, now: u64) -> Vec<placement::Order> {
    let now = now + cluster.settings.resend_after;
    // Healthy nodes continue to send heartbeats.
    let healthy = cluster.nodes.iter().filter(|n| n.health == placement::Health::Healthy);
    for id in healthy.map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    let repairs = cluster.repair_containers(ContainerId(0), 100, now);
    assert_eq!(repairs.next, None);
    repairs.decision.orders
}

fn copy_of(order: &placement::Order) -> (u128, u128) {
    let OrderKind::ReplicateContainer { target, .. } = order.kind else { panic!("{order:?}") };
    (order.node.0.as_u128(), target.0.as_u128())
}

/// A copy of container 1 has arrived, as its origin made it.
fn arrive(cluster: &mut Cluster, c: ContainerId, n: u128) {
    let copy = placement::Replica { origin: node(1), ..replica(n, ReplicaState::Closed, 5, 5) };
    report(cluster, c, copy, START);
}

fn health(cluster: &Cluster, c: ContainerId) -> &'static str {
    cluster.health(cluster.containers.get(c).unwrap())
}

fn die(cluster: &mut Cluster, dead: u128) -> u64 {
    let heard = cluster.nodes.iter().map(|n| n.last_heartbeat).max().unwrap();
    let later = heard + cluster.settings.dead_after;
    let alive: Vec<_> = cluster.nodes.iter().map(|n| n.details.id).collect();
    for id in alive.into_iter().filter(|id| *id != node(dead)) {
        cluster.heartbeat(id, later);
    }
    let (_, decision) = cluster.watch_nodes(later);
    apply(cluster, &decision);
    later
}

#[test]
fn a_lost_replica_is_copied_once() {
    let (mut cluster, c) = closed_on_three(4, false);
    assert_eq!(repair(&mut cluster, START), []);
    let later = die(&mut cluster, 3);
    let orders = repair(&mut cluster, later);
    let (source, target) = copy_of(&orders[0]);
    assert!((1..=2).contains(&source) && target == 4 && orders.len() == 1, "{orders:?}");
    assert_eq!(repair(&mut cluster, later + 1_000), [], "it is under way");
    assert_eq!(cluster.health_report().counts["UNDER_REPLICATED"], 1);
    arrive(&mut cluster, c, 4);
    assert!(cluster.pending.take_changed());
    assert_eq!(repair(&mut cluster, later + 2_000), []);
    assert_eq!(cluster.health_report().counts["UNDER_REPLICATED"], 0);
}

/// Container 1 with five keys, closed by two members of its pipeline; the third one lags.
fn closed_by_two(nodes: u128) -> Cluster {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let p = make_pipelines(&mut cluster, 1, START)[0];
    let c = open_container(&mut cluster, 1, p);
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    for n in 1..=2 {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 5, 5), START);
    }
    for n in 4..=nodes {
        register(&mut cluster, n, &[], START);
    }
    cluster
}

#[test]
fn a_member_of_the_pipeline_that_may_still_bring_the_replica_gets_no_copy() {
    let mut cluster = closed_by_two(4);
    // The member is the emptier one by far.
    let full = Storage { remaining: 1 << 38, ..disks(1)[0].clone() };
    cluster.register(details(4), vec![full], &[], START);
    let orders = repair(&mut cluster, START);
    assert_eq!(orders.len(), 1);
    assert_eq!(copy_of(&orders[0]).1, 4);
    // After its pipeline was removed it is treated like the others.
    let mut cluster = closed_by_two(3);
    assert_eq!(repair(&mut cluster, START), []);
    cluster.apply(&Change::ClosePipeline { id: pipeline(1), now: START }).unwrap();
    assert_eq!(copy_of(&repair(&mut cluster, START)[0]).1, 3);
}

#[test]
fn a_member_of_the_pipeline_gets_a_copy_when_no_other_node_can_take_one() {
    let mut cluster = closed_by_two(3);
    let later = START + cluster.settings.dead_after;
    let before = later - cluster.settings.resend_after - 1;
    assert_eq!(repair(&mut cluster, before), []);
    assert_eq!(copy_of(&repair(&mut cluster, later)[0]).1, 3);
}

#[test]
fn nobody_waits_for_the_clock_of_a_former_leader() {
    let day = 24 * 3_600_000;
    let (mut cluster, _) = closed_at(START + day, 4, false);
    let later = die(&mut cluster, 3);
    let orders = repair(&mut cluster, later);
    assert_eq!(copy_of(&orders[0]).1, 4, "closed tomorrow, by a clock that was ahead");
    // Two clocks are never quite the same.
    let near = START + 2_000 + cluster.settings.dead_after + cluster.settings.resend_after;
    let (mut cluster, _) = closed_at(near, 4, false);
    let later = die(&mut cluster, 3);
    assert_eq!(repair(&mut cluster, later), [], "closed just now");
}

/// Recorded events of a container, in short.
fn past(cluster: &Cluster, c: ContainerId) -> Vec<String> {
    let short = |happened: &placement::Happened| match &happened.event {
        Event::Created { .. } => "created".to_owned(),
        Event::Entered(state) => state.as_str_name().to_owned(),
        Event::Appeared { node, state, awaited, .. } => {
            format!("{} {state:?} awaited: {awaited}", node.0.as_u128())
        }
        Event::Changed { node, was, state } => {
            format!("{} {was:?} to {state:?}", node.0.as_u128())
        }
        Event::Lost { node } => format!("{} lost", node.0.as_u128()),
        Event::Ordered { order, why } => {
            let (from, to) = copy_of(order);
            format!("{from} to {to}: {why} ({} times)", happened.times)
        }
        other => format!("{other:?}"),
    };
    cluster.histories.of(c).map(short).collect()
}

#[test]
fn what_happened_to_a_container_is_kept() {
    let (mut cluster, c) = closed_on_three(4, false);
    let before = past(&cluster, c);
    assert_eq!(before.first().map(String::as_str), Some("created"));
    assert!(before.contains(&"CLOSED".to_owned()), "{before:?}");
    assert!(before.contains(&"3 Closed awaited: false".to_owned()), "{before:?}");
    let later = die(&mut cluster, 3);
    let (source, _) = copy_of(&repair(&mut cluster, later)[0]);
    cluster.copy_failed(c, node(4), later);
    let (other, _) = copy_of(&repair(&mut cluster, later)[0]);
    arrive(&mut cluster, c, 4);
    report(&mut cluster, c, replica(4, ReplicaState::Unhealthy, 5, 5), START);
    let failed = format!("{:?}", Event::Failed { node: node(4) });
    let ordered = |source| format!("{source} to 4: UNDER_REPLICATED (1 times)");
    let (first, second) = (ordered(source), ordered(other));
    let ends = ["4 Closed awaited: true", "4 Closed to Unhealthy"];
    let wanted = ["3 lost", &first, &failed, &second, ends[0], ends[1]];
    assert_eq!(past(&cluster, c)[before.len()..], wanted);
    // A repeated report is no new event.
    report(&mut cluster, c, replica(4, ReplicaState::Unhealthy, 5, 5), START);
    assert_eq!(past(&cluster, c).len(), before.len() + wanted.len());
}

#[test]
fn a_copy_that_failed_is_made_by_other_nodes() {
    let (mut cluster, c) = closed_on_three(5, false);
    let later = die(&mut cluster, 3);
    let (source, target) = copy_of(&repair(&mut cluster, later)[0]);
    cluster.copy_failed(c, node(target), later);
    let (next_source, next_target) = copy_of(&repair(&mut cluster, later)[0]);
    assert_ne!((next_source == source, next_target == target), (true, true));
    assert!(next_source != source && next_target != target, "{next_source} to {next_target}");
}

#[test]
fn replicas_that_are_being_closed_are_waited_for() {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let p = make_pipelines(&mut cluster, 1, START)[0];
    register(&mut cluster, 4, &[], START);
    let c = open_container(&mut cluster, 1, p);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Open, 5, 5), START);
    }
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    report(&mut cluster, c, replica(1, ReplicaState::Closed, 5, 5), START);
    assert_eq!(repair(&mut cluster, START), []);
    assert_eq!(cluster.health_report().counts["UNDER_REPLICATED"], 0);
    // A replica that was never reported gets some time, too.
    report(&mut cluster, c, replica(3, ReplicaState::Deleted, 0, 0), START);
    let early = cluster.repair_containers(ContainerId(0), 100, START + 1);
    assert_eq!(early.decision, Decision::default());
    assert_eq!(repair(&mut cluster, START).len(), 1);
}

#[test]
fn a_copy_that_fails_or_takes_too_long_is_ordered_again() {
    let (mut cluster, c) = closed_on_three(4, false);
    let later = die(&mut cluster, 3);
    assert_eq!(repair(&mut cluster, later).len(), 1);
    assert!(cluster.pending.failed(c, node(4)));
    assert_eq!(repair(&mut cluster, later).len(), 1);
    let timeout = cluster.settings.replication.timeout;
    assert_eq!(repair(&mut cluster, later + timeout - 1), []);
    assert_eq!(repair(&mut cluster, later + timeout).len(), 1);
}

#[test]
fn work_under_way_is_limited() {
    let (mut cluster, _) = closed_on_three(4, false);
    let p = pipeline(1);
    for id in 2..=40 {
        let c = open_container(&mut cluster, id, p);
        close(&mut cluster, c, 5, START);
    }
    let later = die(&mut cluster, 3);
    cluster.settings.replication.copies_per_node = 3;
    cluster.settings.replication.in_flight_share = 0.0;
    assert_eq!(repair(&mut cluster, later).len(), 3, "the target takes no more at a time");
    assert_eq!(repair(&mut cluster, later), []);
    cluster.settings.replication.copies_per_node = 20;
    cluster.settings.replication.in_flight_share = 0.1;
    assert_eq!(repair(&mut cluster, later).len(), 3, "three nodes, twenty each, a tenth of it");
}

#[test]
fn a_replica_too_many_goes_and_the_others_stay() {
    let (mut cluster, c) = closed_on_three(4, false);
    arrive(&mut cluster, c, 4);
    assert_eq!(cluster.health_report().counts["OVER_REPLICATED"], 1);
    let orders = repair(&mut cluster, START);
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].kind, OrderKind::DeleteContainer { id: c, index: 0, force: true });
    assert_eq!(repair(&mut cluster, START), [], "three are left");
    // Another SCM, without that order, chooses the same.
    let (mut other, _) = closed_on_three(4, false);
    arrive(&mut other, c, 4);
    assert_eq!(repair(&mut other, START), orders);
    let gone = orders[0].node.0.as_u128();
    report(&mut cluster, c, replica(gone, ReplicaState::Deleted, 0, 0), START);
    assert_eq!(cluster.pending.deletions(), 0);
    assert_eq!(cluster.health_report().counts["OVER_REPLICATED"], 0);
}

#[test]
fn replicas_in_one_rack_are_misplaced_until_one_is_in_another() {
    let (mut cluster, c) = closed_on_three(5, true);
    assert_eq!(cluster.health_report().counts["MIS_REPLICATED"], 1);
    let orders = repair(&mut cluster, START);
    let (_, target) = copy_of(&orders[0]);
    assert!(target >= 4);
    arrive(&mut cluster, c, target);
    assert_eq!(cluster.health_report().counts["MIS_REPLICATED"], 0);
    let orders = repair(&mut cluster, START);
    assert!(orders[0].node.0.as_u128() <= 3, "the only one of its rack stays: {orders:?}");

    let (mut cluster, _) = closed_on_three(5, true);
    cluster.settings.replication.rack_aware = false;
    assert_eq!(repair(&mut cluster, START), []);
}

#[test]
fn an_unhealthy_replica_is_replaced_and_then_deleted() {
    let (mut cluster, c) = closed_on_three(4, false);
    report(&mut cluster, c, replica(2, ReplicaState::Unhealthy, 5, 5), START);
    assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
    let orders = repair(&mut cluster, START);
    let (source, target) = copy_of(&orders[0]);
    assert!(source != 2 && target == 4, "{orders:?}");
    arrive(&mut cluster, c, 4);
    assert_eq!(health(&cluster, c), "UNHEALTHY");
    let orders = repair(&mut cluster, START);
    assert_eq!(orders, [to(2, OrderKind::DeleteContainer { id: c, index: 0, force: true })]);
    report(&mut cluster, c, replica(2, ReplicaState::Deleted, 0, 0), START);
    assert_eq!(health(&cluster, c), "HEALTHY");
}

/// The others lack its blocks: it is the only replica from which they can be read.
#[test]
fn an_unhealthy_replica_that_has_more_than_the_good_ones_stays() {
    let (mut cluster, c) = closed_on_three(4, false);
    report(&mut cluster, c, replica(2, ReplicaState::Unhealthy, 5, 5), START);
    for n in [1, 3, 4] {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 4, 4), START);
    }
    assert_eq!(health(&cluster, c), "UNHEALTHY");
    assert_eq!(repair(&mut cluster, START), []);
    for n in [1, 3, 4] {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 5, 5), START);
    }
    let orders = repair(&mut cluster, START);
    assert_eq!(orders, [to(2, OrderKind::DeleteContainer { id: c, index: 0, force: true })]);
}

#[test]
fn what_is_good_nowhere_is_left_alone() {
    let (mut cluster, c) = closed_on_three(4, false);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Unhealthy, 5, 5), START);
    }
    assert_eq!(repair(&mut cluster, START), []);
    assert_eq!(health(&cluster, c), "UNHEALTHY");
    report(&mut cluster, c, replica(4, ReplicaState::Unhealthy, 5, 5), START);
    assert_eq!(health(&cluster, c), "UNHEALTHY_OVER_REPLICATED");
    for n in [3, 4] {
        report(&mut cluster, c, replica(n, ReplicaState::Deleted, 0, 0), START);
    }
    assert_eq!(health(&cluster, c), "UNHEALTHY_UNDER_REPLICATED");
    for n in [1, 2] {
        report(&mut cluster, c, replica(n, ReplicaState::Deleted, 0, 0), START);
    }
    assert_eq!(health(&cluster, c), "MISSING");
}

#[test]
fn replicas_that_all_lack_writes_are_unhealthy_and_copied_all_the_same() {
    let (mut cluster, c) = closed_on_three(4, false);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 4, 4), START);
    }
    assert_eq!(health(&cluster, c), "UNHEALTHY");
    report(&mut cluster, c, replica(3, ReplicaState::Deleted, 0, 0), START);
    assert_eq!(health(&cluster, c), "UNHEALTHY_UNDER_REPLICATED");
    let (_, target) = copy_of(&repair(&mut cluster, START)[0]);
    assert_eq!(target, 4, "the best there is");
}

#[test]
fn an_empty_container_is_neither_missing_nor_copied() {
    let (mut cluster, p) = trio();
    register(&mut cluster, 4, &[], START);
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 0, START);
    for n in 1..=3 {
        let empty = placement::Replica { is_empty: true, ..replica(n, ReplicaState::Closed, 0, 0) };
        report(&mut cluster, c, empty, START);
    }
    assert_eq!(health(&cluster, c), "EMPTY");
    assert_eq!(repair(&mut cluster, START), []);
}

#[test]
fn a_quasi_closed_container_with_one_origin_left_is_stuck_but_kept_three_times() {
    let (mut cluster, p) = trio();
    for n in 4..=5 {
        register(&mut cluster, n, &[], START);
    }
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&placement::Change::ClosePipeline { id: p, now: START }).unwrap();
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 1, 10), START);
    assert_eq!(health(&cluster, c), "QUASI_CLOSED_STUCK_UNDER_REPLICATED");
    for n in 0..2 {
        let (source, target) = copy_of(&repair(&mut cluster, START)[0]);
        assert_eq!((source, target > 1), if n == 0 { (1, true) } else { (source, true) });
        let copy = placement::Replica {
            origin: node(1),
            ..replica(target, ReplicaState::QuasiClosed, 1, 10)
        };
        report(&mut cluster, c, copy, START);
    }
    assert_eq!(health(&cluster, c), "QUASI_CLOSED_STUCK");
    let later = START + 2 * cluster.settings.dead_after;
    assert_eq!(
        cluster.review_containers(later).orders,
        [],
        "it is not known what was written last"
    );
    // One of the others is found after all, and has more.
    let found = (2..=5).find(|n| cluster.replicas.on(c, node(*n)).is_none()).unwrap();
    let other = placement::Replica {
        origin: node(found),
        ..replica(found, ReplicaState::QuasiClosed, 2, 20)
    };
    report(&mut cluster, c, other, later);
    let orders = cluster.review_containers(later).orders;
    let close = |o: &placement::Order| match o.kind {
        OrderKind::CloseContainer { force: true, .. } => Some(o.node),
        _ => None,
    };
    assert_eq!(orders.iter().filter_map(close).collect::<Vec<_>>(), [node(found)], "{orders:?}");
}

#[test]
fn a_stuck_container_that_is_lost_says_so() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&placement::Change::ClosePipeline { id: p, now: START }).unwrap();
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 1, 10), START);
    report(&mut cluster, c, replica(1, ReplicaState::Deleted, 0, 0), START);
    assert_eq!(health(&cluster, c), "QUASI_CLOSED_STUCK_MISSING");
}

#[test]
fn a_node_is_decommissioned_when_its_containers_are_enough_elsewhere() {
    let (mut cluster, c) = closed_on_three(4, false);
    let decision = cluster.decommission(node(2), START).unwrap();
    let (state, expiry) = (OperationalState::Decommissioning, 0);
    let told = to(2, OrderKind::SetOperationalState { state, expiry });
    assert_eq!(decision.orders, std::slice::from_ref(&told));
    apply(&mut cluster, &decision);
    // Until the node reports it.
    let again = cluster.report_op_state(node(2), OperationalState::InService, 0, true);
    assert_eq!(again.orders, [told]);
    assert!(cluster.report_op_state(node(2), state, 0, true).is_empty());

    assert_eq!(cluster.obstacles(node(2)).under_replicated, [c]);
    let (looked_at, decision) = cluster.check_leaving_nodes(START);
    assert_eq!((looked_at[0].state, decision), (state, Decision::default()));
    let orders = repair(&mut cluster, START);
    assert_eq!(copy_of(&orders[0]).1, 4, "the leaving node may send, another one gets");
    arrive(&mut cluster, c, 4);
    let (looked_at, _) = cluster.check_leaving_nodes(START);
    assert_eq!(looked_at[0].state, OperationalState::Decommissioned);
    assert_eq!(repair(&mut cluster, START), [], "its replica does not count, and stays");

    let error = cluster.begin_maintenance(node(2), 0, START).unwrap_err();
    assert!(matches!(error, ServeError::State { .. }), "{error}");
    cluster.recommission(node(2), START).unwrap();
    assert_eq!(repair(&mut cluster, START).len(), 1, "back in service there is one too many");
}

#[test]
fn a_node_that_leaves_says_how_far_it_is_and_what_it_waits_for() {
    let (mut cluster, c) = closed_on_three(3, false);
    let decision = cluster.decommission(node(2), START).unwrap();
    apply(&mut cluster, &decision);
    let bytes = cluster.replicas.on(c, node(2)).unwrap().used_bytes;
    assert!(bytes > 0);
    let progress = cluster.leaving_progress(node(2));
    assert_eq!((progress.bytes_done, progress.bytes_left, progress.left), (0, bytes, None));
    let blocked = |cluster: &Cluster| cluster.leaving_progress(node(2)).blocked_by.unwrap();
    let refused = Refused { has_it: 3, ..Refused::default() };
    assert_eq!(blocked(&cluster), Blocked::NoTarget(c, refused));
    let words = blocked(&cluster).to_string();
    assert_eq!(words, "no node can take container 1: 3 have it already");

    // One that is full is no help; one with room is.
    let full = disks(1).into_iter().map(|disk| Storage { remaining: 1, ..disk }).collect();
    cluster.register(details(4), full, &[], START);
    let refused = Refused { has_it: 3, no_room: 1, ..Refused::default() };
    assert_eq!(blocked(&cluster), Blocked::NoTarget(c, refused));
    register(&mut cluster, 5, &[], START);
    assert_eq!(blocked(&cluster), Blocked::Queued(c));
    cluster.check_leaving_nodes(START);
    assert_eq!(copy_of(&repair(&mut cluster, START)[0]).1, 5);
    assert_eq!(blocked(&cluster), Blocked::Copying(c, vec![node(5)]));
    cluster.check_leaving_nodes(START + 1_000);
    let progress = cluster.leaving_progress(node(2));
    assert_eq!((progress.bytes_per_second, progress.left), (Some(0), None), "nothing came yet");

    arrive(&mut cluster, c, 5);
    let progress = cluster.leaving_progress(node(2));
    assert_eq!((progress.bytes_done, progress.bytes_left), (bytes, 0));
    assert_eq!((progress.left, progress.blocked_by), (Some(0), None));
}

#[test]
fn maintenance_needs_two_that_stay_online_and_ends_by_itself() {
    let (mut cluster, c) = closed_on_three(4, false);
    let end = (START / 1_000 + 3_600) as i64;
    let decision = cluster.begin_maintenance(node(1), end, START).unwrap();
    apply(&mut cluster, &decision);
    assert!(cluster.obstacles(node(1)).is_none(), "two stay online");
    assert_eq!(repair(&mut cluster, START), []);
    cluster.check_leaving_nodes(START);
    let state = |c: &Cluster, n| c.nodes.get(node(n)).unwrap().details.op_state;
    assert_eq!(state(&cluster, 1), OperationalState::InMaintenance);
    // Away as expected: its replica still counts.
    let later = die(&mut cluster, 1);
    assert_eq!(repair(&mut cluster, later), []);
    assert_eq!(cluster.replicas.of(c).len(), 3);

    let decision = cluster.begin_maintenance(node(2), end, START).unwrap();
    apply(&mut cluster, &decision);
    assert_eq!(cluster.obstacles(node(2)).under_replicated, [c], "only one would be online");
    assert_eq!(repair(&mut cluster, later).len(), 1);

    let over = end as u64 * 1_000;
    cluster.check_leaving_nodes(over);
    assert_eq!(state(&cluster, 1), OperationalState::InService);
    assert_eq!(state(&cluster, 2), OperationalState::InService);
    assert!(cluster.replicas.on(c, node(1)).is_none(), "and it is dead like any other");
}

#[test]
fn a_node_that_dies_while_it_leaves_is_given_up_as_any_other() {
    let (mut cluster, _) = closed_on_three(4, false);
    let decision = cluster.decommission(node(3), START).unwrap();
    apply(&mut cluster, &decision);
    let later = die(&mut cluster, 3);
    cluster.check_leaving_nodes(later);
    assert_eq!(cluster.nodes.get(node(3)).unwrap().details.op_state, OperationalState::InService);
    assert_eq!(repair(&mut cluster, later).len(), 1);
}

#[test]
fn a_new_scm_learns_from_the_nodes_what_operators_want() {
    let mut cluster = cluster(0, settings());
    let leaving = DatanodeDetails { op_state: OperationalState::Decommissioning, ..details(1) };
    cluster.register(leaving, disks(1), &[], START);
    assert!(cluster.any_node_leaves());
    // A known node gets its requested state.
    let decision = register(&mut cluster, 1, &[], START);
    let (state, expiry) = (OperationalState::Decommissioning, 0);
    assert_eq!(decision.orders, [to(1, OrderKind::SetOperationalState { state, expiry })]);
}

#[test]
fn a_quasi_closed_container_keeps_every_origin() {
    let (mut cluster, p) = trio();
    register(&mut cluster, 4, &[], START);
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&placement::Change::ClosePipeline { id: p, now: START }).unwrap();
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 1, 10), START);
    report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 2, 20), START);
    let copy =
        placement::Replica { origin: node(2), ..replica(4, ReplicaState::QuasiClosed, 2, 20) };
    report(&mut cluster, c, copy, START);
    let more =
        placement::Replica { origin: node(2), ..replica(3, ReplicaState::QuasiClosed, 2, 20) };
    report(&mut cluster, c, more, START);
    let orders = repair(&mut cluster, START);
    assert_eq!(orders.len(), 1);
    assert_ne!(orders[0].node, node(1), "the only witness of what node 1 wrote");
}
