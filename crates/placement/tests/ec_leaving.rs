//! Nodes with an index of an erasure coded container that leave, or are down for a while.

use placement::{Cluster, OrderKind, ReplicaState};
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

fn decommission(cluster: &mut Cluster, node: DatanodeId) {
    let decision = cluster.decommission(node, START).unwrap();
    apply(cluster, &decision);
}

fn maintain(cluster: &mut Cluster, node: DatanodeId) {
    let decision = cluster.begin_maintenance(node, 0, START).unwrap();
    apply(cluster, &decision);
}

/// A container whose index 3 is on a node that leaves, and that node.
fn leaving() -> (Cluster, ContainerId, DatanodeId, u64) {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    let leaving = node_of(&cluster, c, 3);
    decommission(&mut cluster, leaving);
    let now = soon(&cluster);
    (cluster, c, leaving, now)
}

#[test]
fn an_index_is_copied_while_its_node_can_be_read() {
    let (mut cluster, c, leaving, now) = leaving();
    let orders = repair(&mut cluster, now);
    let (source, target) = copy(&orders[0]);
    assert_eq!((orders.len(), source), (1, leaving));
    assert_eq!(cluster.obstacles(leaving).under_replicated, [c]);
    assert_eq!(repair(&mut cluster, now), []);
    say(&mut cluster, c, target, 3, ReplicaState::Closed);
    assert!(cluster.obstacles(leaving).is_none());
    assert_eq!(repair(&mut cluster, now), [], "its replica does not count, and stays");
}

#[test]
fn an_index_that_could_not_be_copied_is_decoded() {
    let (mut cluster, c, leaving, now) = leaving();
    let orders = repair(&mut cluster, now);
    let (_, target) = copy(&orders[0]);
    assert!(cluster.pending.failed(c, target));
    let orders = repair(&mut cluster, now);
    let made = reconstruction(&orders[0]);
    assert_eq!((orders.len(), made.indexes()), (1, vec![3]));
    assert!(made.sources.iter().all(|(node, _)| *node != leaving));
    // Failures are remembered for a while only.
    for (target, _) in &made.targets {
        assert!(cluster.pending.failed(c, *target));
    }
    let later = now + cluster.settings.replication.timeout;
    assert_eq!(copy(&repair(&mut cluster, later)[0]).0, leaving);
    // One that takes too long has failed, too.
    let later = later + cluster.settings.replication.timeout;
    assert_eq!(reconstruction(&repair(&mut cluster, later)[0]).indexes(), [3]);
}

#[test]
fn an_index_is_decoded_when_its_node_is_silent_or_its_replica_bad() {
    let (mut cluster, c, leaving, now) = leaving();
    say(&mut cluster, c, leaving, 3, ReplicaState::Unhealthy);
    assert!(cluster.obstacles(leaving).is_none(), "there is nothing to wait for");
    assert_eq!(reconstruction(&repair(&mut cluster, now)[0]).indexes(), [3]);
    let (mut cluster, _, leaving, _) = self::leaving();
    let later = make_stale(&mut cluster, leaving);
    assert_eq!(reconstruction(&review(&mut cluster, later)[0]).indexes(), [3]);
}

#[test]
fn a_copy_that_failed_is_tried_again_when_there_is_too_little_to_decode_from() {
    let (mut cluster, c, leaving, now) = leaving();
    lose(&mut cluster, c, 1);
    lose(&mut cluster, c, 5);
    let orders = repair(&mut cluster, now);
    // The remaining three are the sources for those two.
    let made = reconstruction(&orders[0]);
    assert_eq!(made.indexes(), [1, 5]);
    assert!(made.sources.contains(&(leaving, 3)));
    let orders = repair(&mut cluster, now);
    let (source, target) = copy(&orders[0]);
    assert_eq!(source, leaving);
    assert!(cluster.pending.failed(c, target));
    // Pending copies will be enough, but they have not arrived.
    let orders = repair(&mut cluster, now);
    assert_eq!(copy(&orders[0]).0, leaving);
}

#[test]
fn a_leaving_node_closes_its_replica_first() {
    let (mut cluster, c, leaving, now) = leaving();
    say(&mut cluster, c, leaving, 3, ReplicaState::Open);
    assert_eq!(repair(&mut cluster, now), []);
    assert_eq!(cluster.obstacles(leaving).unclosed, [c]);
    say(&mut cluster, c, leaving, 3, ReplicaState::Closed);
    assert_eq!(copy(&repair(&mut cluster, now)[0]).0, leaving);
}

#[test]
fn what_is_left_of_a_lost_container_is_copied() {
    let (mut cluster, c, leaving, now) = leaving();
    for index in [1, 2, 4] {
        lose(&mut cluster, c, index);
    }
    assert_eq!(health(&cluster, c), "MISSING_UNDER_REPLICATED");
    let (source, target) = copy(&repair(&mut cluster, now)[0]);
    assert_eq!(source, leaving);
    say(&mut cluster, c, target, 3, ReplicaState::Closed);
    assert!(cluster.obstacles(leaving).is_none());
    assert_eq!(health(&cluster, c), "MISSING");
}

#[test]
fn as_many_indexes_stay_online_as_the_settings_say() {
    for (redundancy, nodes_away) in [(0, 2), (1, 1), (2, 0), (9, 0)] {
        let mut cluster = in_racks(9, 3);
        cluster.settings.replication.maintenance_redundancy = redundancy;
        let (_, c) = closed(&mut cluster);
        let now = soon(&cluster);
        for index in 1..=nodes_away {
            let away = node_of(&cluster, c, index);
            maintain(&mut cluster, away);
            assert!(cluster.obstacles(away).is_none(), "{redundancy}: {index}");
            assert_eq!(repair(&mut cluster, now), []);
            assert_eq!(health(&cluster, c), "HEALTHY");
        }
        let next = node_of(&cluster, c, 5);
        maintain(&mut cluster, next);
        assert_eq!(cluster.obstacles(next).under_replicated, [c], "{redundancy}");
        assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
        let orders = repair(&mut cluster, now);
        let (source, target) = copy(&orders[0]);
        assert_eq!(orders.len(), 1);
        let index = cluster.replicas.on(c, source).unwrap().replica_index;
        assert!(cluster.nodes.get(source).unwrap().details.op_state != Default::default());
        assert_eq!(repair(&mut cluster, now), []);
        say(&mut cluster, c, target, index, ReplicaState::Closed);
        assert_eq!(health(&cluster, c), "HEALTHY");
        assert!(cluster.obstacles(next).is_none());
        // They are back: copied indexes exist twice.
        cluster.recommission(source, now).unwrap();
        assert_eq!(health(&cluster, c), "OVER_REPLICATED");
        let orders = repair(&mut cluster, now);
        assert!([source, target].contains(&orders[0].node));
        assert_eq!(orders[0].kind, OrderKind::DeleteContainer { id: c, index, force: true });
    }
}

#[test]
fn a_node_in_maintenance_that_cannot_be_read_is_no_source() {
    let mut cluster = in_racks(9, 3);
    cluster.settings.replication.maintenance_redundancy = 2;
    let (_, c) = closed(&mut cluster);
    let away = node_of(&cluster, c, 1);
    maintain(&mut cluster, away);
    let later = make_stale(&mut cluster, away);
    let made = reconstruction(&review(&mut cluster, later)[0]);
    assert_eq!(made.indexes(), [1]);
    assert_eq!(made.sources.len(), 4);
}

#[test]
fn an_index_whose_other_replica_is_in_maintenance_lets_a_node_go() {
    let mut cluster = in_racks(9, 1);
    let (_, c) = closed(&mut cluster);
    let now = soon(&cluster);
    let leaving = node_of(&cluster, c, 3);
    let other = free_nodes(&cluster, c)[0];
    say(&mut cluster, c, other, 3, ReplicaState::Closed);
    maintain(&mut cluster, other);
    decommission(&mut cluster, leaving);
    assert!(cluster.obstacles(leaving).is_none());
    assert_eq!(repair(&mut cluster, now), []);
}
