//! Nodes that die or leave: their containers are copied, and a node that leaves is through when
//! they are.

use proto::container_location as cl;
use proto::container_location::Type;
use proto::hdds::{LifeCycleState, NodeOperationalState};
use testkit::until;
use types::{ContainerId, DatanodeId};

use crate::datanode::FakeDatanode;
use crate::harness::Harness;

/// Four nodes and a closed container on three of them: the container, those that have it, and the
/// fourth.
async fn closed_container(h: &Harness) -> (ContainerId, Vec<FakeDatanode>, FakeDatanode) {
    let mut nodes = h.datanodes(4).await;
    let block = h.allocate(1).await.remove(0);
    let id = ContainerId::from_wire(block.container_block_id.unwrap().container_id);
    let pipeline = types::Pipeline::from_wire(&block.pipeline.unwrap()).unwrap();
    let at = nodes.iter().position(|n| pipeline.member(n.id).is_none()).unwrap();
    let fourth = nodes.remove(at);
    nodes.iter().for_each(|n| n.write(id, 2, 1_000));
    nodes[0].is_full(id);
    until("the container is closed", async || {
        h.container(id.to_wire()).await.unwrap().state() == LifeCycleState::Closed
    })
    .await;
    (id, nodes, fourth)
}

/// Makes the copies that nodes were ordered to make.
async fn copy(nodes: &[&FakeDatanode]) {
    until("a copy is ordered", async || {
        let mut copied = false;
        for node in nodes {
            for (target, replica) in std::mem::take(&mut node.disk.lock().pushed) {
                nodes.iter().filter(|n| n.id == target).for_each(|n| n.take(replica.clone()));
                copied = true;
            }
        }
        copied
    })
    .await;
}

async fn report(h: &Harness, key: &str) -> i64 {
    let response = h
        .location(Type::GetReplicationManagerReport, |r| {
            r.replication_manager_report_request = Some(Default::default());
        })
        .await;
    let report = response.get_replication_manager_report_response.unwrap().report;
    report.stat.iter().find(|s| s.key == key).unwrap().value()
}

async fn op_state(h: &Harness, id: DatanodeId) -> NodeOperationalState {
    let response = h
        .location(Type::SingleNodeQuery, |r| {
            r.single_node_query_request =
                Some(cl::SingleNodeQueryRequestProto { uuid: types::ids::uuid_to_wire(id.0) });
        })
        .await;
    let node = response.single_node_query_response.unwrap().datanode.unwrap();
    NodeOperationalState::try_from(node.node_operational_states[0]).unwrap()
}

async fn decommission(
    h: &Harness,
    host: &str,
    force: bool,
) -> Vec<cl::DatanodeAdminErrorResponseProto> {
    let response = h
        .location(Type::DecommissionNodes, |r| {
            r.decommission_nodes_request = Some(cl::DecommissionNodesRequestProto {
                hosts: vec![host.to_owned()],
                force: Some(force),
                to: None,
            });
        })
        .await;
    response.decommission_nodes_response.unwrap().failed_hosts
}

#[tokio::test(flavor = "multi_thread")]
async fn the_containers_of_a_dead_node_return_to_three_replicas() {
    let h = Harness::start().await;
    let (_, mut nodes, fourth) = closed_container(&h).await;
    h.dies(nodes.remove(0)).await;
    until("it is found", async || report(&h, "UNDER_REPLICATED").await == 1).await;
    copy(&[&nodes[0], &nodes[1], &fourth]).await;
    until("it is healed", async || report(&h, "UNDER_REPLICATED").await == 0).await;
    assert_eq!(fourth.disk.lock().containers.len(), 1);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_decommissioned_when_its_containers_were_copied() {
    let h =
        Harness::start_with(|conf| conf.with("ozone.scm.datanode.admin.monitor.interval", "200ms"))
            .await;
    let (id, nodes, fourth) = closed_container(&h).await;
    let leaving = nodes[0].id;
    assert_eq!(decommission(&h, &leaving.to_string(), false).await, []);
    assert_eq!(op_state(&h, leaving).await, NodeOperationalState::Decommissioning);
    let response = h
        .location(Type::GetContainersOnDecomNode, |r| {
            r.get_containers_on_decom_node_request =
                Some(cl::GetContainersOnDecomNodeRequestProto {
                    datanode_details: types::DatanodeDetails::new(leaving, "127.0.0.1", "h")
                        .to_wire(),
                });
        })
        .await;
    let lists = response.get_containers_on_decom_node_response.unwrap().containers_on_decom_node;
    assert_eq!(lists[0].name, "UnderReplicated");
    assert_eq!(lists[0].id[0].id, id.0);
    copy(&[&nodes[0], &nodes[1], &nodes[2], &fourth]).await;
    until("it is through", async || {
        op_state(&h, leaving).await == NodeOperationalState::Decommissioned
    })
    .await;
    let pipelines = h.pipelines().await;
    assert!(
        pipelines
            .iter()
            .all(|p| { p.state == types::PipelineState::Closed || p.member(leaving).is_none() })
    );
    // The node stores it after it received it, and will report it to the next SCM.
    until("the node knows", async || {
        nodes[0].op_state() == types::OperationalState::Decommissioned
    })
    .await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_nodes_would_stay_unless_that_is_wanted() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let id = h.allocate(1).await[0].container_block_id.unwrap().container_id;
    let id = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(id, 1, 10));
    let host = nodes[0].id.to_string();
    // If SCM had not yet received a replica there, the node would leave immediately.
    until("the replicas are known", async || h.replicas(id.to_wire()).await == 3).await;
    let failed = decommission(&h, &host, false).await;
    assert_eq!(failed[0].host, "AllHosts");
    assert!(
        failed[0].error.starts_with("Insufficient nodes. Tried to decommission 1 nodes out of 3 "),
        "{failed:?}"
    );
    assert_eq!(decommission(&h, &host, true).await, []);
    let failed = decommission(&h, "nowhere.example", true).await;
    assert_eq!(failed[0].error, "nowhere.example: Name or service not known");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_node_came_back_under_another_id_is_the_one_heard_of_last() {
    let h = Harness::start().await;
    let _others = h.datanodes(3).await;
    let address = h.scm.addresses().datanode;
    let before = FakeDatanode::start_at(address, "dn-a.example", 9858).await;
    let old = before.id;
    drop(before);
    let now = FakeDatanode::start_at(address, "dn-a.example", 9858).await;
    // Refused while the last heartbeats of the two are of the same millisecond.
    until("one is the newest", async || decommission(&h, "dn-a.example", true).await.is_empty())
        .await;
    assert_ne!(op_state(&h, now.id).await, NodeOperationalState::InService);
    assert_eq!(op_state(&h, old).await, NodeOperationalState::InService);

    let _beside = FakeDatanode::start_at(address, "dn-a.example", 9859).await;
    let failed = decommission(&h, "dn-a.example", true).await;
    assert!(failed[0].error.contains("multiple datanodes"), "{failed:?}");
    let failed = decommission(&h, "dn-a.example:9858", true).await;
    assert_eq!(failed, [], "a port leaves the two ids of one process");
    h.scm.shutdown().await;
}

#[test]
fn how_long_a_node_has_to_begin_is_a_part_of_how_long_it_is_waited_for() {
    let settings = |offset: Option<&str>| {
        let mut conf = config::Configuration::default()
            .with("ozone.scm.db.dirs", "/tmp/none")
            .with("hdds.scm.replication.event.timeout", "60s");
        if let Some(offset) = offset {
            conf = conf.with("hdds.scm.replication.event.timeout.datanode.offset", offset);
        }
        let options = scm::ScmOptions::from_configuration(&conf);
        options.map(|options| options.settings.replication.deadline_offset)
    };
    assert_eq!(settings(None).unwrap(), 30_000, "half of it");
    assert_eq!(settings(Some("10s")).unwrap(), 10_000);
    for offset in ["60s", "6m"] {
        let error = settings(Some(offset)).unwrap_err().to_string();
        assert!(error.contains("event.timeout.datanode.offset"), "{error}");
    }
}
