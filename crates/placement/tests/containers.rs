//! Containers from OPEN to CLOSED and DELETED.

use placement::{Change, OrderKind, ReplicaState};
use proto::hdds::{LifeCycleEvent, LifeCycleState};

use crate::fixture::*;

#[test]
fn a_full_container_is_closed_on_all_replicas() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let mut full = replica(1, ReplicaState::Open, 1, 1);
    full.used_bytes = cluster.settings.full_at() - 1;
    report(&mut cluster, c, full.clone(), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Open);
    full.used_bytes += 1;
    report(&mut cluster, c, full, START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing);

    let kind = OrderKind::CloseContainer { id: c, pipeline: p, force: false };
    let mut orders = cluster.order_close(c).orders;
    orders.sort_by_key(|o| o.node);
    assert_eq!(orders, [1, 2, 3].map(|n| to(n, kind.clone())));
    report(&mut cluster, c, replica(2, ReplicaState::Closed, 9, 40), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
    let record = cluster.containers.get(c).unwrap();
    assert_eq!((record.keys, record.sequence_id), (9, 40));
}

#[test]
fn a_container_made_for_a_pipeline_that_just_closed_is_born_closing() {
    let (mut cluster, p) = trio();
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    let c = open_container(&mut cluster, 1, p);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing);
}

#[test]
fn a_closed_container_whose_replicas_are_all_empty_is_deleted() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 2, START);
    assert!(cluster.clean_containers(START).is_empty(), "there are blocks in it");
    report(&mut cluster, c, replica(1, ReplicaState::Closed, 0, 2), START);
    report(&mut cluster, c, replica(2, ReplicaState::Closed, 0, 2), START);
    assert!(cluster.clean_containers(START).is_empty(), "node 3 has blocks in it");
    report(&mut cluster, c, replica(3, ReplicaState::Closed, 0, 2), START);

    let decision = cluster.clean_containers(START);
    apply(&mut cluster, &decision);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
    let orders = cluster.follow_up(&decision.changes[0], START).orders;
    let kind = OrderKind::DeleteContainer { id: c, index: 0, force: false };
    assert_eq!(orders, [1, 2, 3].map(|n| to(n, kind.clone())));

    for n in 1..=3 {
        let later = cluster.clean_containers(START + 60_000);
        assert!(later.changes.is_empty(), "replicas are left");
        report(&mut cluster, c, replica(n, ReplicaState::Deleted, 0, 2), START);
    }
    let decision = cluster.clean_containers(START + 60_000);
    apply(&mut cluster, &decision);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleted);
}

/// Blocks that a replica never received are not deleted ones.
#[test]
fn a_container_whose_empty_replicas_lack_writes_is_kept() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 2, START);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 0, 1), START);
    }
    assert!(cluster.clean_containers(START + 60_000).is_empty());
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Closed, 0, 2), START);
    }
    assert_eq!(cluster.clean_containers(START + 60_000).changes.len(), 1);
}

#[test]
fn an_empty_container_with_a_replica_missing_is_kept() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 0, START);
    report(&mut cluster, c, replica(3, ReplicaState::Deleted, 0, 0), START);
    assert!(cluster.clean_containers(START + 60_000).is_empty());
}

#[test]
fn a_container_never_written_goes_with_its_pipeline_when_all_nodes_are_there() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    let later = START + 5_000;
    assert!(cluster.clean_containers(later).is_empty(), "its pipeline is still there");
    let decision = cluster.scrub_pipelines(later);
    assert_eq!(decision.changes, [Change::RemovePipeline(p)]);
    apply(&mut cluster, &decision);
    cluster.heartbeat(node(1), START + cluster.settings.stale_after);
    let (_, _) = cluster.watch_nodes(START + cluster.settings.stale_after);
    let late = START + cluster.settings.stale_after + 1;
    assert!(cluster.clean_containers(late).is_empty(), "a replica may be on a node that is away");
    for n in 2..=3 {
        cluster.heartbeat(node(n), late);
    }
    for _ in 0..2 {
        let decision = cluster.clean_containers(late);
        apply(&mut cluster, &decision);
        assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
    }
    let decision = cluster.clean_containers(late + 5_000);
    apply(&mut cluster, &decision);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleted);

    report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 3, 3), late);
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed, "it was written after all");
}

#[test]
fn an_open_replica_of_a_deleted_container_is_closed_before_it_is_judged() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 0, START);
    let decision = cluster.clean_containers(START);
    apply(&mut cluster, &decision);
    let orders = report(&mut cluster, c, replica(2, ReplicaState::Open, 1, 9), START);
    assert_eq!(orders, [to(2, OrderKind::CloseContainer { id: c, pipeline: p, force: false })]);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
    report(&mut cluster, c, replica(2, ReplicaState::Closed, 1, 9), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed, "the late write is not lost");
}

#[test]
fn a_replica_with_blocks_revives_a_container_thought_empty() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 0, START);
    let decision = cluster.clean_containers(START);
    apply(&mut cluster, &decision);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
    report(&mut cluster, c, replica(2, ReplicaState::Closed, 7, 7), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
}

#[test]
fn a_change_that_does_not_fit_changes_nothing() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let usage = Default::default();
    let early = Change::MoveContainer { id: c, event: LifeCycleEvent::Delete, now: START, usage };
    let before = cluster.containers.get(c).cloned();
    let refused = cluster.apply(&early).unwrap_err();
    assert_eq!(refused.to_string(), "container 1 in state OPEN does not take event DELETE");
    assert_eq!(cluster.containers.get(c).cloned(), before);
    assert!(cluster.apply(&Change::ReviveContainer { id: c, quasi: false, now: START }).is_err());
}

#[test]
fn an_open_container_is_reached_by_its_pipeline_and_a_closed_one_by_its_replicas() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    assert_eq!(cluster.locate(c).unwrap().1.id, p);
    close(&mut cluster, c, 3, START);
    report(&mut cluster, c, replica(2, ReplicaState::Deleted, 0, 0), START);
    let reader = cluster.locate(c).unwrap().1;
    let members: Vec<_> = reader.members.iter().map(|m| m.id).collect();
    assert_eq!(members, [node(1), node(3)]);
    assert!(cluster.locate(container(99)).is_err());

    for n in [1, 3] {
        report(&mut cluster, c, replica(n, ReplicaState::Deleted, 0, 0), START);
    }
    assert_eq!(
        cluster.locate(c).unwrap_err().to_string(),
        "Container 1 has no replicas to service this operation"
    );
}

#[test]
fn healthy_and_up_to_date_replicas_are_read_first() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&cluster.finalize_container(c, START).changes[0]).unwrap();
    report(&mut cluster, c, replica(1, ReplicaState::Closed, 3, 30), START);
    report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 2, 20), START);
    report(&mut cluster, c, replica(3, ReplicaState::Closed, 3, 30), START);
    let later = START + cluster.settings.stale_after;
    cluster.heartbeat(node(2), later);
    cluster.heartbeat(node(3), later);
    cluster.watch_nodes(later);
    let reader = cluster.locate(c).unwrap().1;
    let members: Vec<_> = reader.members.iter().map(|m| m.id).collect();
    assert_eq!(members, [node(3), node(2), node(1)]);
}
