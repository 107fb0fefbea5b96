//! Indexes of erasure coded containers that are missing are decoded from the others.

use std::collections::{BTreeMap, BTreeSet};

use placement::{Cluster, OrderKind, ReplicaState};
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

fn racks_of(cluster: &Cluster, id: ContainerId) -> BTreeMap<String, usize> {
    let mut racks = BTreeMap::new();
    for replica in cluster.replicas.of(id) {
        let rack = &cluster.nodes.get(replica.node).unwrap().details.network_location;
        *racks.entry(rack.clone()).or_default() += 1;
    }
    racks
}

#[test]
fn all_that_is_missing_is_decoded_by_one_order_from_all_that_is_there() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    assert_eq!(repair(&mut cluster, now), []);
    lose(&mut cluster, c, 5);
    lose(&mut cluster, c, 1);
    let orders = repair(&mut cluster, now);
    assert_eq!(orders.len(), 1, "{orders:?}");
    let made = reconstruction(&orders[0]);
    assert_eq!((made.id, made.indexes()), (c, vec![1, 5]));
    let there: Vec<_> = (2..=4).map(|index| (node_of(&cluster, c, index), index)).collect();
    assert_eq!(made.sources, there);
    assert!(made.targets.iter().all(|(node, _)| cluster.replicas.on(c, *node).is_none()));
    assert_eq!(count(&cluster, c).coming.keys().copied().collect::<Vec<_>>(), [1, 5]);
    assert_eq!(repair(&mut cluster, now + 1_000), [], "it is under way");
    assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
    arrive(&mut cluster, &made);
    assert_eq!(health(&cluster, c), "HEALTHY");
    assert_eq!(repair(&mut cluster, now + 2_000), []);
    assert_eq!((cluster.pending.copies(), cluster.pending.sending(orders[0].node)), (0, 0));
    assert!(racks_of(&cluster, c).values().all(|n| *n <= 2), "{:?}", racks_of(&cluster, c));
}

#[test]
fn what_a_node_was_to_decode_when_it_registers_again_is_ordered_once_more() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    lose(&mut cluster, c, 5);
    let orders = repair(&mut cluster, now);
    let [order] = orders.as_slice() else { panic!("{orders:?}") };
    assert_eq!(repair(&mut cluster, now + 1_000), [], "it is under way");
    let details = cluster.nodes.get(order.node).unwrap().details.clone();
    let replica = cluster.replicas.on(c, order.node).cloned();
    cluster.register(details, disks(1), &[], now + 1_000);
    let replicas = replica.map(|replica| (c, replica)).into_iter().collect();
    cluster.report_all_replicas(order.node, replicas, now + 1_000);
    let again = repair(&mut cluster, now + 2_000);
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(reconstruction(&again[0]).indexes(), [5]);
    assert_eq!(repair(&mut cluster, now + 3_000), [], "it is under way");
}

#[test]
fn all_good_indexes_are_sources_so_that_what_is_decoded_can_be_checked() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    // One that leaves can be read, and a duplicate is listed once.
    let leaving = node_of(&cluster, c, 2);
    let decision = cluster.decommission(leaving, START).unwrap();
    apply(&mut cluster, &decision);
    let away = node_of(&cluster, c, 3);
    let decision = cluster.begin_maintenance(away, 0, START).unwrap();
    apply(&mut cluster, &decision);
    let twice = free_nodes(&cluster, c)[0];
    say(&mut cluster, c, twice, 4, ReplicaState::Closed);
    lose(&mut cluster, c, 5);
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    let indexes: Vec<_> = made.sources.iter().map(|(_, index)| *index).collect();
    assert_eq!((indexes, made.indexes()), (vec![1, 2, 3, 4], vec![5]));
    assert!(made.sources.contains(&(leaving, 2)) && made.sources.contains(&(away, 3)));
}

#[test]
fn with_too_few_nodes_as_many_are_decoded_as_there_are_targets() {
    let mut cluster = in_racks(6, 1);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let dead: BTreeSet<_> = [lose(&mut cluster, c, 2), lose(&mut cluster, c, 4)].into();
    for node in &dead {
        cluster.nodes.set_storage(*node, Vec::new());
    }
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!((orders.len(), made.indexes()), (1, vec![2]));
    assert!(!dead.contains(&made.targets[0].0));
    arrive(&mut cluster, &made);
    assert_eq!(repair(&mut cluster, now), [], "there is no node for the other");
    for node in dead {
        cluster.nodes.set_storage(node, disks(1));
    }
    let orders = repair(&mut cluster, now);
    assert_eq!(reconstruction(&orders[0]).indexes(), [4]);
}

#[test]
fn what_fails_is_ordered_again_elsewhere_and_what_arrived_is_not() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    lose(&mut cluster, c, 1);
    lose(&mut cluster, c, 3);
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    let (first, second) = (made.targets[0], made.targets[1]);
    // One of the two is created before the coordinator fails.
    say(&mut cluster, c, first.0, first.1, ReplicaState::Closed);
    assert_eq!(repair(&mut cluster, now), [], "the other one is still under way");
    assert!(!cluster.pending.failed(c, first.0), "that one has arrived");
    assert!(cluster.pending.failed(c, second.0));
    let orders = repair(&mut cluster, now);
    let again = reconstruction(&orders[0]);
    assert_eq!(again.indexes(), [second.1]);
    assert_ne!(again.targets[0].0, second.0, "another node is tried first");
    let timeout = cluster.settings.replication.timeout;
    assert_eq!(repair(&mut cluster, now + timeout - 1), []);
    let orders = repair(&mut cluster, now + timeout);
    assert_eq!(reconstruction(&orders[0]).indexes(), [second.1], "it took too long");
}

#[test]
fn a_coordinator_that_dies_is_replaced_at_once() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    lose(&mut cluster, c, 1);
    lose(&mut cluster, c, 3);
    let orders = repair(&mut cluster, now);
    let later = make_dead(&mut cluster, orders[0].node);
    assert_eq!(cluster.pending.of(c), []);
    let orders = repair(&mut cluster, later);
    assert_eq!(reconstruction(&orders[0]).indexes(), [1, 3]);
}

#[test]
fn nothing_is_decoded_from_fewer_than_it_takes() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    for index in 1..=3 {
        lose(&mut cluster, c, index);
    }
    assert_eq!(repair(&mut cluster, now), []);
    assert_eq!(health(&cluster, c), "MISSING");
    // A third that is empty, or has an invalid index, does not help.
    let free = free_nodes(&cluster, c);
    for (index, state) in [
        (3, ReplicaState::Invalid),
        (0, ReplicaState::Closed),
        (6, ReplicaState::Closed),
        (4, ReplicaState::Closed),
    ] {
        say(&mut cluster, c, free[0], index, state);
        let orders = repair(&mut cluster, now);
        let made =
            |o: &placement::Order| matches!(o.kind, OrderKind::ReconstructEcContainer { .. });
        assert!(!orders.iter().any(made), "{index} {state:?}: {orders:?}");
        cluster.pending.take_changed();
    }
    // Nor does one that cannot be read now.
    say(&mut cluster, c, free[1], 3, ReplicaState::Closed);
    let later = make_stale(&mut cluster, free[1]);
    assert_eq!(review(&mut cluster, later), []);
    cluster.heartbeat(free[1], later);
    let orders = review(&mut cluster, later);
    let made = orders.iter().find(|o| matches!(o.kind, OrderKind::ReconstructEcContainer { .. }));
    assert_eq!(reconstruction(made.unwrap()).indexes(), [1, 2]);
}

#[test]
fn damaged_replicas_are_read_when_too_few_good_ones_are_left() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let damaged: Vec<_> = [2, 3].into_iter().map(|index| node_of(&cluster, c, index)).collect();
    for (node, index) in damaged.iter().zip([2, 3]) {
        say(&mut cluster, c, *node, index, ReplicaState::Unhealthy);
    }
    // With one of three good ones silent the others wait for it: it is not lost.
    let silent = node_of(&cluster, c, 1);
    let later = make_stale(&mut cluster, silent);
    assert_eq!(review(&mut cluster, later), []);
    cluster.heartbeat(silent, later);
    cluster.watch_nodes(later);
    // Three good ones are enough: the others are decoded from them.
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [2, 3]);
    assert!(!made.sources.iter().any(|(node, _)| damaged.contains(node)), "{made:?}");
    cluster.pending.take_changed();
    for (node, _) in &made.targets {
        cluster.pending.failed(c, *node);
    }
    // With two of them, a lost index is decoded also from the damaged ones, which are not decoded.
    let lost = lose(&mut cluster, c, 1);
    assert_eq!(health(&cluster, c), "UNHEALTHY");
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [1]);
    assert_eq!(made.sources.iter().map(|(_, index)| *index).collect::<Vec<_>>(), [2, 3, 4, 5]);
    // If nothing else is missing, one of them is decoded.
    for (node, _) in &made.targets {
        cluster.pending.failed(c, *node);
    }
    say(&mut cluster, c, lost, 1, ReplicaState::Unhealthy);
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [1]);
    assert_eq!(made.sources.iter().map(|(_, index)| *index).collect::<Vec<_>>(), [2, 3, 4, 5]);
    arrive(&mut cluster, &made);
    // Then there are three good ones again, and the damaged ones are replaced and go.
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [2, 3]);
    assert!(!made.sources.iter().any(|(node, _)| damaged.contains(node)), "{made:?}");
}

#[test]
fn an_index_on_a_node_that_is_stale_is_not_decoded_before_the_node_is_dead() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let silent = node_of(&cluster, c, 4);
    let later = make_stale(&mut cluster, silent);
    assert_eq!(review(&mut cluster, later), []);
    let rest = cluster.settings.dead_after - cluster.settings.stale_after;
    let later = silence(&mut cluster, silent, rest);
    assert_eq!(reconstruction(&review(&mut cluster, later)[0]).indexes(), [4]);
}

#[test]
fn an_index_that_is_being_closed_is_waited_for() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let late = node_of(&cluster, c, 4);
    for state in [ReplicaState::Open, ReplicaState::Closing] {
        say(&mut cluster, c, late, 4, state);
        assert_eq!(repair(&mut cluster, now), [], "{state:?}");
        assert_eq!(health(&cluster, c), "HEALTHY");
    }
    // A container that was closed just now, too.
    say(&mut cluster, c, late, 4, ReplicaState::Deleted);
    assert_eq!(repair(&mut cluster, now - 1), []);
    assert_eq!(repair(&mut cluster, now).len(), 1);
}

#[test]
fn a_bad_replica_is_replaced_before_it_goes() {
    for (index, state) in [(2, ReplicaState::Unhealthy), (0, ReplicaState::Closed)] {
        let mut cluster = in_racks(9, 3);
        let (_, c) = closed(&mut cluster);
        let now = soon(&cluster);
        let bad = node_of(&cluster, c, 2);
        say(&mut cluster, c, bad, index, state);
        assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
        let orders = repair(&mut cluster, now);
        let made = reconstruction(&orders[0]);
        assert_eq!((orders.len(), made.indexes()), (1, vec![2]));
        assert_eq!(repair(&mut cluster, now), [], "not before the good one is there");
        arrive(&mut cluster, &made);
        assert_eq!(health(&cluster, c), "UNHEALTHY");
        // The good one has missed heartbeats.
        let later = make_stale(&mut cluster, made.targets[0].0);
        assert_eq!(review(&mut cluster, later), []);
        cluster.heartbeat(made.targets[0].0, later);
        // The node keeps one of another index that it may have got meanwhile.
        let delete = OrderKind::DeleteContainer { id: c, index, force: true };
        assert_eq!(review(&mut cluster, later), [to(bad.0.as_u128(), delete)]);
        assert_eq!(repair(&mut cluster, later), []);
        say(&mut cluster, c, bad, index, ReplicaState::Deleted);
        assert_eq!(health(&cluster, c), "HEALTHY");
    }
}

#[test]
fn a_bad_replica_stays_while_another_index_is_missing() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let spare = free_nodes(&cluster, c)[0];
    say(&mut cluster, c, spare, 2, ReplicaState::Unhealthy);
    lose(&mut cluster, c, 5);
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!((orders.len(), made.indexes()), (1, vec![5]));
    assert_eq!(repair(&mut cluster, now), []);
    arrive(&mut cluster, &made);
    let delete = OrderKind::DeleteContainer { id: c, index: 2, force: true };
    assert_eq!(repair(&mut cluster, now), [to(spare.0.as_u128(), delete)]);
}

#[test]
fn a_bad_replica_gives_way_when_there_is_no_other_node() {
    let mut cluster = in_racks(5, 1);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let bad: Vec<_> = [2, 5].into_iter().map(|index| node_of(&cluster, c, index)).collect();
    say(&mut cluster, c, bad[0], 2, ReplicaState::Unhealthy);
    say(&mut cluster, c, bad[1], 5, ReplicaState::Unhealthy);
    // With one more that is stale the others can hardly be read.
    let silent = node_of(&cluster, c, 1);
    let later = make_stale(&mut cluster, silent);
    assert_eq!(review(&mut cluster, later), []);
    cluster.heartbeat(silent, later);
    for _ in 0..2 {
        let orders = review(&mut cluster, now);
        let index = [2, 5][bad.iter().position(|node| *node == orders[0].node).unwrap()];
        let delete = OrderKind::DeleteContainer { id: c, index, force: true };
        assert_eq!((orders.len(), &orders[0].kind), (1, &delete));
        assert_eq!(review(&mut cluster, now), [], "one at a time");
        say(&mut cluster, c, orders[0].node, 1, ReplicaState::Deleted);
        let orders = review(&mut cluster, now);
        arrive(&mut cluster, &reconstruction(&orders[0]));
    }
    assert_eq!(health(&cluster, c), "HEALTHY");
}

#[test]
fn of_two_replicas_of_an_index_the_closed_one_counts() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let spare = free_nodes(&cluster, c)[0];
    for state in [ReplicaState::Open, ReplicaState::Unhealthy] {
        say(&mut cluster, c, spare, 3, state);
        let orders = repair(&mut cluster, now);
        let gone: Vec<_> = orders.iter().map(|o| o.node).collect();
        let expected = if state == ReplicaState::Open { vec![] } else { vec![spare] };
        assert_eq!(gone, expected, "{state:?}");
    }
}

/// Containers 1 to `n`, all of which lack an index.
fn many(nodes: u128, n: u64) -> (Cluster, u64) {
    let mut cluster = in_racks(nodes, 3);
    for id in 1..=n {
        let (_, c) = closed_as(&mut cluster, RS_3_2, id);
        lose(&mut cluster, c, 5);
    }
    let now = soon(&cluster);
    (cluster, now)
}

#[test]
fn a_reconstruction_counts_as_several_copies() {
    let (mut cluster, now) = many(9, 60);
    cluster.settings.replication.in_flight_share = 0.0;
    cluster.settings.replication.copies_per_node = 4;
    let orders = repair(&mut cluster, now);
    let mut by_node: BTreeMap<DatanodeId, u32> = BTreeMap::new();
    for order in &orders {
        *by_node.entry(order.node).or_default() += 1;
    }
    // Each counts as three: a second one begins below the limit, a third one does not.
    assert!(by_node.values().all(|n| *n <= 2), "{by_node:?}");
    // SCM waits for a node in the right rack.
    assert!((12..=18).contains(&orders.len()), "{}", orders.len());
    assert_eq!(cluster.pending.copies(), 3 * orders.len());
    assert_eq!(repair(&mut cluster, now), []);
    arrive(&mut cluster, &reconstruction(&orders[0]));
    assert_eq!(repair(&mut cluster, now).len(), 1, "there is room for one more");
    let (mut cluster, now) = many(9, 60);
    cluster.settings.replication.copies_per_node = 10;
    cluster.settings.replication.in_flight_share = 0.2;
    assert_eq!(repair(&mut cluster, now).len(), 6, "nine nodes, ten each, a fifth of it");
    let (mut cluster, now) = many(9, 60);
    cluster.settings.replication.copies_per_node = 10;
    cluster.settings.replication.in_flight_share = 0.2;
    cluster.settings.replication.reconstruction_weight = 1;
    assert_eq!(repair(&mut cluster, now).len(), 18);
}

#[test]
fn what_is_closest_to_loss_goes_first() {
    let (mut cluster, now) = many(9, 30);
    cluster.settings.replication.copies_per_node = 10;
    cluster.settings.replication.in_flight_share = 0.1;
    let urgent = [container(29), container(17)];
    for c in urgent {
        lose(&mut cluster, c, 4);
    }
    let ids = |orders: &[placement::Order]| {
        orders.iter().map(|o| reconstruction(o).id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&repair(&mut cluster, now)), [container(17), container(29), container(1)]);
}

/// A round in batches of two: an urgent container at its end is delayed by the limit, and gets the
/// next free slot.
#[test]
fn what_is_urgent_does_not_wait_behind_all_others() {
    let (mut cluster, now) = many(9, 12);
    cluster.settings.replication.copies_per_node = 10;
    cluster.settings.replication.in_flight_share = 0.1;
    lose(&mut cluster, container(11), 4);
    let round = |cluster: &mut Cluster| {
        let (mut start, mut orders) = (ContainerId(0), Vec::new());
        loop {
            let repairs = cluster.repair_containers(start, 2, now);
            orders.extend(repairs.decision.orders);
            match repairs.next {
                Some(next) => start = next,
                None => return orders,
            }
        }
    };
    let orders = round(&mut cluster);
    assert_eq!(orders.len(), 3);
    for order in &orders {
        assert_ne!(reconstruction(order).id, container(11));
        arrive(&mut cluster, &reconstruction(order));
    }
    cluster.pending.take_changed();
    let orders = round(&mut cluster);
    assert_eq!(orders.iter().map(|o| reconstruction(o).id).collect::<Vec<_>>(), [container(11)]);
    assert!(cluster.pending.take_changed(), "the others are looked at again, soon");
    assert_eq!(round(&mut cluster).len(), 2);
}

#[test]
fn what_is_missing_and_how_long_it_takes_is_known() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let start = soon(&cluster);
    let used = cluster.containers.get(c).unwrap().used_bytes;
    assert!(used > 0);
    assert_eq!(cluster.repair_progress(start).left, Some(0), "nothing is missing");
    let mut now = start;
    for index in [5, 4] {
        lose(&mut cluster, c, index);
        let orders = repair(&mut cluster, now);
        let before = cluster.repair_progress(now);
        assert_eq!((before.missing, before.missing_bytes, before.under_way), (1, used, 1));
        assert_eq!(before.left, None, "at what rate is not known yet");
        now += 10_000;
        for (node, index) in reconstruction(&orders[0]).targets {
            report(&mut cluster, c, part(node, index, ReplicaState::Closed), now);
        }
    }
    for index in [1, 2] {
        lose(&mut cluster, c, index);
    }
    // One in ten seconds, and two are missing.
    let progress = cluster.repair_progress(now);
    assert_eq!((progress.missing, progress.under_way, progress.made), (2, 0, 2));
    assert_eq!(progress.left, Some(20_000));
    assert_eq!(cluster.repair_progress(now + 10_000).left, Some(40_000), "nothing came since");
    let later = now + placement::replica::progress::WINDOW + 1;
    assert_eq!(cluster.repair_progress(later).left, None);
    lose(&mut cluster, c, 3);
    let progress = cluster.repair_progress(now);
    assert_eq!((progress.lost, progress.missing), (1, 0), "nothing can be made");
}

#[test]
fn a_replica_that_did_not_close_with_the_others_is_told_again() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let node = node_of(&cluster, c, 3);
    say(&mut cluster, c, node, 3, ReplicaState::Open);
    for round in 0..3 {
        assert_eq!(repair(&mut cluster, now + round * 1_000), [], "it is waited for");
        let orders = cluster.repeat_closes(ContainerId(0), 1_000, now + round * 1_000).orders;
        let [order] = orders.as_slice() else { panic!("{orders:?}") };
        assert_eq!(order.node, node);
        assert!(
            matches!(order.kind, OrderKind::CloseContainer { id, force: false, .. } if id == c)
        );
    }
    say(&mut cluster, c, node, 3, ReplicaState::Closed);
    assert!(cluster.repeat_closes(ContainerId(0), 1_000, now + 4_000).is_empty());
}
