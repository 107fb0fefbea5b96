//! State and orders of SCM after container reports.

use placement::{Change, OrderKind, ReplicaState, Settings, UnknownContainer};
use proto::hdds::LifeCycleState;

use crate::fixture::*;

#[test]
fn a_full_report_drops_what_it_does_not_list() {
    let (mut cluster, p) = trio();
    let (a, b) = (open_container(&mut cluster, 1, p), open_container(&mut cluster, 2, p));
    report(&mut cluster, a, replica(1, ReplicaState::Open, 1, 1), START);
    report(&mut cluster, b, replica(1, ReplicaState::Open, 1, 1), START);
    let full = vec![(b, replica(1, ReplicaState::Open, 2, 2))];
    cluster.report_all_replicas(node(1), full, START);
    assert_eq!(cluster.replicas.of(a), []);
    assert_eq!(cluster.replicas.of(b)[0].keys, 2);
    assert_eq!(cluster.replicas.count_on(node(1)), 1);
}

#[test]
fn a_replica_that_takes_no_writes_closes_its_container() {
    for odd in [ReplicaState::Closing, ReplicaState::QuasiClosed, ReplicaState::Unhealthy] {
        let (mut cluster, p) = trio();
        let c = open_container(&mut cluster, 1, p);
        report(&mut cluster, c, replica(2, odd, 1, 1), START);
        assert_eq!(state(&cluster, c), LifeCycleState::Closing, "{odd:?}");
    }
}

/// Container 1, QUASI_CLOSED by node 1's report at sequence 10.
fn quasi_closed() -> (placement::Cluster, types::ContainerId, types::PipelineId) {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 1, 10), START);
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed);
    (cluster, c, p)
}

#[test]
fn quasi_closed_replicas_of_all_origins_settle_on_the_newest() {
    let (mut cluster, c, p) = quasi_closed();
    let early = report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 2, 20), START);
    assert_eq!(early, [], "the third may have more");
    let orders = report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 20), START);
    let kind = OrderKind::CloseContainer { id: c, pipeline: p, force: true };
    assert_eq!(orders, [2, 3].map(|n| to(n, kind.clone())));

    report(&mut cluster, c, replica(2, ReplicaState::Closed, 2, 20), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
}

#[test]
fn a_majority_settles_when_the_third_node_is_dead() {
    let (mut cluster, c, p) = quasi_closed();
    let later = START + cluster.settings.dead_after;
    cluster.heartbeat(node(1), later);
    cluster.heartbeat(node(2), later);
    cluster.watch_nodes(later);
    let orders = report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 2, 20), later);
    let kind = OrderKind::CloseContainer { id: c, pipeline: p, force: true };
    assert_eq!(orders, [to(2, kind)]);
}

#[test]
fn a_closed_replica_ends_the_doubt() {
    let (mut cluster, c, _) = quasi_closed();
    report(&mut cluster, c, replica(3, ReplicaState::Closed, 3, 30), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
    assert_eq!(cluster.containers.get(c).unwrap().sequence_id, 30);
}

#[test]
fn replicas_of_a_closed_container_follow_it() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    for n in [1, 2] {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 5, 50), START);
    }
    let gentle = OrderKind::CloseContainer { id: c, pipeline: p, force: false };
    let force = OrderKind::CloseContainer { id: c, pipeline: p, force: true };
    for (reported, sequence, wanted) in [
        (ReplicaState::Open, 40, vec![to(3, gentle)]),
        (ReplicaState::QuasiClosed, 50, vec![to(3, force)]),
        (ReplicaState::QuasiClosed, 40, vec![]),
        (ReplicaState::Closed, 50, vec![]),
    ] {
        let orders = report(&mut cluster, c, replica(3, reported, 5, sequence), START);
        assert_eq!(orders, wanted, "{reported:?} at {sequence}");
    }
}

/// Node 3 reported its replica before the container was CLOSED, and node 2 was ordered to close but
/// lost the order.
#[test]
fn replicas_that_a_container_was_closed_without_are_told_to_close() {
    for (reported, sequence, force) in [
        (ReplicaState::QuasiClosed, 50, Some(true)),
        (ReplicaState::Closing, 50, Some(false)),
        (ReplicaState::QuasiClosed, 49, None),
        (ReplicaState::Unhealthy, 50, None),
        (ReplicaState::Closed, 50, None),
    ] {
        let (mut cluster, p) = trio();
        let c = open_container(&mut cluster, 1, p);
        cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
        for n in [2, 3] {
            report(&mut cluster, c, replica(n, reported, 5, sequence), START);
        }
        report(&mut cluster, c, replica(1, ReplicaState::Closed, 5, 50), START);
        // One that was reported last finds it CLOSED.
        report(&mut cluster, c, replica(2, reported, 5, sequence), START);
        assert_eq!(state(&cluster, c), LifeCycleState::Closed);
        let early = cluster.repeat_closes(container(0), 10, START + 1);
        assert!(early.is_empty(), "what it was told just now is on its way: {early:?}");
        let later = START + cluster.settings.resend_after;
        let close = |force| OrderKind::CloseContainer { id: c, pipeline: p, force };
        for told in 0..3 {
            let orders = cluster.repeat_closes(container(0), 10, later + told).orders;
            let wanted = force.into_iter().flat_map(|force| [2, 3].map(|n| to(n, close(force))));
            assert_eq!(orders, wanted.collect::<Vec<_>>(), "{reported:?} at {sequence}");
        }
        // An unreachable node gets the order when it is back.
        cluster.heartbeat(node(2), START + cluster.settings.stale_after);
        cluster.watch_nodes(START + cluster.settings.stale_after);
        let orders = cluster.repeat_closes(container(0), 10, later).orders;
        assert_eq!(orders, force.map(|force| to(2, close(force))).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_replica_that_lacks_writes_goes_when_there_are_enough_others() {
    let (mut cluster, p) = trio();
    register(&mut cluster, 4, &[], START);
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 5, START);
    let orders = report(&mut cluster, c, replica(4, ReplicaState::QuasiClosed, 4, 4), START);
    assert_eq!(orders, [], "whether there are enough is looked at when all are heard of");
    cluster.settings.resend_after = 0;
    let repairs = cluster.repair_containers(container(0), 10, START);
    assert_eq!(
        repairs.decision.orders,
        [to(4, OrderKind::DeleteContainer { id: c, index: 0, force: true })]
    );
}

#[test]
fn an_unknown_container_is_left_alone_unless_the_operator_wants_it_gone() {
    for (action, wanted) in [
        (UnknownContainer::Warn, vec![]),
        (
            UnknownContainer::Delete,
            vec![to(1, OrderKind::DeleteContainer { id: container(9), index: 0, force: false })],
        ),
    ] {
        let mut cluster = cluster(1, Settings { unknown_container: action, ..settings() });
        let empty = replica(1, ReplicaState::Closed, 0, 1);
        assert_eq!(report(&mut cluster, container(9), empty, START), wanted);
    }
}

#[test]
fn orders_without_effect_are_repeated() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    assert!(cluster.review_containers(START + 1).is_empty());
    let later = START + cluster.settings.resend_after;
    assert_eq!(cluster.review_containers(later).orders.len(), 3);
}

#[test]
fn the_health_report_names_what_is_wrong() {
    let (mut cluster, p) = trio();
    let ids: Vec<_> = (1..=3).map(|n| open_container(&mut cluster, n, p)).collect();
    close(&mut cluster, ids[0], 5, START);
    close(&mut cluster, ids[1], 5, START);
    report(&mut cluster, ids[0], replica(1, ReplicaState::Deleted, 0, 0), START);
    for n in 1..=3 {
        report(&mut cluster, ids[1], replica(n, ReplicaState::Deleted, 0, 0), START);
    }
    let health = cluster.health_report();
    for (key, count) in [("OPEN", 1), ("CLOSED", 2), ("UNDER_REPLICATED", 1), ("MISSING", 1)] {
        assert_eq!(health.counts[key], count, "{key}");
    }
    assert_eq!(health.samples["UNDER_REPLICATED"], [ids[0]]);
    assert_eq!(health.samples["MISSING"], [ids[1]]);
}
