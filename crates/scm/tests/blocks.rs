//! Blocks allocated and deleted over the block endpoint.

use std::collections::{BTreeMap, BTreeSet};

use proto::block_location::Status;
use proto::hdds::{BlockId, ContainerBlockId, ExcludeListProto, LifeCycleState};
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{ContainerId, Pipeline};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_spread_over_pipelines_and_never_repeat() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    let mut locals = BTreeSet::new();
    let mut per_pipeline: BTreeMap<_, u32> = BTreeMap::new();
    until("both pipelines serve", async || {
        for block in h.allocate(300).await {
            let id = block.container_block_id.unwrap();
            assert!(locals.insert(id.local_id), "{} twice", id.local_id);
            let pipeline = Pipeline::from_wire(&block.pipeline.unwrap()).unwrap();
            assert_eq!(pipeline.members.len(), 3);
            assert!(pipeline.leader.is_some());
            *per_pipeline.entry(pipeline.id).or_default() += 1;
        }
        per_pipeline.len() == 2
    })
    .await;
    let first = *locals.first().unwrap();
    assert!(first >> 16 > 1_700_000_000_000, "the upper bits are a time: {first}");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_enough_nodes_the_refusal_says_what_is_missing() {
    let h = Harness::start().await;
    let early = h.try_allocate(1, None).await;
    assert_eq!(early.status(), Status::SafeModeException);
    let _nodes = h.datanodes(2).await;
    let refused = h.try_allocate(1, None).await;
    assert_eq!(refused.status(), Status::FailedToAllocateEnoughBlocks);
    assert_eq!(
        refused.message(),
        "Unable to allocate 1 blocks: no open RATIS/THREE pipeline. 2 of 2 datanodes take writes, 3 needed"
    );
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_container_is_closed_everywhere_and_another_takes_its_place() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let id = h.allocate(1).await[0].container_block_id.unwrap().container_id;
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, 10, 1 << 20));
    nodes[0].is_full(container);
    until("the container is closed", async || {
        h.container(id).await.unwrap().state() == LifeCycleState::Closed
    })
    .await;
    until("all replicas are closed", async || {
        nodes.iter().all(|n| n.state(container) == Some(State::Closed))
    })
    .await;
    assert_eq!(h.container(id).await.unwrap().number_of_keys, 10);
    let others = h.allocate(100).await;
    assert!(others.iter().all(|b| b.container_block_id.as_ref().unwrap().container_id != id));
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_excluded_container_is_avoided() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    let id = h.allocate(1).await[0].container_block_id.unwrap().container_id;
    let exclude = ExcludeListProto { container_ids: vec![id], ..Default::default() };
    let response = h.try_allocate(50, Some(exclude)).await;
    let blocks = response.allocate_scm_block_response.unwrap().blocks;
    assert_eq!(blocks.len(), 50);
    assert!(blocks.iter().all(|b| b.container_block_id.as_ref().unwrap().container_id != id));
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_blocks_reach_every_replica_and_an_emptied_container_goes() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let ids: Vec<ContainerBlockId> =
        h.allocate(20).await.into_iter().map(|b| b.container_block_id.unwrap()).collect();
    let id = ids[0].container_id;
    let in_container: Vec<_> = ids.into_iter().filter(|b| b.container_id == id).collect();
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, in_container.len() as i64, 1 << 20));
    // One replica does not confirm at first.
    nodes[2].disk.lock().acknowledges = false;

    let blocks: Vec<_> = in_container
        .iter()
        .map(|b| BlockId { container_block_id: *b, block_commit_sequence_id: None })
        .collect();
    let response = h.delete("/v/b/k", blocks).await;
    let results = response.delete_scm_key_blocks_response.unwrap().results;
    assert_eq!(results[0].object_key, "/v/b/k");
    assert_eq!(results[0].block_results.len(), in_container.len());
    until("every replica has deleted the blocks", async || {
        nodes.iter().all(|n| {
            let disk = n.disk.lock();
            in_container.iter().all(|b| disk.deleted.contains(&b.local_id))
        })
    })
    .await;
    assert_eq!(h.deletions().await, 1, "one replica has not confirmed");
    nodes[2].disk.lock().acknowledges = true;
    until("the log is trimmed", async || h.deletions().await == 0).await;

    nodes[0].is_full(container);
    until("the empty container is deleted", async || {
        h.container(id).await.unwrap().state() == LifeCycleState::Deleted
    })
    .await;
    assert!(nodes.iter().all(|n| n.state(container).is_none()));
    h.scm.shutdown().await;
}
