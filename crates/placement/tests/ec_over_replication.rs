//! Erasure coded replicas that are surplus, or in the wrong rack.

use std::collections::{BTreeMap, BTreeSet};

use placement::{Cluster, Order, OrderKind, Replica, ReplicaState};
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

/// Container 1 with all its replicas, and one more of index 2 on each of `more` nodes.
fn twice(more: usize) -> (Cluster, ContainerId, Vec<DatanodeId>) {
    let mut cluster = in_racks(9, 1);
    let (_, c) = closed(&mut cluster);
    for node in free_nodes(&cluster, c).into_iter().take(more) {
        say(&mut cluster, c, node, 2, ReplicaState::Closed);
    }
    let nodes = nodes_of(&cluster, c, 2);
    (cluster, c, nodes)
}

fn deleted(orders: &[Order], c: ContainerId) -> Vec<DatanodeId> {
    let is_meant = |o: &Order| match o.kind {
        OrderKind::DeleteContainer { id, index, force: true } => id == c && index > 0,
        _ => false,
    };
    assert!(orders.iter().all(is_meant), "{orders:?}");
    orders.iter().map(|o| o.node).collect()
}

#[test]
fn one_of_two_replicas_of_an_index_goes() {
    let (mut cluster, c, nodes) = twice(1);
    assert_eq!(health(&cluster, c), "OVER_REPLICATED");
    let now = soon(&cluster);
    let gone = deleted(&repair(&mut cluster, now), c);
    assert!(gone.len() == 1 && nodes.contains(&gone[0]));
    assert_eq!(repair(&mut cluster, now), [], "the other one stays");
    say(&mut cluster, c, gone[0], 2, ReplicaState::Deleted);
    assert_eq!(health(&cluster, c), "HEALTHY");
    assert_eq!(repair(&mut cluster, now), []);
}

#[test]
fn readers_are_not_told_of_a_replica_that_is_to_go() {
    let mut first_goes = 0;
    for n in 1..=8 {
        let mut cluster = in_racks(6, 1);
        let (_, c) = closed_as(&mut cluster, RS_3_2, n);
        let spare = free_nodes(&cluster, c)[0];
        say(&mut cluster, c, spare, 2, ReplicaState::Closed);
        let nodes = nodes_of(&cluster, c, 2);
        let now = soon(&cluster);
        let gone = deleted(&repair(&mut cluster, now), c);
        let (_, pipeline) = cluster.locate(c).unwrap();
        let at = pipeline.replica_indexes.iter().position(|index| *index == 2).unwrap();
        let told = pipeline.members[at].id;
        assert!(gone.len() == 1 && pipeline.members.len() == 5);
        assert!(nodes.contains(&told) && told != gone[0], "container {n}: {told}");
        first_goes += u32::from(nodes.iter().min() == gone.first());
    }
    // Without that, the one with the smaller id would get the order, and it is chosen now and then.
    assert!(first_goes > 0);
}

#[test]
fn what_is_too_many_and_what_is_missing_wait_for_intervals_of_their_own() {
    let (mut cluster, c, _) = twice(2);
    cluster.settings.replication.over_interval = 60_000;
    let now = soon(&cluster);
    let gone = deleted(&repair(&mut cluster, now), c);
    say(&mut cluster, c, gone[0], 2, ReplicaState::Deleted);
    assert_eq!(repair(&mut cluster, now + 59_000), [], "another one is too many, and waits");
    let lost = nodes_of(&cluster, c, 3)[0];
    say(&mut cluster, c, lost, 3, ReplicaState::Deleted);
    let orders = repair(&mut cluster, now + 59_500);
    let makes = |o: &Order| matches!(o.kind, OrderKind::ReconstructEcContainer { .. });
    assert!(orders.len() == 1 && makes(&orders[0]), "what is missing does not: {orders:?}");
    let target = cluster.pending.of(c)[0].node;
    say(&mut cluster, c, target, 3, ReplicaState::Closed);
    assert_eq!(deleted(&repair(&mut cluster, now + 60_000), c).len(), 1);

    cluster.settings.replication.under_interval = 60_000;
    let lost = nodes_of(&cluster, c, 4)[0];
    say(&mut cluster, c, lost, 4, ReplicaState::Deleted);
    assert_eq!(repair(&mut cluster, now + 119_000), []);
    assert!(makes(&repair(&mut cluster, now + 120_000)[0]));
}

/// A node registers again, as after a restart, and reports that it still has its replica.
fn start_anew(cluster: &mut Cluster, c: ContainerId, node: DatanodeId, now: u64) {
    let details = cluster.nodes.get(node).unwrap().details.clone();
    let replica = cluster.replicas.on(c, node).cloned();
    cluster.register(details, disks(1), &[], now);
    let replicas = replica.map(|replica| (c, replica)).into_iter().collect();
    cluster.report_all_replicas(node, replicas, now);
}

#[test]
fn what_a_node_was_to_delete_when_it_registers_again_is_ordered_once_more() {
    let (mut cluster, c, _) = twice(1);
    let now = soon(&cluster);
    let gone = deleted(&repair(&mut cluster, now), c);
    start_anew(&mut cluster, c, gone[0], now + 1_000);
    assert!(cluster.pending.take_changed(), "there is something to do");
    assert_eq!(deleted(&repair(&mut cluster, now + 2_000), c), gone, "the same one");
    assert_eq!((cluster.pending.deletions(), cluster.pending.of(c).len()), (1, 1));
    assert_eq!(repair(&mut cluster, now + 3_000), [], "it is under way");
    // Its timeout starts with the second order.
    let timeout = cluster.settings.replication.timeout;
    assert_eq!(repair(&mut cluster, now + timeout + 500), []);
    say(&mut cluster, c, gone[0], 2, ReplicaState::Deleted);
    assert_eq!(cluster.pending.of(c), []);
    assert_eq!(health(&cluster, c), "HEALTHY");
}

#[test]
fn what_a_node_was_to_delete_is_not_ordered_once_more_when_it_is_the_last_of_its_index() {
    let (mut cluster, c, nodes) = twice(1);
    let now = soon(&cluster);
    let gone = deleted(&repair(&mut cluster, now), c);
    let other = *nodes.iter().find(|node| **node != gone[0]).unwrap();
    say(&mut cluster, c, other, 2, ReplicaState::Deleted);
    start_anew(&mut cluster, c, gone[0], now + 1_000);
    let orders = repair(&mut cluster, now + 2_000);
    let deletes = |o: &Order| matches!(o.kind, OrderKind::DeleteContainer { .. });
    assert!(!orders.iter().any(deletes), "{orders:?}");
    // It may still carry out the first order.
    assert_eq!(cluster.pending.deleting(gone[0]), 1);
}

#[test]
fn the_choice_does_not_depend_on_the_order_of_reports_nor_on_what_else_is_deleted() {
    let (cluster, c, nodes) = twice(3);
    let all = cluster.replicas.of(c).to_vec();
    let mut chosen = BTreeSet::new();
    for turn in 0..nodes.len() {
        let (mut cluster, _, _) = twice(0);
        let now = soon(&cluster);
        let mut replicas = all.clone();
        replicas.rotate_left(turn);
        replicas.into_iter().for_each(|r| drop(report(&mut cluster, c, r, START)));
        let first = deleted(&repair(&mut cluster, now), c)[0];
        chosen.insert(first);
        // SCM waits for a node with too many pending deletions.
        let (mut busy, _, _) = twice(3);
        busy.settings.replication.deletes_per_node = 1;
        busy.pending.take_changed();
        for id in 2..20 {
            let (_, other) = closed_as(&mut busy, RS_3_2, id);
            if busy.replicas.on(other, first).is_none() {
                say(&mut busy, other, first, 2, ReplicaState::Closed);
            }
        }
        repair(&mut busy, now);
        assert!(busy.pending.of(c).iter().all(|p| p.node == first), "{:?}", busy.pending.of(c));
    }
    assert_eq!(chosen.len(), 1, "{chosen:?}");
}

#[test]
fn a_replica_stays_while_the_other_one_is_not_sure_to_be_there() {
    let (mut cluster, c, nodes) = twice(1);
    let later = make_stale(&mut cluster, nodes[0]);
    assert_eq!(review(&mut cluster, later), [], "the other one may be lost");
    cluster.heartbeat(nodes[0], later);
    cluster.nodes.doubt_all();
    assert_eq!(review(&mut cluster, later), [], "an earlier leader may have ordered one away");
    cluster.nodes.set_confirmed(nodes[0], true);
    assert_eq!(review(&mut cluster, later), []);
    cluster.nodes.set_confirmed(nodes[1], true);
    assert_eq!(deleted(&review(&mut cluster, later), c).len(), 1);
    // A third unreachable one delays nothing.
    let (mut cluster, c, nodes) = twice(2);
    let later = make_stale(&mut cluster, nodes[0]);
    let gone = deleted(&review(&mut cluster, later), c);
    assert!(gone.len() == 1 && gone[0] != nodes[0]);
    assert_eq!(review(&mut cluster, later), [], "one of two that are heard of is left");
}

#[test]
fn a_node_that_comes_back_gives_up_what_was_rebuilt_meanwhile() {
    for old_keys in [4, 6] {
        let mut cluster = in_racks(9, 3);
        let (_, c) = closed(&mut cluster);
        let dead = node_of(&cluster, c, 4);
        let later = make_dead(&mut cluster, dead);
        let made = reconstruction(&review(&mut cluster, later)[0]);
        arrive(&mut cluster, &made);
        register_in(&mut cluster, dead.0.as_u128(), "/rack0", later);
        // It lacks a block, or has one that was deleted since.
        let old = part(dead, 4, ReplicaState::Closed);
        report(&mut cluster, c, Replica { keys: old_keys, ..old }, later);
        assert_eq!(deleted(&repair(&mut cluster, later), c), [dead], "{old_keys} keys");
    }
}

#[test]
fn what_is_too_many_goes_when_it_stands_where_a_missing_one_could_be() {
    let mut cluster = in_racks(6, 1);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let sixth = free_nodes(&cluster, c)[0];
    let lost = node_of(&cluster, c, 5);
    let twice = node_of(&cluster, c, 2);
    say(&mut cluster, c, lost, 2, ReplicaState::Closed);
    cluster.nodes.set_storage(sixth, Vec::new());
    let gone = deleted(&repair(&mut cluster, now), c);
    assert!(gone == [lost] || gone == [twice], "{gone:?}");
    say(&mut cluster, c, gone[0], 2, ReplicaState::Deleted);
    let made = reconstruction(&repair(&mut cluster, now)[0]);
    assert_eq!((made.indexes(), made.targets[0].0), (vec![5], gone[0]));
    // While a node could get it, or a busy one, SCM waits.
    say(&mut cluster, c, sixth, 2, ReplicaState::Deleted);
}

#[test]
fn nothing_goes_while_a_node_for_what_is_missing_is_only_busy() {
    let mut cluster = in_racks(7, 1);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let free = free_nodes(&cluster, c);
    say(&mut cluster, c, free[0], 2, ReplicaState::Closed);
    lose(&mut cluster, c, 5);
    cluster.settings.replication.in_flight_share = 1e-9;
    let (_, other) = closed_as(&mut cluster, RS_3_2, 2);
    lose(&mut cluster, other, 1);
    lose(&mut cluster, other, 2);
    let orders = repair(&mut cluster, now);
    assert_eq!((orders.len(), reconstruction(&orders[0]).id), (1, other));
    assert_eq!(cluster.pending.of(c), []);
}

/// Container 1 on 7 nodes of one rack, and two racks more with two nodes each.
fn crowded() -> (Cluster, ContainerId) {
    let mut cluster = in_racks(7, 1);
    let (_, c) = closed(&mut cluster);
    assert_eq!(health(&cluster, c), "HEALTHY", "there is no other rack");
    for n in 8..=11 {
        register_in(&mut cluster, n, &format!("/rack{}", n % 2 + 1), START);
    }
    (cluster, c)
}

fn racks_of(cluster: &Cluster, c: ContainerId) -> BTreeMap<String, usize> {
    let mut racks = BTreeMap::new();
    for replica in cluster.replicas.of(c) {
        let rack = &cluster.nodes.get(replica.node).unwrap().details.network_location;
        *racks.entry(rack.clone()).or_default() += 1;
    }
    racks
}

#[test]
fn a_rack_with_more_indexes_than_may_be_lost_gives_some_away() {
    let (mut cluster, c) = crowded();
    let now = soon(&cluster);
    for _ in 0..3 {
        assert_eq!(health(&cluster, c), "MIS_REPLICATED");
        let (source, target) = copy(&repair(&mut cluster, now)[0]);
        assert_eq!(repair(&mut cluster, now), [], "one at a time");
        let index = cluster.replicas.on(c, source).unwrap().replica_index;
        say(&mut cluster, c, target, index, ReplicaState::Closed);
        let gone = deleted(&repair(&mut cluster, now), c);
        assert_eq!(gone, [source], "the one in the crowded rack");
        say(&mut cluster, c, source, index, ReplicaState::Deleted);
    }
    assert_eq!(health(&cluster, c), "HEALTHY");
    assert_eq!(repair(&mut cluster, now), []);
    assert!(racks_of(&cluster, c).values().all(|n| *n <= 2), "{:?}", racks_of(&cluster, c));
}

#[test]
fn racks_are_as_even_as_they_can_be() {
    // Two racks: three indexes in one of them is as good as it gets.
    let mut cluster = in_racks(10, 2);
    let (_, c) = closed(&mut cluster);
    assert_eq!(health(&cluster, c), "HEALTHY");
    let now = soon(&cluster);
    assert_eq!(repair(&mut cluster, now), []);
    // A third rack of one node that has an index already takes no second one.
    let (mut cluster, c) = crowded();
    let now = soon(&cluster);
    for n in 8..=10 {
        cluster.nodes.set_storage(node(n), Vec::new());
    }
    let (source, target) = copy(&repair(&mut cluster, now)[0]);
    assert_eq!(target, node(11));
    let index = cluster.replicas.on(c, source).unwrap().replica_index;
    say(&mut cluster, c, target, index, ReplicaState::Closed);
    say(&mut cluster, c, source, index, ReplicaState::Deleted);
    assert_eq!(health(&cluster, c), "HEALTHY", "there is nowhere to put another one");
    assert_eq!(repair(&mut cluster, now), []);
    // Racks may be configured not to matter.
    let (mut cluster, _) = crowded();
    cluster.settings.replication.rack_aware = false;
    assert_eq!(repair(&mut cluster, now), []);
}

#[test]
fn a_lost_index_goes_to_the_rack_with_the_fewest() {
    for config in ["rs-3-2-1024k", "rs-6-3-1024k"] {
        let mut cluster = in_racks(18, 3);
        let (_, c) = closed_as(&mut cluster, config, 1);
        let now = soon(&cluster);
        for index in [1, 2] {
            lose(&mut cluster, c, index);
        }
        let made = reconstruction(&repair(&mut cluster, now)[0]);
        arrive(&mut cluster, &made);
        let most = if config == RS_3_2 { 2 } else { 3 };
        assert!(racks_of(&cluster, c).values().all(|n| *n <= most), "{config}");
        assert_eq!(health(&cluster, c), "HEALTHY");
    }
}
