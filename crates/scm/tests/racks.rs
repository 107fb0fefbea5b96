//! Nodes in racks: where they are told to be, and what is made of it.

use std::collections::BTreeSet;

use proto::block_location::{SortDatanodesRequestProto, Type as BlockType};
use proto::container_location::{NodeQueryRequestProto, Type};
use proto::hdds::QueryScope;
use types::{DatanodeDetails, PipelineState};

use crate::datanode::FakeDatanode;
use crate::harness::{Harness, until};

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
