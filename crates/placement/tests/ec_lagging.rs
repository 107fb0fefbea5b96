//! Replicas of erasure coded containers that were down while blocks were deleted.

use placement::{Change, Cluster, OrderKind, Replica, ReplicaState, Touched, Transaction};
use types::{ContainerId, DatanodeId, LocalId};

use crate::ec_fixture::*;
use crate::fixture::*;

/// A transaction that every known replica has confirmed, so that it is forgotten.
fn delete_a_block(cluster: &mut Cluster, c: ContainerId, id: u64) {
    let transaction =
        Transaction { id, container: c, blocks: vec![LocalId(id)], ..Default::default() };
    cluster.apply(&Change::AddDeletions(vec![transaction])).unwrap();
    let holders: Vec<_> = cluster.replicas.of(c).iter().map(|r| r.node).collect();
    for node in holders {
        let decision = cluster.acknowledge_deletions(node, &[(id, true)]);
        apply(cluster, &decision);
    }
    assert!(cluster.deletions.get(id).is_none(), "forgotten");
    let all = cluster.replicas.of(c).to_vec();
    for replica in all {
        report(cluster, c, Replica { delete_transaction: id, ..replica }, START);
    }
}

/// A node reports that it applied all transactions up to that one.
fn took(cluster: &mut Cluster, c: ContainerId, on: DatanodeId, index: u32, up_to: u64) {
    let replica = part(on, index, ReplicaState::Closed);
    report(cluster, c, Replica { delete_transaction: up_to, ..replica }, START);
}

/// A container of rs-3-2 whose transaction 7 is forgotten; index 4 was decoded on the second node
/// while the first was down, which is back.
fn back(nodes: u128) -> (Cluster, ContainerId, DatanodeId, DatanodeId, u64) {
    let mut cluster = in_racks(nodes, 1);
    let (_, c) = closed(&mut cluster);
    let away = node_of(&cluster, c, 4);
    let later = make_dead(&mut cluster, away);
    let made = reconstruction(&review(&mut cluster, later)[0]);
    arrive(&mut cluster, &made);
    delete_a_block(&mut cluster, c, 7);
    register_in(&mut cluster, away.0.as_u128(), "/rack0", later);
    took(&mut cluster, c, away, 4, 0);
    (cluster, c, away, made.targets[0].0, later)
}

#[test]
fn what_was_forgotten_is_remembered_as_a_number() {
    let (cluster, c, away, other, _) = back(9);
    assert_eq!(cluster.containers.get(c).unwrap().delete_transaction, 7);
    let lags = |node| cluster.replicas.on(c, node).unwrap().lags;
    assert_eq!((lags(away), lags(other)), (true, false));
    assert_eq!(count(&cluster, c).lagging.into_iter().collect::<Vec<_>>(), [away]);
}

#[test]
fn the_number_is_written_with_what_is_forgotten() {
    let (mut cluster, c, ..) = back(9);
    for id in [8, 6] {
        let transaction = Transaction { id, container: c, ..Default::default() };
        cluster.apply(&Change::AddDeletions(vec![transaction])).unwrap();
    }
    let remove = Change::RemoveDeletions(vec![8, 9]);
    let rows = vec![Touched::Deletion(8), Touched::Container(c)];
    assert_eq!(cluster.apply(&remove), Ok(rows));
    let remove = Change::RemoveDeletions(vec![6, 8]);
    assert_eq!(cluster.apply(&remove), Ok(vec![Touched::Deletion(6)]), "it never falls");
    assert_eq!(cluster.containers.get(c).unwrap().delete_transaction, 8);
}

#[test]
fn of_two_replicas_the_one_that_missed_a_deletion_goes() {
    for first_lags in [true, false] {
        let (mut cluster, c, away, other, later) = back(9);
        let (late, on_time) = if first_lags { (away, other) } else { (other, away) };
        took(&mut cluster, c, late, 4, 6);
        took(&mut cluster, c, on_time, 4, 7);
        let kind = OrderKind::DeleteContainer { id: c, index: 4, force: true };
        let orders = repair(&mut cluster, later);
        assert_eq!(orders.iter().map(|o| (o.node, &o.kind)).collect::<Vec<_>>(), [(late, &kind)]);
    }
}

#[test]
fn a_lone_replica_that_missed_a_deletion_is_decoded_elsewhere_before_it_goes() {
    let (mut cluster, c, away, other, later) = back(9);
    say(&mut cluster, c, other, 4, ReplicaState::Deleted);
    assert_eq!(health(&cluster, c), "HEALTHY", "it lacks nothing");
    let orders = repair(&mut cluster, later);
    assert_eq!(orders.len(), 1);
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [4]);
    assert_eq!(made.sources.iter().map(|(_, index)| *index).collect::<Vec<_>>(), [1, 2, 3, 5]);
    assert_eq!(repair(&mut cluster, later), [], "once");
    took(&mut cluster, c, made.targets[0].0, 4, 7);
    let kind = OrderKind::DeleteContainer { id: c, index: 4, force: true };
    let orders = repair(&mut cluster, later);
    assert_eq!(orders.iter().map(|o| (o.node, &o.kind)).collect::<Vec<_>>(), [(away, &kind)]);
    say(&mut cluster, c, away, 4, ReplicaState::Deleted);
    assert_eq!(repair(&mut cluster, later), []);
}

#[test]
fn one_that_missed_a_deletion_stays_where_no_other_node_could_have_its_index() {
    let (mut cluster, c, _, other, later) = back(6);
    say(&mut cluster, c, other, 4, ReplicaState::Deleted);
    cluster.nodes.set_storage(other, Vec::new());
    assert_eq!(repair(&mut cluster, later), [], "it lacks nothing");
}

#[test]
fn what_lags_is_read_only_when_there_are_no_more_others_than_it_takes() {
    for (lagging, is_read) in [(1, false), (2, true), (3, true)] {
        let mut cluster = in_racks(12, 1);
        let (_, c) = closed_as(&mut cluster, "rs-6-3-1024k", 1);
        delete_a_block(&mut cluster, c, 7);
        for index in 1..=lagging {
            let node = node_of(&cluster, c, index);
            took(&mut cluster, c, node, index, 6);
        }
        lose(&mut cluster, c, 9);
        let now = soon(&cluster);
        let made = reconstruction(&repair(&mut cluster, now)[0]);
        assert_eq!(made.indexes(), [9]);
        let read: Vec<u32> = made.sources.iter().map(|(_, index)| *index).collect();
        let all: Vec<u32> = (if is_read { 1 } else { lagging + 1 }..=8).collect();
        assert_eq!(read, all, "{lagging} lag");
    }
}

#[test]
fn nothing_is_decoded_from_fewer_than_it_takes_that_do_not_lag() {
    let (mut cluster, c, _, other, later) = back(9);
    say(&mut cluster, c, other, 4, ReplicaState::Deleted);
    for index in [1, 2] {
        let node = node_of(&cluster, c, index);
        took(&mut cluster, c, node, index, 6);
    }
    assert_eq!(count(&cluster, c).lagging.len(), 3);
    assert_eq!(repair(&mut cluster, later), []);
}
