//! The Ratis endpoint, as published clients use it.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, Result as ResultCode, Type};
use ratis_wire::common::raft_client_reply_proto::ExceptionDetails;
use testkit::until;
use types::{BlockId, DatanodeId, PipelineId};
use uuid::Uuid;

use crate::support::client::block_data;
use crate::support::ratis::{Ratis, command};
use crate::support::{Cluster, Pipe, block, bytes, chunk_info};

/// Levels of a watch on the wire.
const MAJORITY: i32 = 0;
const ALL_COMMITTED: i32 = 3;

pub(crate) fn write_chunk(id: BlockId, chunk: &dn::ChunkInfo) -> ContainerCommandRequestProto {
    let mut request = command(Type::WriteChunk, id.container.0);
    request.write_chunk = Some(dn::WriteChunkRequestProto {
        block_id: id.to_datanode(0),
        chunk_data: Some(chunk.clone()),
        data: None,
        block: None,
    });
    request
}

pub(crate) fn put_block(
    id: BlockId,
    chunks: Vec<dn::ChunkInfo>,
    eof: bool,
) -> ContainerCommandRequestProto {
    let mut request = command(Type::PutBlock, id.container.0);
    let block_data = dn::BlockData { size: None, ..block_data(id, chunks) };
    request.put_block = Some(dn::PutBlockRequestProto { block_data, eof: Some(eof) });
    request
}

pub(crate) async fn open(cluster: &Cluster, pipe: &Pipe) -> Ratis {
    let mut ratis = Ratis::open(cluster, pipe.leader, pipe.id).await;
    ratis.begin_watch(0, MAJORITY).await;
    assert!(ratis.reply().await.unwrap().rpc_reply.unwrap().success);
    ratis
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_written_without_waiting_is_committed_on_every_replica() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let id = block(1, 1);
    let data = bytes(3, 3 << 20);
    let mut chunks = Vec::new();
    for n in 0..3 {
        let part = data.slice(n << 20..(n + 1) << 20);
        chunks.push(chunk_info(id, n + 1, (n << 20) as u64, &part));
        ratis.begin(&write_chunk(id, &chunks[n]), &part).await;
    }
    ratis.begin(&put_block(id, chunks, true), &[]).await;
    let mut last = 0;
    for _ in 0..3 {
        let (index, response) = ratis.response().await;
        assert!(index > last && response.result() == ResultCode::Success);
        last = index;
    }
    let (index, response) = ratis.response().await;
    let committed = response.put_block.unwrap().committed_block_length;
    assert_eq!(committed.block_id.block_commit_sequence_id(), index);
    assert_eq!(committed.block_length, 3 << 20);
    ratis.begin_watch(index, ALL_COMMITTED).await;
    let watched = ratis.reply().await.unwrap();
    assert!(watched.rpc_reply.unwrap().success);
    assert_eq!(watched.commit_infos.len(), 3);
    assert!(watched.commit_infos.iter().all(|info| info.commit_index >= index));
    let committed = BlockId::from_datanode(&committed.block_id);
    for node in cluster.ids() {
        let got = pipe.eventually(|| pipe.get_large(node, committed)).await;
        assert_eq!(got, data);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_ride_in_the_request() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let (id, data) = (block(1, 7), bytes(5, 9_000));
    let chunk = chunk_info(id, 1, 0, &data);
    let mut put = command(Type::PutSmallFile, 1);
    put.put_small_file = Some(dn::PutSmallFileRequestProto {
        block: dn::PutBlockRequestProto {
            block_data: block_data(id, vec![chunk.clone()]),
            eof: Some(true),
        },
        chunk_info: chunk,
        data: Default::default(),
    });
    let (index, response) = ratis.write(&put, &data).await;
    let committed = response.put_small_file.unwrap().committed_block_length.block_id;
    assert_eq!(committed.block_commit_sequence_id(), index);
    let committed = BlockId::from_datanode(&committed);
    assert_eq!(pipe.get_small(pipe.leader, committed).await.unwrap(), data);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_sent_again_is_answered_from_memory() {
    let cluster = Cluster::start(1).await;
    let pipe = cluster.pipeline().await;
    let client = Uuid::new_v4();
    let data = bytes(1, 1 << 20);
    let id = block(1, 1);
    let chunk = chunk_info(id, 1, 0, &data);
    let mut indexes = Vec::new();
    for _ in 0..2 {
        let mut ratis = Ratis::open_as(&cluster, pipe.leader, pipe.id, client, 5).await;
        let (index, _) = ratis.write(&write_chunk(id, &chunk), &data).await;
        indexes.push(index);
    }
    assert!(indexes[0] > 0 && indexes[0] == indexes[1], "{indexes:?}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_and_strangers_send_clients_away() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    let mut ratis = Ratis::open(&cluster, follower, pipe.id).await;
    ratis.begin_watch(0, MAJORITY).await;
    let reply = ratis.reply().await.unwrap();
    let Some(ExceptionDetails::NotLeaderException(e)) = reply.exception_details else {
        panic!("wrong exception: {reply:?}")
    };
    let suggested = e.suggested_leader.unwrap();
    assert_eq!(suggested.id, pipe.leader.to_string());
    let leader = cluster.nodes.iter().find(|n| n.id == pipe.leader).unwrap();
    let address = leader.handle.as_ref().unwrap().addresses().ratis.to_string();
    assert_eq!(suggested.client_address, address);
    assert_eq!(e.peers_in_conf.len(), 3);

    let mut ratis = Ratis::open(&cluster, follower, PipelineId::random()).await;
    ratis.begin_watch(0, MAJORITY).await;
    let status = ratis.reply().await.unwrap_err();
    let class = status.metadata().get("exception-type").unwrap().to_str().unwrap();
    assert!(class.ends_with(".GroupMismatchException"), "{class}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_container_is_a_result_not_an_error_of_the_stream() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let data = bytes(1, 1 << 20);
    let (first, second) = (block(1, 1), block(1, 2));
    let chunk = chunk_info(first, 1, 0, &data);
    ratis.write(&write_chunk(first, &chunk), &data).await;
    let mut close = command(Type::CloseContainer, 1);
    close.close_container = Some(Default::default());
    assert_eq!(ratis.write(&close, &[]).await.1.result(), ResultCode::Success);
    let late = ratis.write(&put_block(first, vec![chunk], true), &[]).await.1;
    assert_eq!(late.result(), ResultCode::ClosedContainerIo);
    let chunk = chunk_info(second, 1, 0, &data);
    let late = ratis.write(&write_chunk(second, &chunk), &data).await.1;
    assert_eq!(late.result(), ResultCode::ClosedContainerIo);
    // The stream goes on with another container.
    let other = block(2, 1);
    let chunk = chunk_info(other, 1, 0, &data);
    let (_, response) = ratis.write(&write_chunk(other, &chunk), &data).await;
    assert_eq!(response.result(), ResultCode::Success);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_names_the_member_that_is_down() {
    let mut cluster =
        Cluster::start_with(3, |conf| conf.with("hdds.ratis.raft.server.watch.timeout", "300ms"))
            .await;
    let pipe = cluster.pipeline().await;
    let down: DatanodeId = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    let mut ratis = open(&cluster, &pipe).await;
    cluster.node(down).stop().await;
    let (id, data) = (block(1, 1), bytes(1, 5000));
    let chunk = chunk_info(id, 1, 0, &data);
    ratis.begin(&write_chunk(id, &chunk), &data).await;
    ratis.begin(&put_block(id, vec![chunk], true), &[]).await;
    ratis.response().await;
    let (index, response) = ratis.response().await;
    assert_eq!(response.result(), ResultCode::Success);
    // The member that is there must not be behind by chance when the limit is over.
    let leader = cluster.nodes.iter().find(|node| node.id == pipe.leader).unwrap();
    let group = leader.handle.as_ref().unwrap().raft().unwrap().group(pipe.id.0).unwrap();
    until("two of three to have it", async || {
        group.progress().iter().filter(|member| member.committed >= index).count() == 2
    })
    .await;
    ratis.begin_watch(index, ALL_COMMITTED).await;
    let reply = ratis.reply().await.unwrap();
    let Some(ExceptionDetails::NotReplicatedException(e)) = reply.exception_details else {
        panic!("wrong exception: {reply:?}")
    };
    assert_eq!(e.log_index, index);
    let behind: Vec<_> = reply
        .commit_infos
        .iter()
        .filter(|info| info.commit_index < index)
        .map(|info| info.server.clone().unwrap().id)
        .collect();
    assert_eq!(behind, [down.to_string()]);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_ends_the_stream_and_nothing_else() {
    let cluster = Cluster::start(1).await;
    let pipe = cluster.pipeline().await;
    let read = command(Type::ReadChunk, 1);
    let mut ratis = open(&cluster, &pipe).await;
    ratis.begin(&read, &[]).await;
    assert_eq!(ratis.reply().await.unwrap_err().code(), tonic::Code::InvalidArgument);
    // The endpoint is open for others.
    let mut ratis = open(&cluster, &pipe).await;
    let (id, data) = (block(1, 1), bytes(1, 10));
    let mut chunk = chunk_info(id, 1, 0, &data);
    chunk.len = 11;
    let (_, response) = ratis.write(&write_chunk(id, &chunk), &data).await;
    assert_eq!(response.result(), ResultCode::InvalidWriteSize);
    cluster.stop().await;
}
