//! Replicas of erasure coded containers that are lost are reconstructed.

use std::collections::BTreeSet;

use proto::block_location::{AllocateScmBlockRequestProto, Type as BlockType};
use proto::container_location::{GetContainerReplicasRequestProto, Type as LocationType};
use proto::hdds::LifeCycleState;
use proto::scm_datanode::container_replica_proto::State;
use proto::scm_datanode::{
    ContainerReplicaProto, ReconstructEcContainersCommandProto, scm_command_proto,
};
use testkit::until;
use types::{ContainerId, DatanodeDetails, DatanodeId, Pipeline, ReplicationConfig};

use crate::datanode::FakeDatanode;
use crate::harness::Harness;

fn rs_3_2() -> ReplicationConfig {
    ReplicationConfig::parse("EC", "rs-3-2-1024k").unwrap()
}

pub fn part(id: ContainerId, node: DatanodeId, index: u32, state: State) -> ContainerReplicaProto {
    ContainerReplicaProto {
        container_id: id.to_wire(),
        state: state as i32,
        origin_node_id: Some(node.to_string()),
        replica_index: Some(index as i32),
        key_count: Some(5),
        used: Some(5_000),
        ..Default::default()
    }
}

/// A container with blocks that takes more, and its pipeline.
async fn open_container(h: &Harness, nodes: &[FakeDatanode]) -> (ContainerId, Pipeline) {
    let response = h
        .block(BlockType::AllocateScmBlock, |r| {
            r.allocate_scm_block_request = Some(AllocateScmBlockRequestProto {
                size: 1 << 20,
                num_blocks: 1,
                r#type: rs_3_2().wire_type() as i32,
                ec_replication_config: rs_3_2().wire_ec(),
                owner: "omServiceIdDefault".to_owned(),
                ..Default::default()
            });
        })
        .await;
    assert!(response.success(), "{:?}", response.message);
    let block = response.allocate_scm_block_response.unwrap().blocks.remove(0);
    let id = ContainerId::from_wire(block.container_block_id.unwrap().container_id);
    let pipeline = Pipeline::from_wire(&block.pipeline.unwrap()).unwrap();
    for (member, index) in pipeline.members.iter().zip(&pipeline.replica_indexes) {
        let node = nodes.iter().find(|n| n.id == member.id).unwrap();
        node.take(part(id, node.id, *index, State::Open));
    }
    (id, pipeline)
}

/// A closed container, and its pipeline.
async fn closed_container(h: &Harness, nodes: &[FakeDatanode]) -> (ContainerId, Pipeline) {
    let (id, pipeline) = open_container(h, nodes).await;
    for member in &pipeline.members {
        nodes.iter().find(|n| n.id == member.id).unwrap().is_full(id);
    }
    until("the container is closed", async || {
        let closed = |n: &&FakeDatanode| n.state(id) == Some(State::Closed);
        h.container(id.to_wire()).await.unwrap().state() == LifeCycleState::Closed
            && nodes.iter().filter(closed).count() == 5
    })
    .await;
    (id, pipeline)
}

/// The next command to reconstruct, and the node that has it.
async fn ordered(nodes: &[FakeDatanode]) -> (DatanodeId, ReconstructEcContainersCommandProto) {
    let mut found = None;
    until("a reconstruction is ordered", async || {
        for node in nodes {
            if let Some((command, deadline)) = node.disk.lock().reconstructions.pop() {
                assert!(deadline.is_some(), "it has an end");
                found = Some((node.id, command));
            }
        }
        found.is_some()
    })
    .await;
    found.unwrap()
}

fn ids(details: &[proto::hdds::DatanodeDetailsProto]) -> Vec<DatanodeId> {
    details.iter().map(|d| DatanodeDetails::from_wire(d).unwrap().id).collect()
}

/// Indexes of the replicas that SCM shows.
async fn indexes(h: &Harness, id: ContainerId) -> Vec<i64> {
    let response = h
        .location(LocationType::GetContainerReplicas, |r| {
            r.get_container_replicas_request = Some(GetContainerReplicasRequestProto {
                container_id: id.to_wire(),
                ..Default::default()
            });
        })
        .await;
    let replicas = response.get_container_replicas_response.unwrap().container_replica;
    let mut indexes: Vec<_> = replicas.iter().map(|r| r.replica_index()).collect();
    indexes.sort_unstable();
    indexes
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_container_lost_is_reconstructed_on_other_nodes_until_that_succeeds() {
    let often =
        |conf: config::Configuration| conf.with("hdds.scm.replication.thread.interval", "200ms");
    let h = Harness::start_with(often).await;
    let nodes = h.datanodes(8).await;
    let (id, pipeline) = closed_container(&h, &nodes).await;
    let lost: Vec<_> = pipeline.members.iter().take(2).map(|m| m.id).collect();
    let gone: BTreeSet<u8> = pipeline.replica_indexes.iter().take(2).map(|i| *i as u8).collect();
    nodes.iter().filter(|n| lost.contains(&n.id)).for_each(|n| n.lose(id));
    let mut missing = BTreeSet::new();
    while missing != gone {
        let (coordinator, command) = ordered(&nodes).await;
        check(&command, coordinator, id, &pipeline);
        missing.extend(command.missing_container_indexes.iter().copied());
        let node = nodes.iter().find(|n| n.id == coordinator).unwrap();
        node.fail(command.cmd_id, scm_command_proto::Type::ReconstructEcContainersCommand);
    }
    // The failed reconstruction is ordered again, and succeeds now.
    while indexes(&h, id).await != [1, 2, 3, 4, 5] {
        let (_, command) = ordered(&nodes).await;
        let indexes = command.missing_container_indexes.iter();
        for (target, index) in ids(&command.targets).into_iter().zip(indexes) {
            let node = nodes.iter().find(|n| n.id == target).unwrap();
            node.take(part(id, target, (*index).into(), State::Closed));
            until("it is known", async || self::indexes(&h, id).await.contains(&i64::from(*index)))
                .await;
        }
    }
    h.scm.shutdown().await;
}

/// All that is good is read, and the first of the targets coordinates.
fn check(
    command: &ReconstructEcContainersCommandProto,
    coordinator: DatanodeId,
    id: ContainerId,
    pipeline: &Pipeline,
) {
    assert_eq!(command.container_id, id.to_wire());
    assert_eq!(Some(&command.ec_replication_config), rs_3_2().wire_ec().as_ref());
    let targets = ids(&command.targets);
    assert_eq!(targets[0], coordinator);
    assert_eq!(targets.len(), command.missing_container_indexes.len());
    assert!(command.sources.len() >= 3);
    for source in &command.sources {
        let node = DatanodeDetails::from_wire(&source.datanode_details).unwrap().id;
        let at = pipeline.members.iter().position(|m| m.id == node).unwrap();
        assert_eq!(pipeline.replica_indexes[at] as i32, source.replica_index);
    }
}
