//! Nodes in racks: the configured locations, and their effect on placement.

use std::collections::BTreeSet;

use prost::Message;
use proto::block_location::{
    ScmBlockLocationRequest, ScmBlockLocationResponse, SortDatanodesRequestProto, Type as BlockType,
};
use proto::container_location::{NodeQueryRequestProto, Type};
use proto::hdds::{InnerNode, QueryScope};
use proto::scm_datanode::{ScmDatanodeRequest, ScmDatanodeResponse, ScmRegisterRequestProto};
use testkit::until;
use types::{DatanodeDetails, PipelineState};

use crate::datanode::FakeDatanode;
use crate::harness::Harness;

async fn six_nodes_in_two_racks() -> (Harness, Vec<FakeDatanode>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("racks");
    let lines = (1..=6).map(|n| format!("dn{n} /rack{}\n", if n <= 3 { 1 } else { 2 }));
    std::fs::write(&table, format!("{}client /rack2\n", lines.collect::<String>())).unwrap();
    let h = Harness::start_with(|conf| {
        conf.with("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping")
            .with("net.topology.table.file.name", table.display())
    })
    .await;
    let mut nodes = Vec::new();
    for n in 1..=6 {
        nodes.push(FakeDatanode::start_on(h.scm.addresses().datanode, &format!("dn{n}")).await);
    }
    (h, nodes, dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_span_two_racks_whatever_order_the_nodes_came_in() {
    let (h, _nodes, _dir) = six_nodes_in_two_racks().await;
    until("four pipelines over two racks each", async || {
        let pipelines = h.pipelines().await;
        let open: Vec<_> = pipelines.iter().filter(|p| p.state == PipelineState::Open).collect();
        open.len() == 4
            && open.iter().all(|p| {
                let racks: BTreeSet<_> = p.members.iter().map(|m| &m.network_location).collect();
                racks.len() == 2
            })
    })
    .await;
    let response = h
        .location(Type::QueryNode, |r| {
            r.node_query_request = Some(NodeQueryRequestProto {
                scope: QueryScope::Cluster as i32,
                ..Default::default()
            });
        })
        .await;
    for node in response.node_query_response.unwrap().datanodes {
        let node = DatanodeDetails::from_wire(&node.node_id).unwrap();
        let rack = if node.host.as_str() <= "dn3" { "/rack1" } else { "/rack2" };
        assert_eq!(node.network_location, rack, "{}", node.host);
    }
    h.scm.shutdown().await;
}

/// The lines of a tree: as Ozone's own shows the same nodes, apart from the nodes' details.
fn lines(node: &InnerNode, depth: usize, out: &mut Vec<String>) {
    let at = node.node_topology.as_ref().unwrap();
    out.push(format!(
        "{}'{}' in '{}' level {} cost {} leaves {}",
        "  ".repeat(depth),
        at.name(),
        at.location(),
        at.level(),
        at.cost(),
        node.num_of_leaves()
    ));
    for child in &node.children_map {
        let below = child.network_node.as_ref().unwrap();
        if let Some(inner) = &below.inner_node {
            assert_eq!(inner.node_topology.as_ref().unwrap().name, child.network_name);
            lines(inner, depth + 1, out);
        }
        if let Some(node) = &below.datanode_details {
            assert_eq!(node.network_name, child.network_name);
            let indent = "  ".repeat(depth + 1);
            let (name, place) = (&node.host_name, node.network_location());
            out.push(format!("{indent}{name} in {place} level {}", node.level()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn om_is_shown_the_tree_of_all_nodes_with_the_costs_of_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("racks");
    std::fs::write(&table, "dn1 /rack1/ng1\ndn2 /rack1/ng2\ndn4 /rack1\n").unwrap();
    let schema = dir.path().join("schema.yaml");
    let layers = "{type: INNER_NODE, prefix: ng, cost: 3, defaultName: group, sublayer: [{type: LEAF_NODE}]}";
    let layers = format!(
        "{{type: INNER_NODE, prefix: rack, cost: 5, defaultName: rack, sublayer: [{layers}]}}"
    );
    std::fs::write(&schema, format!("type: ROOT\ncost: 7\nsublayer: [{layers}]\n")).unwrap();
    let h = Harness::start_with(|conf| {
        conf.with("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping")
            .with("net.topology.table.file.name", table.display())
            .with("ozone.scm.network.topology.schema.file", schema.display())
    })
    .await;
    let mut nodes = Vec::new();
    for n in 1..=3 {
        nodes.push(FakeDatanode::start_on(h.scm.addresses().datanode, &format!("dn{n}")).await);
    }
    let request = ScmBlockLocationRequest {
        cmd_type: BlockType::GetClusterTree as i32,
        get_cluster_tree_request: Some(Default::default()),
        ..Default::default()
    };
    // As a published OM asks.
    let address = h.scm.addresses().block.to_string();
    let identity = hadoop_rpc::Identity::random();
    let protocol = ("org.apache.hadoop.hdds.scm.protocol.ScmBlockLocationProtocol", 1);
    let options = hadoop_rpc::ClientOptions::default();
    let om = hadoop_rpc::Client::new(address, protocol, "om", identity, options);
    let body = bytes::Bytes::from(request.encode_to_vec());
    let answer = om.call("send", body, testkit::LIMIT).await.unwrap();
    let answer = ScmBlockLocationResponse::decode(answer).unwrap();
    let tree = answer.get_cluster_tree_response.unwrap().cluster_tree;
    let mut said = Vec::new();
    lines(&tree, 0, &mut said);
    let expected = [
        "'' in '' level 1 cost 7 leaves 3",
        "  'rack' in '/' level 2 cost 5 leaves 1",
        "    'group' in '/rack' level 3 cost 3 leaves 1",
        "      dn3 in /rack/group level 4",
        "  'rack1' in '/' level 2 cost 5 leaves 2",
        "    'ng1' in '/rack1' level 3 cost 3 leaves 1",
        "      dn1 in /rack1/ng1 level 4",
        "    'ng2' in '/rack1' level 3 cost 3 leaves 1",
        "      dn2 in /rack1/ng2 level 4",
    ];
    assert_eq!(said, expected);
    // A node that does not fit is rejected, with the reason.
    let misplaced = DatanodeDetails::new(types::DatanodeId::random(), "127.0.0.1", "dn4");
    let request = ScmDatanodeRequest {
        cmd_type: proto::scm_datanode::Type::Register as i32,
        register_request: Some(ScmRegisterRequestProto {
            datanode_details: misplaced.to_wire(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let address = h.scm.addresses().datanode.to_string();
    let client = framed::Client::new(address, framed::ClientOptions::default());
    let method = proto::method::SCM_DATANODE;
    let answer: ScmDatanodeResponse =
        framed::message::call(&client, method, &request, testkit::LIMIT).await.unwrap();
    let said = answer.message();
    assert!(said.contains("dn4") && said.contains("/rack1 is 1 deep"), "{said}");
    h.scm.shutdown().await;
}

#[test]
fn an_scm_with_a_schema_that_is_none_does_not_start() {
    let conf = config::Configuration::builder().build().unwrap();
    let conf = conf
        .with("ozone.scm.db.dirs", "/tmp/none")
        .with("ozone.scm.network.topology.schema.file", "/nowhere/schema.xml");
    let error = scm::ScmOptions::from_configuration(&conf).unwrap_err().to_string();
    assert!(error.contains("/nowhere/schema.xml"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_sorted_by_their_distance_from_the_client() {
    let (h, nodes, _dir) = six_nodes_in_two_racks().await;
    for (client, first) in [("client", "/rack2"), ("dn2", "/rack1")] {
        let response = h
            .block(BlockType::SortDatanodes, |r| {
                r.sort_datanodes_request = Some(SortDatanodesRequestProto {
                    client: client.to_owned(),
                    node_network_name: nodes.iter().map(|n| n.id.to_string()).collect(),
                });
            })
            .await;
        let sorted = response.sort_datanodes_response.unwrap().node;
        let racks: Vec<_> = sorted.iter().map(|n| n.network_location()).collect();
        assert_eq!(racks[..3], [first; 3], "for {client}: {racks:?}");
        assert!(client != "dn2" || sorted[0].host_name == "dn2");
    }
    h.scm.shutdown().await;
}
