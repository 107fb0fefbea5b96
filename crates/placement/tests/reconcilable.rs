//! Containers that an administrator can have reconciled, and the peers in each node's order.

use placement::{
    Change, Cluster, Container, Event, NotReconcilable, OrderKind, Replica, ReplicaState,
    Transaction,
};
use proto::hdds::{LifeCycleEvent, LifeCycleState, ReplicationType};
use types::{ContainerId, LocalId, ReplicationConfig};

use crate::fixture::*;

/// A closed container on three nodes.
fn closed() -> (Cluster, ContainerId) {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 5, START);
    (cluster, c)
}

/// A closed container of a replication, with these replicas.
fn closed_as(config: ReplicationConfig, replicas: Vec<Replica>) -> (Cluster, ContainerId) {
    let (mut cluster, id) = (cluster(5, settings()), container(7));
    cluster.containers.insert(Container {
        id,
        state: LifeCycleState::Closed,
        pipeline: None,
        config,
        storage_type: types::StorageType::default(),
        owner: OWNER.into(),
        used_bytes: 5_000,
        keys: 5,
        state_enter_ms: START,
        sequence_id: 5,
        delete_transaction: 0,
        suppressed: false,
        evidence: Default::default(),
    });
    replicas.into_iter().for_each(|r| drop(report(&mut cluster, id, r, START)));
    (cluster, id)
}

fn deletion(id: u64, container: ContainerId) -> Transaction {
    Transaction { id, container, blocks: vec![LocalId(id)], ..Transaction::default() }
}

fn refusal(cluster: &mut Cluster, id: ContainerId) -> NotReconcilable {
    let why = cluster.order_reconciliation(id, START).unwrap_err();
    assert!(cluster.histories.of(id).all(|e| !matches!(&e.event, Event::Ordered { order, .. }
        if matches!(order.kind, OrderKind::ReconcileContainer { .. }))));
    why
}

fn reconcile(id: ContainerId, peers: &[u128]) -> OrderKind {
    OrderKind::ReconcileContainer { id, peers: peers.iter().map(|n| node(*n)).collect() }
}

#[test]
fn each_node_compares_its_replica_with_those_of_the_others() {
    let (mut cluster, c) = closed();
    let orders = cluster.order_reconciliation(c, START + 5).unwrap();
    let wanted =
        [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])].map(|(n, peers)| to(n, reconcile(c, &peers)));
    assert_eq!(orders, wanted);
    let noted: Vec<_> = cluster.histories.of(c).filter(|e| e.first == START + 5).collect();
    let why = "an administrator";
    let events: Vec<_> = noted.iter().map(|e| e.event.clone()).collect();
    assert_eq!(
        events,
        orders.iter().map(|o| Event::Ordered { order: o.clone(), why }).collect::<Vec<_>>()
    );
}

#[test]
fn a_damaged_replica_gets_and_gives_blocks() {
    let (mut cluster, c) = closed();
    report(&mut cluster, c, replica(3, ReplicaState::Unhealthy, 5, 5), START);
    let orders = cluster.order_reconciliation(c, START).unwrap();
    assert_eq!(orders[2], to(3, reconcile(c, &[1, 2])));
    assert_eq!(orders[0], to(1, reconcile(c, &[2, 3])));
}

#[test]
fn one_that_is_alone_is_looked_at_by_itself() {
    let (mut cluster, c) = closed_as(THREE, vec![replica(2, ReplicaState::Closed, 5, 5)]);
    assert_eq!(cluster.order_reconciliation(c, START).unwrap(), [to(2, reconcile(c, &[]))]);
}

#[test]
fn a_container_that_is_not_there_is_refused() {
    let (mut cluster, _) = closed();
    let why = refusal(&mut cluster, container(999));
    assert_eq!(why, NotReconcilable::NotFound(container(999)));
    assert_eq!(why.to_string(), "Container #999 not found for reconciliation.");
}

#[test]
fn one_that_takes_writes_or_is_deleted_is_refused() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    (1..=3)
        .for_each(|n| drop(report(&mut cluster, c, replica(n, ReplicaState::Open, 1, 1), START)));
    let why = refusal(&mut cluster, c);
    assert_eq!(why.to_string(), "Cannot reconcile container 1 in state OPEN.");
    close(&mut cluster, c, 1, START);
    assert!(cluster.order_reconciliation(c, START).is_ok());

    let usage = cluster.containers.get(c).unwrap().usage();
    let event = LifeCycleEvent::Delete;
    cluster.apply(&Change::MoveContainer { id: c, event, now: START, usage }).unwrap();
    let state = LifeCycleState::Deleting;
    assert_eq!(
        cluster.reconcilable(c).unwrap_err(),
        NotReconcilable::ContainerState { id: c, state }
    );
}

#[test]
fn one_that_is_quasi_closed_is_reconciled() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 1, 1), START);
    report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 1, 2), START);
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed);
    let orders = cluster.order_reconciliation(c, START).unwrap();
    assert_eq!(orders, [to(1, reconcile(c, &[2])), to(2, reconcile(c, &[1]))]);
}

#[test]
fn one_without_replicas_is_refused() {
    let (mut cluster, c) = closed_as(THREE, Vec::new());
    let why = refusal(&mut cluster, c);
    assert_eq!(why, NotReconcilable::NoReplicas(c));
    let wanted = "Cannot reconcile container 7 because no replicas could be found.";
    assert_eq!(why.to_string(), wanted);
}

#[test]
fn one_with_a_replica_that_takes_writes_is_refused() {
    for state in [ReplicaState::Open, ReplicaState::Closing, ReplicaState::Invalid] {
        let replicas = vec![replica(1, ReplicaState::Closed, 5, 5), replica(2, state, 5, 5)];
        let (mut cluster, c) = closed_as(THREE, replicas);
        let name = state.to_wire().as_str_name();
        assert_eq!(
            refusal(&mut cluster, c).to_string(),
            format!(
                "Cannot reconcile container #7 in state CLOSED with replica states: CLOSED, {name}"
            )
        );
    }
}

#[test]
fn one_whose_replicas_are_no_copies_is_refused() {
    let coded = ReplicationConfig::parse("EC", "rs-3-2-1024k").unwrap();
    let part =
        |n: u128| Replica { replica_index: n as u32, ..replica(n, ReplicaState::Closed, 5, 5) };
    let (mut cluster, c) = closed_as(coded, (1..=5).map(part).collect());
    let why = refusal(&mut cluster, c);
    assert_eq!(why, NotReconcilable::ReplicationType { id: c, kind: ReplicationType::Ec });
    assert_eq!(
        why.to_string(),
        "Cannot reconcile container #7 with replication type EC. Reconciliation is currently only \
         supported for Ratis containers."
    );
}

#[test]
fn one_that_is_to_have_one_replica_is_refused() {
    let replicas = [1, 2].map(|n| replica(n, ReplicaState::Closed, 5, 5));
    let (mut cluster, c) = closed_as(ONE, replicas.to_vec());
    let why = refusal(&mut cluster, c);
    assert_eq!(why, NotReconcilable::RequiredNodes { id: c, nodes: 1 });
    assert_eq!(
        why.to_string(),
        "Cannot reconcile container #7 with 1 required nodes. Reconciliation is only supported for \
         containers with more than 1 required node."
    );
}

#[test]
fn one_with_deletions_in_the_log_is_refused_until_they_are_done() {
    let (mut cluster, c) = closed();
    let other = deletion(1, container(2));
    cluster.apply(&Change::AddDeletions(vec![other])).unwrap();
    assert!(cluster.order_reconciliation(c, START).is_ok(), "they are of another container");

    let (mut cluster, c) = closed();
    cluster.apply(&Change::AddDeletions(vec![deletion(2, c), deletion(3, c)])).unwrap();
    // A log that is loaded again has each once.
    cluster.deletions.insert(deletion(3, c));
    let why = refusal(&mut cluster, c);
    assert_eq!(why, NotReconcilable::Deletions { id: c, transactions: 2 });
    cluster.apply(&Change::RemoveDeletions(vec![2])).unwrap();
    let why = refusal(&mut cluster, c);
    assert_eq!(
        why.to_string(),
        "Cannot reconcile container #1 while the deletion log has deletions of it (transactions: \
         1): a block that was deleted could come back. Try again when they are done."
    );
    cluster.apply(&Change::RemoveDeletions(vec![3])).unwrap();
    assert!(cluster.order_reconciliation(c, START).is_ok());
}

/// It gets the blocks that it lacks, and sends no peer those deleted while its node was down.
#[test]
fn a_replica_that_may_have_deleted_blocks_is_nobodys_peer() {
    let (mut cluster, c) = closed();
    report(&mut cluster, c, replica(3, ReplicaState::Deleted, 0, 0), START);
    cluster.apply(&Change::AddDeletions(vec![deletion(4, c)])).unwrap();
    cluster.apply(&Change::RemoveDeletions(vec![4])).unwrap();
    for n in 1..=3 {
        let delete_transaction = if n == 3 { 3 } else { 4 };
        let one = Replica { delete_transaction, ..replica(n, ReplicaState::Closed, 5, 5) };
        report(&mut cluster, c, one, START);
    }
    let orders = cluster.order_reconciliation(c, START).unwrap();
    let wanted =
        [to(1, reconcile(c, &[2])), to(2, reconcile(c, &[1])), to(3, reconcile(c, &[1, 2]))];
    assert_eq!(orders, wanted);
}
