//! Writes, and reads on every replica.

use proto::datanode::{self as dn, Result as ResultCode, Type};
use types::DatanodeId;

use crate::support::{Cluster, block, bytes, chunk_info};

const CHUNK: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_block_is_read_back_from_every_replica() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    // The last chunk fills no page.
    let data = bytes(1, 3 * CHUNK + 12_345);
    let id = pipe.put_large(block(1, 11), &data, CHUNK).await.unwrap();
    assert!(id.bcsid > 0);
    for node in cluster.ids() {
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, data, "replica on {node}");
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_are_read_back_from_every_replica() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let mut written = Vec::new();
    // Tiny, of a page, unaligned, as large as the limit of packing, larger.
    for (n, len) in [1, 4096, 10_000, 64 << 10, (64 << 10) + 1, 300_000].into_iter().enumerate() {
        let data = bytes(n as u64, len);
        let id = pipe.put_small(block(1, n as u64 + 1), data.clone()).await.unwrap();
        written.push((id, data));
    }
    for node in cluster.ids() {
        for (id, data) in &written {
            let got = pipe.eventually(|| pipe.get_large(node, *id)).await;
            assert_eq!(got, data, "{} bytes on {node}", data.len());
            if data.len() <= 64 << 10 {
                assert_eq!(pipe.get_small(node, *id).await.unwrap(), data);
            }
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_of_one_takes_writes() {
    let cluster = Cluster::start(1).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(3, 2 * CHUNK);
    let large = pipe.put_large(block(5, 1), &data, CHUNK).await.unwrap();
    let small = pipe.put_small(block(5, 2), data.slice(..100)).await.unwrap();
    assert!(small.bcsid > large.bcsid);
    let node = cluster.ids()[0];
    assert_eq!(pipe.get_large(node, large).await.unwrap(), data);
    assert_eq!(pipe.get_small(node, small).await.unwrap(), data.slice(..100));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_overtakes_its_chunks_waits_for_them() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(4, 8 * CHUNK);
    let id = block(2, 1);
    let parts: Vec<_> = (0..8)
        .map(|n| {
            let part = data.slice(n * CHUNK..(n + 1) * CHUNK);
            (chunk_info(id, n + 1, (n * CHUNK) as u64, &part), part)
        })
        .collect();
    // Everything at once, the put last, over one connection.
    let mut calls = Vec::new();
    for (info, part) in &parts {
        let mut one = cluster.pipe(pipe.id, pipe.leader);
        one.nodes = pipe.nodes.clone();
        let (info, part) = (info.clone(), part.clone());
        calls.push(tokio::spawn(async move { one.write_chunk(id, &info, part).await }));
        tokio::task::yield_now().await;
    }
    let infos = parts.iter().map(|(info, _)| info.clone()).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let id = pipe.put_block(id, infos, true).await.unwrap();
    for node in cluster.ids() {
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, data);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_grows_with_every_put() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(5, 3 * CHUNK);
    let mut infos = Vec::new();
    let mut last = 0;
    for n in 0..3 {
        let part = data.slice(n * CHUNK..(n + 1) * CHUNK);
        let info = chunk_info(block(3, 1), n + 1, (n * CHUNK) as u64, &part);
        pipe.write_chunk(block(3, 1), &info, part).await.unwrap();
        infos.push(info);
        let id = pipe.put_block(block(3, 1), infos.clone(), n == 2).await.unwrap();
        assert!(id.bcsid > last);
        last = id.bcsid;
        for node in cluster.ids() {
            let read = pipe.eventually(|| pipe.get_large(node, id)).await;
            assert_eq!(read, data.slice(..(n + 1) * CHUNK));
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_of_a_chunk_that_was_never_written_is_refused() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(6, 5000);
    pipe.put_small(block(1, 1), data.clone()).await.unwrap();
    let info = chunk_info(block(1, 2), 1, 0, &data);
    let problem = pipe.put_block(block(1, 2), vec![info], true).await.unwrap_err();
    assert!(problem.code().is_some(), "{problem:?}");
    // The pipeline goes on.
    pipe.put_small(block(1, 3), data).await.unwrap();
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_behind_or_lacks_the_block_says_so() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let id = pipe.put_small(block(1, 1), bytes(7, 100)).await.unwrap();
    let node = pipe.leader;
    let code = |problem: crate::support::Problem| problem.code();
    let later = types::BlockId { bcsid: id.bcsid + 1_000, ..id };
    let found = pipe.get_block(node, later).await.map_err(code);
    assert_eq!(found.unwrap_err(), Some(ResultCode::UnknownBcsid));
    let found = pipe.get_block(node, block(1, 99)).await.map_err(code);
    assert_eq!(found.unwrap_err(), Some(ResultCode::NoSuchBlock));
    let found = pipe.get_block(node, block(99, 1)).await.map_err(code);
    assert_eq!(found.unwrap_err(), Some(ResultCode::ContainerNotFound));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_chunks_are_refused_where_that_is_asked_for() {
    let cluster =
        Cluster::start_with(1, |conf| conf.with("hdds.datanode.chunk.data.validation.check", true))
            .await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(8, 5000);
    let info = chunk_info(block(1, 1), 1, 0, &data);
    let mut damaged = data.to_vec();
    damaged[4321] ^= 1;
    let problem = pipe.write_chunk(block(1, 1), &info, damaged.into()).await.unwrap_err();
    assert_eq!(problem.code(), Some(ResultCode::ChecksumMismatch));
    pipe.write_chunk(block(1, 1), &info, data.clone()).await.unwrap();
    let problem = pipe.write_chunk(block(1, 1), &info, data.slice(1..)).await.unwrap_err();
    assert_eq!(problem.code(), Some(ResultCode::InvalidWriteSize));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_and_blocks_are_listed() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    for container in [9, 4] {
        for local in 1..=5 {
            pipe.put_small(block(container, local), bytes(local, 50)).await.unwrap();
        }
    }
    let leader: DatanodeId = pipe.leader;
    let listed = pipe
        .simple(leader, Type::ListBlock, 4, |request| {
            request.list_block =
                Some(dn::ListBlockRequestProto { start_local_id: Some(2), count: 3 });
        })
        .await
        .unwrap();
    let listed: Vec<_> =
        listed.list_block.unwrap().block_data.iter().map(|block| block.block_id.local_id).collect();
    assert_eq!(listed, [2, 3, 4]);
    let read = pipe.simple(leader, Type::ReadContainer, 9, |_| ()).await.unwrap();
    let container = read.read_container.unwrap().container_data.unwrap();
    assert_eq!((container.container_id, container.block_count), (9, Some(5)));
    let listed = pipe.simple(leader, Type::ListContainer, 5, |_| ()).await.unwrap();
    let listed = listed.list_container.unwrap().container_data;
    assert_eq!(listed.iter().map(|c| c.container_id).collect::<Vec<_>>(), [9]);
    let length = pipe
        .simple(leader, Type::GetCommittedBlockLength, 4, |request| {
            request.get_committed_block_length = Some(dn::GetCommittedBlockLengthRequestProto {
                block_id: block(4, 1).to_datanode(0),
            });
        })
        .await
        .unwrap();
    assert_eq!(length.get_committed_block_length.unwrap().block_length, 50);
    let unsupported = pipe.simple(leader, Type::CompactChunk, 4, |_| ()).await.unwrap_err();
    assert_eq!(unsupported.code(), Some(ResultCode::UnsupportedRequest));
    cluster.stop().await;
}
