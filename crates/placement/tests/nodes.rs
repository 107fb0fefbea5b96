//! Nodes register, become unreachable, come back, and get orders.

use placement::{Change, Cluster, Health, OrderKind, ReplicaState};
use types::{Pipeline, PortName};

use crate::fixture::*;

#[test]
fn a_silent_node_grows_stale_then_dead_and_a_heartbeat_heals_the_stale() {
    let mut cluster = cluster(2, settings());
    let stale = START + cluster.settings.stale_after;
    cluster.heartbeat(node(2), stale - 1).unwrap();
    let (shifts, _) = cluster.watch_nodes(stale);
    assert_eq!(shifts.len(), 1);
    assert_eq!((shifts[0].node, shifts[0].to), (node(1), Health::Stale));
    assert_eq!(cluster.watch_nodes(stale).0, [], "told once");

    let shift = cluster.heartbeat(node(1), stale + 1).unwrap().unwrap();
    assert_eq!((shift.from, shift.to), (Health::Stale, Health::Healthy));

    let dead = stale + cluster.settings.dead_after + 1;
    cluster.watch_nodes(dead);
    assert_eq!(cluster.nodes.count(Health::Dead), 2);
    assert_eq!(cluster.heartbeat(node(1), dead), None, "a dead node has to register");
    register(&mut cluster, 1, &[], dead);
    assert_eq!(cluster.nodes.count(Health::Healthy), 1);
}

#[test]
fn an_unknown_node_has_to_register() {
    assert_eq!(cluster(1, settings()).heartbeat(node(9), START), None);
}

#[test]
fn the_pipelines_of_a_stale_node_close_and_others_take_their_place() {
    let mut cluster = cluster(4, settings());
    let before = make_pipelines(&mut cluster, 1, START);
    let later = START + cluster.settings.stale_after;
    for n in 2..=4 {
        cluster.heartbeat(node(n), later).unwrap();
    }
    let (_, decision) = cluster.watch_nodes(later);
    let of_node = cluster.pipelines.of_node(node(1));
    assert!(!of_node.is_empty());
    assert_eq!(decision.changes.len(), of_node.len());
    apply(&mut cluster, &decision);
    let after = make_pipelines(&mut cluster, 100, later);
    assert!(!after.is_empty());
    for id in after.iter().chain(&before).filter(|id| cluster.pipelines.is_open(**id)) {
        assert!(cluster.pipelines.get(*id).unwrap().record.member(node(1)).is_none());
    }
}

#[test]
fn a_pipeline_of_a_silent_node_is_closed_although_the_first_decision_was_dropped() {
    // As by an SCM that did not lead yet.
    let mut cluster = cluster(4, settings());
    make_pipelines(&mut cluster, 1, START);
    let later = START + cluster.settings.stale_after;
    for n in 2..=4 {
        cluster.heartbeat(node(n), later).unwrap();
    }
    let (shifts, dropped) = cluster.watch_nodes(later);
    assert_eq!(shifts.len(), 1);
    let (shifts, decision) = cluster.watch_nodes(later);
    assert_eq!(shifts, []);
    assert_eq!(decision, dropped);
    apply(&mut cluster, &decision);
    assert!(cluster.watch_nodes(later).1.is_empty(), "closed once");
}

#[test]
fn a_pipeline_of_a_node_that_never_registered_is_closed_when_it_must_be_dead() {
    let (before, id) = trio();
    let mut cluster = cluster(2, settings());
    let record = Pipeline::clone(&before.pipelines.get(id).unwrap().record);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    let heard = |cluster: &mut Cluster, now| {
        for n in 1..=2 {
            cluster.heartbeat(node(n), now).unwrap();
        }
        cluster.watch_nodes(now).1
    };
    assert!(heard(&mut cluster, START).is_empty());
    let dead = START + cluster.settings.dead_after;
    assert!(heard(&mut cluster, dead - 1).is_empty(), "it may be on its way");
    let decision = heard(&mut cluster, dead);
    assert_eq!(decision.changes, [Change::ClosePipeline { id, now: dead }]);
}

#[test]
fn the_replicas_of_a_dead_node_are_forgotten() {
    let (mut cluster, id) = trio();
    let c = open_container(&mut cluster, 1, id);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Open, 1, 1), START);
    }
    let later = START + cluster.settings.dead_after;
    cluster.heartbeat(node(2), later);
    cluster.heartbeat(node(3), later);
    cluster.watch_nodes(later);
    assert_eq!(cluster.replicas.of(c).len(), 2);
    assert_eq!(cluster.replicas.count_on(node(1)), 0);
}

#[test]
fn a_node_that_moved_makes_the_others_learn_its_address() {
    let (mut cluster, id) = trio();
    let mut moved = details(2);
    moved.set_port(PortName::Native, 4_711);
    let (_, decision) = cluster.register(moved.clone(), disks(1), &[id], START);
    let mut nodes: Vec<_> = decision.orders.iter().map(|o| o.node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [node(1), node(2), node(3)]);
    assert!(decision.orders.iter().all(|o| o.kind == OrderKind::CreatePipeline(id)));
    assert_eq!(cluster.pipelines.get(id).unwrap().record.member(node(2)), Some(&moved));

    let (_, decision) = cluster.register(moved, disks(1), &[id], START);
    assert_eq!(decision.orders, [to(2, OrderKind::CreatePipeline(id))], "others know it already");
}

#[test]
fn a_node_that_lost_the_log_of_an_open_pipeline_may_not_vote_in_it_again() {
    let (mut cluster, id) = trio();
    let decision = register(&mut cluster, 2, &[], START + 5);
    assert_eq!(decision.changes, [Change::ClosePipeline { id, now: START + 5 }]);
    assert_eq!(decision.orders, []);
}

#[test]
fn a_node_that_lost_an_open_pipeline_is_not_told_to_begin_it_when_another_moves() {
    let (mut cluster, id) = trio();
    // The pipeline is about to be closed.
    register(&mut cluster, 1, &[], START + 5);
    let mut moved = details(2);
    moved.set_port(PortName::Native, 4_711);
    let (_, decision) = cluster.register(moved, disks(1), &[id], START + 5);
    let mut nodes: Vec<_> = decision.orders.iter().map(|o| o.node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [node(2), node(3)]);
}
