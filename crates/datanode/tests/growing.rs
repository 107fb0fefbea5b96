//! Blocks that grow under a writer that syncs often, and writers that were given up.

use proto::datanode as dn;
use proto::datanode::{ContainerCommandRequestProto, Result as ResultCode, Type};
use types::BlockId;

use crate::support::client::block_data;
use crate::support::ratis::{Ratis, command};
use crate::support::{Cluster, block, bytes, chunk_info};

fn write_chunk(id: BlockId, chunk: dn::ChunkInfo) -> ContainerCommandRequestProto {
    let mut request = command(Type::WriteChunk, id.container.0);
    request.write_chunk = Some(dn::WriteChunkRequestProto {
        block_id: id.to_datanode(0),
        chunk_data: Some(chunk),
        data: None,
        block: None,
    });
    request
}

/// A PutBlock of the new chunks, to be sent alone or with a chunk.
fn incremental(id: BlockId, chunks: Vec<dn::ChunkInfo>, eof: bool) -> dn::PutBlockRequestProto {
    let mut block_data = dn::BlockData { size: None, ..block_data(id, chunks) };
    block_data.metadata.push(dn::KeyValue { key: "incremental".into(), value: None });
    dn::PutBlockRequestProto { block_data, eof: Some(eof) }
}

fn put_block(id: BlockId, put: dn::PutBlockRequestProto) -> ContainerCommandRequestProto {
    let mut request = command(Type::PutBlock, id.container.0);
    request.put_block = Some(put);
    request
}

fn finalize(id: BlockId) -> ContainerCommandRequestProto {
    let mut request = command(Type::FinalizeBlock, id.container.0);
    request.finalize_block = Some(dn::FinalizeBlockRequestProto { block_id: id.to_datanode(0) });
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn small_appends_make_a_block_and_every_sync_of_it_is_readable() {
    const WINDOW: usize = 100_000;
    let mut cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = Ratis::open(&cluster, pipe.leader, pipe.id).await;
    let (id, data) = (block(1, 1), bytes(9, 250_000));
    let window = |end: usize| {
        let start = (end - 1) / WINDOW * WINDOW;
        let mut chunk = chunk_info(id, start / WINDOW, start as u64, &data[start..end]);
        if end - start == WINDOW {
            chunk.metadata.push(dn::KeyValue { key: "full".into(), value: None });
        }
        chunk
    };
    let mut last = id;
    let mut written = 0;
    for end in [1000, 3000, 60_001, 100_000, 150_000, 200_000, 250_000] {
        let part = &data[written..end];
        let mut write = write_chunk(id, chunk_info(id, end, written as u64, part));
        let put = incremental(id, vec![window(end)], false);
        // By turns with the chunk and after it.
        let committed = if end % 3 == 0 {
            write.write_chunk.as_mut().unwrap().block = Some(put);
            let (_, response) = ratis.write(&write, part).await;
            response.write_chunk.unwrap().committed_block_length.unwrap()
        } else {
            ratis.begin(&write, part).await;
            ratis.begin(&put_block(id, put), &[]).await;
            ratis.response().await;
            ratis.response().await.1.put_block.unwrap().committed_block_length
        };
        written = end;
        assert_eq!(committed.block_length as usize, end);
        last = BlockId::from_datanode(&committed.block_id);
        for node in cluster.ids() {
            let got = pipe.eventually(|| pipe.get_large(node, last)).await;
            assert!(got == data[..end], "up to {end}");
        }
    }
    // The end of the file adds nothing.
    let (_, response) = ratis.write(&put_block(id, incremental(id, vec![], true)), &[]).await;
    let committed = response.put_block.unwrap().committed_block_length;
    assert_eq!(committed.block_length, 250_000);
    let chunks = pipe.get_block(pipe.leader, last).await.unwrap();
    assert_eq!(chunks.chunks.len(), 3);
    assert!(chunks.metadata.iter().all(|entry| entry.key != "incremental"));
    // It is on the disks of all, too.
    for node in cluster.ids() {
        cluster.node(node).stop().await;
        cluster.node(node).restart().await;
    }
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    for node in cluster.ids() {
        let got = pipe.eventually(|| pipe.get_large(node, last)).await;
        assert!(got == data);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finalized_block_takes_no_writes_even_after_a_restart() {
    let mut cluster = Cluster::start(3).await;
    let pipe = cluster.pipeline().await;
    let mut ratis = Ratis::open(&cluster, pipe.leader, pipe.id).await;
    let (id, data) = (block(1, 1), bytes(2, 5000));
    let (_, response) = ratis.write(&finalize(id), &[]).await;
    assert_eq!(response.result(), ResultCode::ContainerNotFound);
    let first = chunk_info(id, 1, 0, &data);
    ratis.write(&write_chunk(id, first.clone()), &data).await;
    let put = dn::PutBlockRequestProto {
        block_data: block_data(id, vec![first.clone()]),
        eof: Some(false),
    };
    ratis.write(&put_block(id, put), &[]).await;
    let (_, response) = ratis.write(&finalize(id), &[]).await;
    let found = response.finalize_block.unwrap().block_data;
    assert_eq!(found.size, Some(5000));
    let second = chunk_info(id, 2, 5000, &data);
    let (_, response) = ratis.write(&write_chunk(id, second.clone()), &data).await;
    assert_eq!(response.result(), ResultCode::BlockAlreadyFinalized);
    let put = dn::PutBlockRequestProto {
        block_data: block_data(id, vec![first.clone()]),
        eof: Some(true),
    };
    let (_, response) = ratis.write(&put_block(id, put.clone()), &[]).await;
    assert_eq!(response.result(), ResultCode::BlockAlreadyFinalized);
    // A repetition does no harm, no other block is affected, and the log continues.
    assert_eq!(ratis.write(&finalize(id), &[]).await.1.result(), ResultCode::Success);
    let other = block(1, 2);
    let chunk = chunk_info(other, 1, 0, &data);
    let (_, response) = ratis.write(&write_chunk(other, chunk), &data).await;
    assert_eq!(response.result(), ResultCode::Success);

    for node in cluster.ids() {
        cluster.node(node).stop().await;
        cluster.node(node).restart().await;
    }
    let mut pipe = cluster.pipe(pipe.id, pipe.leader);
    let problem = pipe.put_block(id, vec![first], true).await.unwrap_err();
    assert_eq!(problem.code(), Some(ResultCode::BlockAlreadyFinalized));
    cluster.stop().await;
}
