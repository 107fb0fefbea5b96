//! Small blocks that come as WriteChunk and PutBlock, as published clients send them.

use std::path::Path;

use proto::datanode as dn;
use proto::datanode::Result as ResultCode;
use types::BlockId;

use crate::ratis::{open, put_block, write_chunk};
use crate::support::{Cluster, Pipe, block, bytes, chunk_info};

/// Files of blocks below a directory.
fn block_files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| match path.is_dir() {
            true => block_files(&path),
            false => usize::from(path.extension().is_some_and(|name| name == "block")),
        })
        .sum()
}

async fn reads_everywhere(
    cluster: &Cluster,
    pipe: &Pipe,
    response: &dn::GetCommittedBlockLengthResponseProto,
    data: &[u8],
) {
    let id = BlockId::from_datanode(&response.block_id);
    assert_eq!(response.block_length, data.len() as i64);
    for node in cluster.ids() {
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_and_its_put_block_are_one_entry_and_no_file() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let (id, data) = (block(1, 1), bytes(3, 10_000));
    let chunk = chunk_info(id, 1, 0, &data);
    ratis.begin(&write_chunk(id, &chunk), &data).await;
    ratis.begin(&put_block(id, vec![chunk], true), &[]).await;
    assert_eq!(ratis.response().await.1.result(), ResultCode::Success);
    let (index, response) = ratis.response().await;
    assert_eq!(response.cmd_type, dn::Type::PutBlock as i32);
    let length = response.put_block.unwrap().committed_block_length;
    assert_eq!(length.block_id.block_commit_sequence_id(), index);
    reads_everywhere(&cluster, &pipe, &length, &data).await;

    // With PutBlock inside of WriteChunk.
    let id = block(1, 2);
    let chunk = chunk_info(id, 1, 0, &data);
    let mut both = write_chunk(id, &chunk);
    both.write_chunk.as_mut().unwrap().block = put_block(id, vec![chunk], true).put_block;
    let (_, response) = ratis.write(&both, &data).await;
    assert_eq!(response.cmd_type, dn::Type::WriteChunk as i32);
    let length = response.write_chunk.unwrap().committed_block_length.unwrap();
    reads_everywhere(&cluster, &pipe, &length, &data).await;
    assert_eq!(cluster.nodes.iter().map(|node| block_files(&node.dir)).sum::<usize>(), 0);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_chunk_that_is_not_the_whole_block_goes_into_its_file() {
    let cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let data = bytes(3, 30_000);
    // Synced in between, or followed by another chunk at once.
    for (local, synced) in [(1, true), (2, false)] {
        let id = block(1, local);
        let first = chunk_info(id, 1, 0, &data.slice(..10_000));
        let second = chunk_info(id, 2, 10_000, &data.slice(10_000..));
        ratis.begin(&write_chunk(id, &first), &data[..10_000]).await;
        if synced {
            ratis.begin(&put_block(id, vec![first.clone()], false), &[]).await;
        }
        ratis.begin(&write_chunk(id, &second), &data[10_000..]).await;
        ratis.begin(&put_block(id, vec![first, second], true), &[]).await;
        for _ in 0..if synced { 3 } else { 2 } {
            assert_eq!(ratis.response().await.1.result(), ResultCode::Success);
        }
        let length = ratis.response().await.1.put_block.unwrap().committed_block_length;
        reads_everywhere(&cluster, &pipe, &length, &data).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_block_may_take_its_time() {
    let cluster = Cluster::start(1).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let (id, data) = (block(1, 1), bytes(3, 10_000));
    let chunk = chunk_info(id, 1, 0, &data);
    ratis.write(&write_chunk(id, &chunk), &data).await;
    let written = async || block_files(&cluster.nodes[0].dir) == 1;
    testkit::until("the chunk to be written by itself", written).await;
    let (_, response) = ratis.write(&put_block(id, vec![chunk], true), &[]).await;
    let length = response.put_block.unwrap().committed_block_length;
    reads_everywhere(&cluster, &pipe, &length, &data).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_leader_that_held_it_a_block_is_refused_and_another_taken() {
    let mut cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = open(&cluster, &pipe).await;
    let (id, data) = (block(1, 1), bytes(3, 10_000));
    let chunk = chunk_info(id, 1, 0, &data);
    ratis.write(&write_chunk(id, &chunk), &data).await;
    cluster.node(pipe.leader).stop().await;
    let put = put_block(id, vec![chunk], true);
    let next = cluster.scm.scm.wait_for_leader(pipe.id, Some(pipe.leader)).await;
    let mut ratis = crate::support::ratis::Ratis::open(&cluster, next, pipe.id).await;
    let (_, response) = ratis.write(&put, &[]).await;
    assert_ne!(response.result(), ResultCode::Success, "nobody has the bytes");
    let id = block(1, 2);
    let chunk = chunk_info(id, 1, 0, &data);
    ratis.write(&write_chunk(id, &chunk), &data).await;
    let (_, response) = ratis.write(&put_block(id, vec![chunk], true), &[]).await;
    assert_eq!(response.result(), ResultCode::Success);
    cluster.stop().await;
}
