//! Container states.

use proto::datanode::Result as ResultCode;
use proto::scm_datanode::container_replica_proto::State;

use crate::support::{Cluster, block, bytes};

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_closed_on_all_replicas_through_its_pipeline() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let id = pipe.put_small(block(1, 1), bytes(1, 500)).await.unwrap();
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_replica(node, 1, State::Open).await;
    }
    for node in cluster.ids() {
        cluster.scm.scm.send_close_container(node, 1, pipe.id, false);
    }
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
        assert_eq!(pipe.get_small(node, id).await.unwrap(), bytes(1, 500));
    }
    let problem = pipe.put_small(block(1, 2), bytes(2, 10)).await.unwrap_err();
    assert_eq!(problem.code(), Some(ResultCode::ClosedContainerIo));
    // Other containers of the pipeline go on.
    pipe.put_small(block(2, 1), bytes(3, 10)).await.unwrap();
    let ids: Vec<_> = cluster.scm.scm.with(|known| {
        let of_one = known.replicas.iter().filter(|((_, container), _)| *container == 1);
        of_one.map(|(_, replica)| replica.block_commit_sequence_id()).collect()
    });
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|bcsid| *bcsid == ids[0] && *bcsid >= id.bcsid), "{ids:?}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_pipeline_a_container_is_quasi_closed_until_forced() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    pipe.put_small(block(1, 1), bytes(1, 500)).await.unwrap();
    let node = pipe.leader;
    for id in cluster.ids() {
        cluster.scm.scm.send_close_pipeline(id, pipe.id);
    }
    cluster.scm.scm.wait_for_replica(node, 1, State::QuasiClosed).await;
    cluster.scm.scm.send_close_container(node, 1, pipe.id, true);
    cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_container_that_is_not_here_reports_it_gone() {
    let cluster = Cluster::start(1).await;
    let (pipeline, node) = cluster.scm.scm.create_pipeline(&cluster.ids()).await;
    cluster.scm.scm.send_close_container(node, 77, pipeline, false);
    cluster.scm.scm.wait_for_replica(node, 77, State::Deleted).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_container_asks_to_be_closed() {
    let cluster = Cluster::start_with(3, |conf| conf.with("ozone.scm.container.size", "4MB")).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 1 << 20);
    for local in 1..=4 {
        pipe.put_large(block(1, local), &data, 1 << 20).await.unwrap();
    }
    cluster.scm.scm.wait("a close action", |known| known.full.contains(&1).then_some(())).await;
    cluster.stop().await;
}
