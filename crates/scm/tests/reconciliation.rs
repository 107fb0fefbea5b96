//! Effects of `o3 admin container reconcile` in SCM.

use std::collections::BTreeSet;

use proto::container_location::{
    ContainerEventProto, GetContainerReplicasRequestProto, GetContainerReplicasResponseProto,
    ReconcileContainerRequestProto, ScmContainerLocationResponse, Type,
};
use proto::hdds::{BlockId, LifeCycleState};
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{ContainerId, DatanodeDetails};

use crate::datanode::FakeDatanode;
use crate::harness::Harness;

async fn reconcile(h: &Harness, container: ContainerId) -> ScmContainerLocationResponse {
    h.location(Type::ReconcileContainer, |r| {
        r.reconcile_container_request =
            Some(ReconcileContainerRequestProto { container_id: container.to_wire() });
    })
    .await
}

async fn replicas(h: &Harness, container: ContainerId) -> GetContainerReplicasResponseProto {
    let response = h
        .location(Type::GetContainerReplicas, |r| {
            r.get_container_replicas_request = Some(GetContainerReplicasRequestProto {
                container_id: container.to_wire(),
                with_history: Some(true),
                ..Default::default()
            });
        })
        .await;
    response.get_container_replicas_response.unwrap()
}

fn is_reconciliation(event: &&ContainerEventProto) -> bool {
    event.text.contains("to reconcile")
}

/// A closed container with one block on all nodes.
async fn closed(h: &Harness, nodes: &[FakeDatanode]) -> (ContainerId, BlockId) {
    let container_block_id = h.allocate(1).await.remove(0).container_block_id.unwrap();
    let id = container_block_id.container_id;
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, 10, 1 << 20));
    nodes[0].is_full(container);
    until("the container is closed, and SCM knows all replicas", async || {
        let known = replicas(h, container).await.container_replica;
        h.container(id).await.unwrap().state() == LifeCycleState::Closed
            && known.iter().filter(|r| r.state == "CLOSED").count() == nodes.len()
    })
    .await;
    (container, BlockId { container_block_id, ..BlockId::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_with_a_replica_is_told_the_others_and_what_it_reports_is_shown() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let (container, _) = closed(&h, &nodes).await;
    let response = reconcile(&h, container).await;
    assert!(response.success(), "{response:?}");
    let told = |n: &FakeDatanode| !n.disk.lock().reconciliations.is_empty();
    until("all are told", async || nodes.iter().all(told)).await;
    for node in &nodes {
        let (command, term) = node.disk.lock().reconciliations.remove(0);
        assert_eq!(command.container_id, container.to_wire());
        let peers = command.peers.iter().map(|p| DatanodeDetails::from_wire(p).unwrap());
        let peers: BTreeSet<_> = peers
            .inspect(|peer| assert!(!peer.ports.is_empty(), "where it is reached"))
            .map(|peer| peer.id)
            .collect();
        let others = nodes.iter().map(|n| n.id).filter(|id| *id != node.id);
        assert_eq!(peers, others.collect());
        assert!(term.is_some());
    }
    let history = replicas(&h, container).await.event;
    let orders: Vec<_> = history.iter().filter(is_reconciliation).collect();
    assert_eq!(orders.len(), 3, "{history:?}");
    let text = "ordered localhost to reconcile its replica with localhost, localhost: \
                an administrator";
    assert_eq!(orders[0].text, text);

    let mut replica = nodes[0].disk.lock().containers[&container.0].clone();
    replica.data_checksum = Some(-2);
    nodes[0].take(replica);
    until("the checksum is known", async || {
        let known = replicas(&h, container).await.container_replica;
        known.iter().filter(|r| r.data_checksum() == -2).count() == 1
    })
    .await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_container_is_refused_in_ozones_words() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let id = h.allocate(1).await.remove(0).container_block_id.unwrap().container_id;
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, 10, 1 << 20));
    let refused = reconcile(&h, container).await;
    assert!(!refused.success());
    let wanted = format!("Cannot reconcile container {container} in state OPEN.");
    assert_eq!(refused.message(), wanted);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_which_a_node_has_a_deletion_left_is_refused() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let (container, block) = closed(&h, &nodes).await;
    nodes[2].disk.lock().acknowledges = false;
    h.delete("key", vec![block]).await;
    let has_deleted = |n: &FakeDatanode| !n.disk.lock().deleted.is_empty();
    until("it is deleted", async || nodes.iter().all(has_deleted)).await;
    assert_eq!(h.deletions().await, 1);
    let refused = reconcile(&h, container).await;
    assert!(!refused.success());
    assert!(refused.message().contains("the deletion log has deletions of it"), "{refused:?}");
    let history = replicas(&h, container).await.event;
    assert_eq!(history.iter().filter(is_reconciliation).count(), 0, "{history:?}");
    assert!(nodes.iter().all(|n| n.disk.lock().reconciliations.is_empty()));

    nodes[2].disk.lock().acknowledges = true;
    until("it is confirmed", async || h.deletions().await == 0).await;
    assert_eq!(nodes[2].state(container), Some(State::Closed));
    assert!(reconcile(&h, container).await.success());
    h.scm.shutdown().await;
}
