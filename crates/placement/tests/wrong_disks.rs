//! Replicas on disks of another storage type than their container's are put right, one at a time,
//! and none is ever one fewer for it.

use placement::{Cluster, OrderKind, Replica, ReplicaState, Settings, Storage};
use types::{ContainerId, DatanodeId, StorageType};

use crate::ec_fixture::{RS_3_2, closed_as, repair};
use crate::fixture::*;

use StorageType::{Archive, Disk, Ssd};

/// Disks of these types, with the given bytes left.
fn with_room(disks: &[(StorageType, u64)]) -> Vec<Storage> {
    let disk = |(of, remaining): &(StorageType, u64)| Storage {
        storage_type: *of,
        capacity: 1_000_000,
        used: 1_000_000 - remaining,
        remaining: *remaining,
        ..Storage::default()
    };
    disks.iter().map(disk).collect()
}

const ROOM: u64 = 500_000;

/// A container that belongs on DISK, on nodes 1 to 3; node 3 has it on an SSD.
fn on_an_ssd(third: &[(StorageType, u64)], settings: Settings) -> (Cluster, ContainerId) {
    let mut cluster = cluster(0, Settings { create_factor_one: false, ..settings });
    for n in 1..=3 {
        cluster.register(details(n), disks(1), &[], START);
    }
    let pipeline = make_pipelines(&mut cluster, 1, START)[0];
    let id = open_container(&mut cluster, 1, pipeline);
    close(&mut cluster, id, 5, START);
    for n in 1..=3 {
        say(&mut cluster, id, n, if n == 3 { Ssd } else { Disk });
    }
    for n in [1, 2] {
        cluster.nodes.set_storage(node(n), with_room(&[(Disk, ROOM)]));
    }
    cluster.nodes.set_storage(node(3), with_room(third));
    (cluster, id)
}

/// A node's replica is good, and on a disk of that type.
fn say(cluster: &mut Cluster, id: ContainerId, n: u128, of: StorageType) {
    let closed = replica(n, ReplicaState::Closed, 5, 5);
    report(cluster, id, Replica { storage_type: of, origin: node(1), ..closed }, START);
}

fn gone(cluster: &mut Cluster, id: ContainerId, n: u128) {
    let closed = replica(n, ReplicaState::Deleted, 5, 5);
    report(cluster, id, closed, START);
}

fn join(cluster: &mut Cluster, n: u128, disks: &[(StorageType, u64)]) {
    cluster.register(details(n), with_room(disks), &[], START);
}

fn later(cluster: &Cluster) -> u64 {
    START + cluster.settings.resend_after
}

fn send(source: u128, id: ContainerId, target: u128) -> placement::Order {
    to(source, OrderKind::ReplicateContainer { id, target: node(target) })
}

#[test]
fn a_node_moves_its_replica_to_a_disk_of_its_own_if_that_has_room() {
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM), (Disk, ROOM)], settings());
    join(&mut cluster, 4, &[(Disk, ROOM)]);
    let now = later(&cluster);
    assert_eq!(repair(&mut cluster, now), [send(3, id, 3)]);
    assert_eq!(cluster.pending.sending(node(3)), 1);
    assert_eq!(repair(&mut cluster, now), [], "it is under way");
    // A report of before it moved.
    say(&mut cluster, id, 3, Ssd);
    assert_eq!(cluster.pending.sending(node(3)), 1);
    say(&mut cluster, id, 3, Disk);
    assert_eq!(cluster.pending.of(id), []);
    assert_eq!(repair(&mut cluster, now + 1), []);
}

#[test]
fn else_a_node_that_has_room_gets_a_copy_and_the_one_on_the_wrong_disk_goes() {
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM), (Disk, 3)], settings());
    join(&mut cluster, 4, &[(Ssd, ROOM), (Archive, ROOM)]);
    join(&mut cluster, 5, &[(Ssd, ROOM), (Disk, ROOM)]);
    for n in 1..=5 {
        cluster.nodes.set_confirmed(node(n), true);
    }
    let now = later(&cluster);
    assert_eq!(repair(&mut cluster, now), [send(3, id, 5)]);
    assert_eq!(repair(&mut cluster, now), []);
    say(&mut cluster, id, 5, Disk);
    let delete = to(3, OrderKind::DeleteContainer { id, index: 0, force: true });
    assert_eq!(repair(&mut cluster, now), [delete]);
    gone(&mut cluster, id, 3);
    assert_eq!(repair(&mut cluster, now), []);
}

#[test]
fn without_room_or_when_it_is_turned_off_they_stay() {
    let (mut cluster, _) = on_an_ssd(&[(Ssd, ROOM)], settings());
    // The others have a replica each, and node 4 no such disk.
    join(&mut cluster, 4, &[(Ssd, ROOM)]);
    let now = later(&cluster);
    assert_eq!(repair(&mut cluster, now), []);
    let mut off = settings();
    off.replication.storage_types = false;
    let (mut cluster, _) = on_an_ssd(&[(Ssd, ROOM), (Disk, ROOM)], off);
    assert_eq!(repair(&mut cluster, now), []);
}

#[test]
fn what_failed_is_not_tried_again_for_a_while() {
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM), (Disk, ROOM)], settings());
    let now = later(&cluster);
    assert_eq!(repair(&mut cluster, now), [send(3, id, 3)]);
    cluster.copy_failed(id, node(3), now);
    assert_eq!(cluster.pending.of(id), [], "it is not waited for");
    assert_eq!(repair(&mut cluster, now + 1), []);
    let timeout = cluster.settings.replication.timeout;
    assert_eq!(repair(&mut cluster, now + timeout - 1), []);
    assert_eq!(repair(&mut cluster, now + timeout), [send(3, id, 3)]);
    // And one that was copied elsewhere, to a wrong disk there.
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM)], settings());
    join(&mut cluster, 4, &[(Ssd, ROOM), (Disk, ROOM)]);
    for n in 1..=4 {
        cluster.nodes.set_confirmed(node(n), true);
    }
    let copies = |orders: &[placement::Order]| {
        let is_copy =
            |o: &&placement::Order| matches!(o.kind, OrderKind::ReplicateContainer { .. });
        orders.iter().filter(is_copy).count()
    };
    let mut seen = 0;
    for round in 0..20 {
        let orders = repair(&mut cluster, now + round);
        seen += copies(&orders);
        for order in orders {
            match order.kind {
                OrderKind::ReplicateContainer { target, .. } => {
                    let n = target.0.as_u128();
                    say(&mut cluster, id, n, Ssd);
                }
                OrderKind::DeleteContainer { .. } => gone(&mut cluster, id, order.node.0.as_u128()),
                other => panic!("{other:?}"),
            }
            assert!(cluster.replicas.of(id).len() >= 3);
        }
    }
    assert!((1..=2).contains(&seen), "{seen} copies: it goes to and fro");
}

#[test]
fn a_replica_that_is_missing_comes_first() {
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM), (Disk, ROOM)], settings());
    join(&mut cluster, 4, &[(Disk, ROOM)]);
    gone(&mut cluster, id, 2);
    let now = later(&cluster);
    let orders = repair(&mut cluster, now);
    let OrderKind::ReplicateContainer { target, .. } = orders[0].kind else { panic!() };
    assert_eq!((orders.len(), target), (1, node(4)));
    // One that moves to another disk of its node counts as before.
    let (mut cluster, id) = on_an_ssd(&[(Ssd, ROOM), (Disk, ROOM)], settings());
    assert_eq!(repair(&mut cluster, now), [send(3, id, 3)]);
    join(&mut cluster, 4, &[(Disk, ROOM)]);
    gone(&mut cluster, id, 2);
    let orders = repair(&mut cluster, now + 1);
    let OrderKind::ReplicateContainer { target, .. } = orders[0].kind else { panic!() };
    assert_eq!((orders.len(), target), (1, node(4)));
}

#[test]
fn an_erasure_coded_index_is_moved_too() {
    let mut cluster = crate::ec_fixture::in_racks(7, 1);
    let (_, id) = closed_as(&mut cluster, RS_3_2, 1);
    let at = |cluster: &Cluster, index: u32| -> DatanodeId {
        crate::ec_fixture::node_of(cluster, id, index)
    };
    let wrong = at(&cluster, 2);
    let on = |n: DatanodeId, of| {
        let closed = crate::ec_fixture::part(n, 2, ReplicaState::Closed);
        Replica { storage_type: of, ..closed }
    };
    report(&mut cluster, id, on(wrong, Ssd), START);
    cluster.nodes.set_storage(wrong, with_room(&[(Ssd, ROOM)]));
    for n in 1..=7 {
        cluster.nodes.set_confirmed(node(n), true);
        if node(n) != wrong {
            cluster.nodes.set_storage(node(n), with_room(&[(Disk, ROOM)]));
        }
    }
    let now = later(&cluster);
    let orders = repair(&mut cluster, now);
    let OrderKind::ReplicateContainer { target, .. } = orders[0].kind else { panic!() };
    assert_eq!((orders.len(), orders[0].node), (1, wrong));
    assert!(cluster.replicas.on(id, target).is_none());
    report(&mut cluster, id, on(target, Disk), START);
    let delete = OrderKind::DeleteContainer { id, index: 2, force: true };
    assert_eq!(repair(&mut cluster, now), [placement::Order { node: wrong, kind: delete }]);
}
