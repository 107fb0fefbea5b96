//! DataNodes that die, and pipelines that fail.

use proto::hdds::{LifeCycleState, NodeState};
use testkit::until;
use types::{ContainerId, PipelineState};

use crate::datanode::FakeDatanode;
use crate::harness::{Harness, THREE};

#[tokio::test(flavor = "multi_thread")]
async fn writes_go_on_when_one_of_four_nodes_dies() {
    let h = Harness::start().await;
    let mut nodes = h.datanodes(4).await;
    until("two pipelines are open", async || {
        let open = |p: &&types::Pipeline| p.state == PipelineState::Open;
        h.pipelines().await.iter().filter(open).count() == 2
    })
    .await;
    let blocks = h.allocate(60).await;
    for block in &blocks {
        let id = ContainerId::from_wire(block.container_block_id.as_ref().unwrap().container_id);
        let pipeline = types::Pipeline::from_wire(block.pipeline.as_ref().unwrap()).unwrap();
        nodes
            .iter()
            .filter(|n| pipeline.member(n.id).is_some())
            .for_each(|n| n.write(id, 1, 1_000));
    }
    let lost = nodes.remove(0);
    let id = lost.id;
    drop(lost);
    until("the pipelines of the lost node are gone and others are open", async || {
        let pipelines = h.pipelines().await;
        pipelines.iter().all(|p| p.member(id).is_none())
            && pipelines.iter().any(|p| p.config == THREE && p.state == PipelineState::Open)
    })
    .await;
    for block in h.allocate(60).await {
        let pipeline = types::Pipeline::from_wire(&block.pipeline.unwrap()).unwrap();
        assert!(pipeline.member(id).is_none());
    }
    until("its containers are closed", async || {
        for block in &blocks {
            let c = block.container_block_id.as_ref().unwrap().container_id;
            let pipeline = types::Pipeline::from_wire(block.pipeline.as_ref().unwrap()).unwrap();
            let closed = h.container(c).await.unwrap().state() == LifeCycleState::Closed;
            if pipeline.member(id).is_some() && !closed {
                return false;
            }
        }
        true
    })
    .await;
    until("the node is dead", async || state_of(&h, id).await == Some(NodeState::Dead)).await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_back_closes_what_was_closed_without_it() {
    let h = Harness::start().await;
    let mut nodes = h.datanodes(3).await;
    let id = h.allocate(1).await[0].container_block_id.unwrap().container_id;
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, 3, 1_000));
    let lost = nodes.remove(0);
    let (node, disk) = (lost.id, lost.disk.clone());
    drop(lost);
    until("the container is closed", async || {
        h.container(id).await.unwrap().state() == LifeCycleState::Closed
    })
    .await;
    until("no pipeline is left", async || h.pipelines().await.is_empty()).await;

    let back = FakeDatanode::start_with(h.scm.addresses().datanode, node, disk).await;
    until("its replica is closed and its old groups are gone", async || {
        let current: Vec<_> = h.pipelines().await.iter().map(|p| p.id).collect();
        let disk = back.disk.lock();
        let closed = proto::scm_datanode::container_replica_proto::State::Closed;
        disk.containers[&container.0].state() == closed
            && disk.pipelines.keys().all(|p| current.contains(p))
    })
    .await;
    h.scm.ready_for(THREE).await;
    h.allocate(1).await;
    h.scm.shutdown().await;
}

async fn state_of(h: &Harness, id: types::DatanodeId) -> Option<NodeState> {
    let response = h
        .location(proto::container_location::Type::SingleNodeQuery, |r| {
            r.single_node_query_request =
                Some(proto::container_location::SingleNodeQueryRequestProto {
                    uuid: types::ids::uuid_to_wire(id.0),
                });
        })
        .await;
    let node = response.single_node_query_response?.datanode?;
    NodeState::try_from(node.node_states[0]).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_whose_group_panics_comes_back_and_forgets_nothing() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    h.scm.ready_for(THREE).await;
    let mut containers = std::collections::BTreeSet::new();
    let mut locals = std::collections::BTreeSet::new();
    for _ in 0..3 {
        for block in h.allocate(700).await {
            let id = block.container_block_id.unwrap();
            assert!(locals.insert(id.local_id), "block id {} again", id.local_id);
            containers.insert(id.container_id);
        }
        let (raft, mut failures) = (h.scm.raft(), h.scm.raft().groups()[0].failures());
        raft.panic_group(raft.groups()[0].id());
        failures.wait_for(Option::is_some).await.unwrap();
        failures.wait_for(Option::is_none).await.unwrap();
        h.scm.ready_for(THREE).await;
        until("it leads", async || h.scm.leads()).await;
    }
    for id in containers {
        assert!(h.container(id).await.is_some(), "container {id} is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_whose_group_panics_again_and_again_stops_and_says_why() {
    let h = Harness::start().await;
    assert!(h.http_get("/health").await.starts_with("HTTP/1.1 200"));
    let raft = h.scm.raft().clone();
    let id = raft.groups()[0].id();
    let panics = async {
        loop {
            raft.panic_group(id);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let why = tokio::select! {
        why = h.scm.stopped() => why,
        () = panics => unreachable!(),
    };
    assert!(why.contains("failed for good") && why.contains("a test asked for it"), "{why}");
    let health = h.http_get("/health").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains(&why), "{health}");
}
