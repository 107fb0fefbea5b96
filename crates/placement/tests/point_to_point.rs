//! Nodes that leave and have a destination.

use std::collections::BTreeSet;

use placement::node::{DestinationChoice, DestinationError};
use placement::{Cluster, Health, OrderKind, ReplicaState, Settings, Storage};
use types::{ContainerId, DatanodeDetails, DatanodeId, OperationalState};

use crate::ec_fixture;
use crate::fixture::*;

/// Closed containers, each on nodes 1 to 3.
const CONTAINERS: u64 = 10;

/// Node `n` registers in a rack, with one disk that has `remaining` bytes left.
fn join(cluster: &mut Cluster, n: u128, rack: &str, remaining: u64) {
    let details = DatanodeDetails { network_location: rack.to_owned(), ..details(n) };
    let disk = Storage { remaining, ..disks(1).remove(0) };
    cluster.register(details, vec![disk], &[], START);
}

/// Containers on nodes 1 to 3, and nodes 4 to 7 in another rack that have none. A node sends, and
/// gets, two copies at a time.
fn filled() -> Cluster {
    let mut settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    settings.replication.copies_per_node = 2;
    settings.replication.out_of_service_factor = 1.0;
    settings.replication.in_flight_share = 0.0;
    let mut cluster = cluster(3, settings);
    let pipeline = make_pipelines(&mut cluster, 1, START)[0];
    for n in 1..=CONTAINERS {
        let id = open_container(&mut cluster, n, pipeline);
        close(&mut cluster, id, 5, START);
    }
    (4..=7).for_each(|n| join(&mut cluster, n, "/r2", 1 << 40));
    cluster
}

fn wish(
    cluster: &mut Cluster,
    leaving: u128,
    wish: DestinationChoice,
) -> Result<(), DestinationError> {
    for change in cluster.plan_destinations(&[node(leaving)], wish)? {
        cluster.apply(&change).unwrap();
    }
    Ok(())
}

fn decommission(cluster: &mut Cluster, n: u128) {
    let decision = cluster.decommission(node(n), START).unwrap();
    apply(cluster, &decision);
}

/// Begins to empty node `leaving` to node `to`.
fn send(cluster: &mut Cluster, leaving: u128, to: u128) {
    wish(cluster, leaving, DestinationChoice::Node(node(to))).unwrap();
    decommission(cluster, leaving);
}

/// The copies that are ordered now: container, source and target.
fn copies(cluster: &mut Cluster, now: u64) -> Vec<(ContainerId, DatanodeId, DatanodeId)> {
    let now = now + cluster.settings.resend_after;
    let healthy = cluster.nodes.iter().filter(|n| n.health == Health::Healthy);
    for id in healthy.map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    let orders = cluster.repair_containers(ContainerId(0), 100, now).decision.orders;
    let copy = |order: &placement::Order| match order.kind {
        OrderKind::ReplicateContainer { id, target } => (id, order.node, target),
        _ => panic!("{order:?}"),
    };
    orders.iter().map(copy).collect()
}

/// The copies have arrived.
fn arrive(cluster: &mut Cluster, copies: &[(ContainerId, DatanodeId, DatanodeId)]) {
    for (id, _, target) in copies {
        let origin = node(1);
        let copy =
            placement::Replica { origin, node: *target, ..replica(1, ReplicaState::Closed, 5, 5) };
        report(cluster, *id, copy, START);
    }
}

#[test]
fn only_the_two_nodes_move_data_and_as_much_as_they_may() {
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    let mut moved = BTreeSet::new();
    loop {
        let now = copies(&mut cluster, START);
        if now.is_empty() {
            break;
        }
        assert!(now.len() <= 2, "{now:?}");
        assert_eq!(copies(&mut cluster, START), [], "the two have enough to do");
        for (id, source, target) in &now {
            assert_eq!((*source, *target), (node(1), node(5)));
            assert!(moved.insert(*id));
        }
        arrive(&mut cluster, &now);
    }
    assert_eq!(moved.len() as u64, CONTAINERS);
    assert!(cluster.obstacles(node(1)).is_none());
    let (_, decision) = cluster.check_leaving_nodes(START);
    apply(&mut cluster, &decision);
    assert_eq!(cluster.destination(node(1)), None, "it is through");
}

#[test]
fn a_node_that_enters_maintenance_sends_to_its_destination_too() {
    let mut cluster = filled();
    cluster.settings.replication.maintenance_minimum = 3;
    wish(&mut cluster, 1, DestinationChoice::Node(node(5))).unwrap();
    let decision = cluster.begin_maintenance(node(1), 0, START).unwrap();
    apply(&mut cluster, &decision);
    let begun = copies(&mut cluster, START);
    assert_eq!(begun.len(), 2);
    assert!(begun.iter().all(|of| (of.1, of.2) == (node(1), node(5))), "{begun:?}");
    assert_eq!(copies(&mut cluster, START), [], "the two have enough to do");
    for id in (1..=CONTAINERS).map(container).filter(|id| begun.iter().all(|of| of.0 != *id)) {
        report(&mut cluster, id, replica(2, ReplicaState::Deleted, 0, 0), START);
    }
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|of| of.2 != node(5)), "{now:?}");
}

#[test]
fn without_a_destination_all_nodes_help() {
    let mut cluster = filled();
    wish(&mut cluster, 1, DestinationChoice::Node(node(5))).unwrap();
    wish(&mut cluster, 1, DestinationChoice::Any).unwrap();
    decommission(&mut cluster, 1);
    let targets: BTreeSet<_> = copies(&mut cluster, START).into_iter().map(|of| of.2).collect();
    assert!(targets.len() > 1, "{targets:?}");
}

#[test]
fn what_the_destination_cannot_take_goes_elsewhere() {
    // It has one already.
    let mut cluster = filled();
    report(&mut cluster, container(1), replica(5, ReplicaState::Unhealthy, 5, 5), START);
    send(&mut cluster, 1, 5);
    let now = copies(&mut cluster, START);
    assert!(now.iter().all(|(id, _, to)| (*id == container(1)) == (*to != node(5))), "{now:?}");
    assert!(now.iter().any(|(id, ..)| *id == container(1)), "{now:?}");
    // It leaves, too.
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    decommission(&mut cluster, 5);
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|(.., to)| *to != node(5)), "{now:?}");
    // It has no room any more.
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    join(&mut cluster, 5, "/r2", 10);
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|(.., to)| *to != node(5)), "{now:?}");
}

#[test]
fn all_replicas_do_not_go_into_one_rack() {
    let mut cluster = filled();
    join(&mut cluster, 8, "/default-rack", 1 << 40);
    send(&mut cluster, 1, 8);
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|(.., to)| *to != node(8)), "{now:?}");
    // One of three in another rack is enough.
    let mut cluster = filled();
    for n in 1..=CONTAINERS {
        let copy = placement::Replica { origin: node(1), ..replica(4, ReplicaState::Closed, 5, 5) };
        report(&mut cluster, container(n), copy, START);
        report(&mut cluster, container(n), replica(3, ReplicaState::Deleted, 0, 0), START);
    }
    join(&mut cluster, 8, "/default-rack", 1 << 40);
    send(&mut cluster, 1, 8);
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|(.., to)| *to == node(8)), "{now:?}");
}

#[test]
fn what_is_missing_for_another_reason_does_not_wait() {
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    let begun = copies(&mut cluster, START);
    assert_eq!(begun.len(), 2);
    // Of those that wait for the two another replica is lost.
    for id in (1..=CONTAINERS).map(container).filter(|id| begun.iter().all(|of| of.0 != *id)) {
        report(&mut cluster, id, replica(2, ReplicaState::Deleted, 0, 0), START);
    }
    let now = copies(&mut cluster, START);
    assert!(!now.is_empty() && now.iter().all(|(.., to)| *to != node(5)), "{now:?}");
}

#[test]
fn a_node_that_cannot_send_is_not_waited_for() {
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    let later = START + cluster.settings.stale_after;
    for n in 2..=7 {
        cluster.heartbeat(node(n), later).unwrap();
    }
    let (_, decision) = cluster.watch_nodes(later);
    apply(&mut cluster, &decision);
    let now = copies(&mut cluster, later);
    assert!(!now.is_empty() && now.iter().all(|(_, from, _)| *from != node(1)), "{now:?}");
}

#[test]
fn an_idle_node_in_another_rack_is_chosen() {
    let mut cluster = filled();
    join(&mut cluster, 8, "/default-rack", 1 << 40);
    // Nodes 4 to 7 are in another rack: 4 is fuller, 5 is the destination of another one, 6 has no
    // room for all, 7 remains.
    join(&mut cluster, 4, "/r2", 1 << 30);
    join(&mut cluster, 6, "/r2", 10_000);
    wish(&mut cluster, 2, DestinationChoice::Node(node(5))).unwrap();
    wish(&mut cluster, 1, DestinationChoice::Auto).unwrap();
    assert_eq!(cluster.destination(node(1)), Some(node(7)));
    // Two that leave together go to two.
    let changes = cluster.plan_destinations(&[node(1), node(3)], DestinationChoice::Auto).unwrap();
    changes.iter().for_each(|change| _ = cluster.apply(change).unwrap());
    let chosen = [1, 3].map(|n| cluster.destination(node(n)).unwrap());
    assert_ne!(chosen[0], chosen[1]);
    // None has room: they go to as many as take them.
    let mut cluster = filled();
    (4..=7).for_each(|n| join(&mut cluster, n, "/r2", 10_000));
    wish(&mut cluster, 1, DestinationChoice::Auto).unwrap();
    assert_eq!(cluster.destination(node(1)), None);
}

#[test]
fn a_destination_that_cannot_take_all_is_refused() {
    let mut cluster = filled();
    join(&mut cluster, 4, "/r2", 10_000);
    decommission(&mut cluster, 6);
    let mut refused = |to| wish(&mut cluster, 1, DestinationChoice::Node(node(to))).unwrap_err();
    assert_eq!(refused(99), DestinationError::Unknown(node(99)));
    assert!(matches!(refused(1), DestinationError::Leaves(_)));
    let (room, needed) = (10_000, CONTAINERS * 5_000);
    assert!(
        matches!(refused(4), DestinationError::Room { room: r, needed: n, .. } if (r, n) == (room, needed))
    );
    let state = OperationalState::Decommissioning;
    assert!(matches!(refused(6), DestinationError::State { state: s, .. } if s == state));
    assert_eq!(cluster.destination(node(1)), None);
}

#[test]
fn a_node_that_is_back_in_service_has_no_destination() {
    let mut cluster = filled();
    send(&mut cluster, 1, 5);
    let decision = cluster.recommission(node(1), START).unwrap();
    apply(&mut cluster, &decision);
    assert_eq!(cluster.destination(node(1)), None);
}

#[test]
fn an_index_goes_to_the_destination_unless_its_rack_has_enough() {
    let copy_to = |cluster: &mut Cluster, id, target| {
        let leaving = ec_fixture::node_of(cluster, id, 3);
        let choice = DestinationChoice::Node(target);
        let changes = cluster.plan_destinations(&[leaving], choice).unwrap();
        changes.iter().for_each(|change| _ = cluster.apply(change).unwrap());
        let decision = cluster.decommission(leaving, START).unwrap();
        apply(cluster, &decision);
        let now = ec_fixture::soon(cluster);
        let orders = ec_fixture::repair(cluster, now);
        (leaving, ec_fixture::copy(&orders[0]))
    };
    // Each free node in turn: the rules alone would choose one of them only.
    let free = {
        let mut cluster = ec_fixture::in_racks(9, 3);
        let (_, id) = ec_fixture::closed(&mut cluster);
        ec_fixture::free_nodes(&cluster, id)
    };
    let mut chosen = BTreeSet::new();
    for target in free {
        let mut cluster = ec_fixture::in_racks(9, 3);
        let (_, id) = ec_fixture::closed(&mut cluster);
        let (leaving, (source, to)) = copy_to(&mut cluster, id, target);
        assert_eq!(source, leaving);
        let rack = |n| cluster.nodes.get(n).unwrap().details.network_location.clone();
        let in_rack = (1..=5)
            .map(|index| ec_fixture::node_of(&cluster, id, index))
            .filter(|n| *n != leaving && rack(*n) == rack(target))
            .count();
        assert_eq!(to == target, in_rack < 2, "{in_rack} are there");
        chosen.insert(to);
    }
    assert!(chosen.len() > 1, "{chosen:?}");
}

/// Three containers on twelve nodes; a node that has several of them leaves for one that has none
/// of these, and each copies one at a time. Gives which nodes have which, the two nodes, and the
/// copy that began.
fn busy_pair() -> (Cluster, Vec<Vec<DatanodeId>>, [DatanodeId; 2], ContainerId) {
    let mut cluster = ec_fixture::in_racks(12, 12);
    cluster.settings.replication.copies_per_node = 1;
    cluster.settings.replication.out_of_service_factor = 1.0;
    let held: Vec<Vec<DatanodeId>> = (1..=3)
        .map(|n| {
            let (_, id) = ec_fixture::closed_as(&mut cluster, ec_fixture::RS_3_2, n);
            (1..=5).map(|index| ec_fixture::node_of(&cluster, id, index)).collect()
        })
        .collect();
    let all: Vec<DatanodeId> = cluster.nodes.iter().map(|n| n.details.id).collect();
    let of = |n: &DatanodeId| held.iter().filter(|nodes| nodes.contains(n)).count();
    let meet = |a: DatanodeId, b: DatanodeId| {
        held.iter().any(|nodes| nodes.contains(&a) && nodes.contains(&b))
    };
    let mut pairs = all.iter().flat_map(|n| all.iter().map(move |to| (*n, *to)));
    let (leaving, target) = pairs.find(|(n, to)| of(n) > 1 && !meet(*n, *to)).unwrap();
    let choice = DestinationChoice::Node(target);
    let changes = cluster.plan_destinations(&[leaving], choice).unwrap();
    changes.iter().for_each(|change| _ = cluster.apply(change).unwrap());
    let decision = cluster.decommission(leaving, START).unwrap();
    apply(&mut cluster, &decision);
    let now = ec_fixture::soon(&cluster);
    let orders = ec_fixture::repair(&mut cluster, now);
    assert_eq!(orders.len(), 1, "{orders:?}");
    assert_eq!(ec_fixture::copy(&orders[0]), (leaving, target));
    let OrderKind::ReplicateContainer { id: begun, .. } = orders[0].kind else { panic!() };
    (cluster, held, [leaving, target], begun)
}

#[test]
fn an_index_waits_while_the_destination_has_enough_to_do() {
    _ = busy_pair();
}

#[test]
fn an_index_of_another_node_does_not_wait_for_a_busy_pair() {
    let (mut cluster, held, [leaving, _], begun) = busy_pair();
    let waiting = (1..=3).map(container).zip(&held);
    let (id, nodes) =
        waiting.filter(|of| of.0 != begun).find(|of| of.1.contains(&leaving)).unwrap();
    // One that has nothing else to copy.
    let is_only_here = |n: &&DatanodeId| held.iter().filter(|nodes| nodes.contains(n)).count() == 1;
    let other = *nodes.iter().find(is_only_here).unwrap();
    let decision = cluster.decommission(other, START).unwrap();
    apply(&mut cluster, &decision);
    let now = ec_fixture::soon(&cluster);
    let orders = ec_fixture::repair(&mut cluster, now);
    let [order] = orders.as_slice() else { panic!("{orders:?}") };
    assert_eq!(ec_fixture::copy(order).0, other);
    assert!(matches!(order.kind, OrderKind::ReplicateContainer { id: of, .. } if of == id));
}
