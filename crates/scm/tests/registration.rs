//! DataNodes register with a running SCM and get pipelines.

use proto::hdds::NodeState;
use testkit::until;
use types::PipelineState;

use crate::datanode::FakeDatanode;
use crate::harness::{Harness, THREE};

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_are_open_at_once_after_three_nodes_have_registered() {
    // The service that creates pipelines runs at the start and then at its interval: if they were
    // not created when the third node registers, they would be too late for the test's limit.
    let h =
        Harness::start_with(|conf| conf.with("ozone.scm.pipeline.creation.interval", "1h")).await;
    let nodes = {
        let mut nodes = Vec::new();
        for _ in 0..2 {
            nodes.push(FakeDatanode::start(h.scm.addresses().datanode).await);
        }
        assert!(h.pipelines().await.is_empty());
        nodes
    };
    let third = FakeDatanode::start(h.scm.addresses().datanode).await;
    h.scm.ready_for(THREE).await;

    until("both pipelines are open", async || {
        let p = h.pipelines().await;
        p.len() == 2 && p.iter().all(|p| p.state == PipelineState::Open)
    })
    .await;
    let leaders: std::collections::BTreeSet<_> =
        h.pipelines().await.iter().filter_map(|p| p.leader).collect();
    assert_eq!(leaders.len(), 2, "each pipeline has a leader of its own");
    drop((nodes, third));
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_scm_forgot_registers_again_by_itself() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    // Dead nodes are asked to register at their next heartbeat; a restarted SCM has no nodes.
    let address = h.scm.addresses().datanode;
    let h = {
        let conf = h.conf.with("ozone.scm.datanode.address", address);
        Harness { conf, ..h }.restart().await
    };
    h.scm.ready_for(THREE).await;
    until("all nodes are healthy", async || {
        let response = h
            .location(proto::container_location::Type::QueryNode, |r| {
                r.node_query_request = Some(proto::container_location::NodeQueryRequestProto {
                    state: Some(NodeState::Healthy as i32),
                    scope: proto::hdds::QueryScope::Cluster as i32,
                    ..Default::default()
                });
            })
            .await;
        response.node_query_response.unwrap().datanodes.len() == 3
    })
    .await;
    assert_eq!(h.pipelines().await.len(), 2, "the pipelines are still there, none was added");
    drop(nodes);
    h.scm.shutdown().await;
}
