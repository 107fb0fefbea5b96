//! Coordinators of Ozone's protocol that fail halfway: they create a replica as RECOVERING on a
//! DataNode that has none, write some data to it, and stop.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use client::ScmClient;
use container::checksum;
use framed::ClientPool;
use proto::datanode as dn;
use proto::datanode::container_data_proto::State;
use types::{BlockId, ContainerId, DatanodeDetails, LocalId};

use super::board::{Board, connect, path};
use super::layout::Layout;
use crate::scenario::process::on_runtime;
use crate::scenario::replica::{Absent, call, command};
use crate::world::random::Random;

/// Between two of them at most, in seconds.
const INTERVAL: u64 = 30;
/// Bytes that a checksum is of.
const SLICE: u32 = 16 << 10;

/// One after the other.
pub fn work(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed ^ board.number().rotate_left(32));
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        let scm = ScmClient::connect(layout.client());
        let pool = ClientPool::new(framed::ClientOptions::default());
        loop {
            tokio::time::sleep(Duration::from_secs(random.range(5, INTERVAL))).await;
            board.while_quiet().await;
            let Some((number, _)) = board.any_key(&mut random) else { continue };
            let Ok(info) = client.key_info(&path(number)).await else { continue };
            let locations = info.key_location_list.iter().flat_map(|list| &list.key_locations);
            let Some(block) = locations.map(|l| BlockId::from_wire(&l.block_id)).next() else {
                continue;
            };
            let container = block.container;
            let Ok(replicas) = scm.replicas(container).await else { continue };
            let Ok(nodes) = scm.nodes(None, None).await else { continue };
            let details =
                |node: &proto::hdds::DatanodeDetailsProto| DatanodeDetails::from_wire(node).ok();
            let with: Vec<_> =
                replicas.iter().filter_map(|r| details(&r.datanode_details)).collect();
            let nodes = nodes.iter().filter_map(|node| details(&node.node_id));
            let without = |node: &DatanodeDetails| with.iter().all(|other| other.id != node.id);
            let nodes: Vec<DatanodeDetails> = nodes.filter(without).collect();
            if nodes.is_empty() {
                continue;
            }
            let node = random.pick(&nodes);
            let index = 1 + random.below(board.replicas().1 as u64);
            match begin(&pool, node, container, index as i32, block.local).await {
                Ok(()) => _ = board.idle.fetch_add(1, Ordering::Relaxed),
                Err(absent) => tracing::debug!(?absent, %container, "no replica was begun"),
            }
        }
    });
}

/// Begins a replica, with a block that is not what its writer had.
async fn begin(
    pool: &ClientPool,
    node: &DatanodeDetails,
    container: ContainerId,
    index: i32,
    local: LocalId,
) -> Result<(), Absent> {
    let create = dn::ContainerCommandRequestProto {
        cmd_type: dn::Type::CreateContainer as i32,
        create_container: Some(dn::CreateContainerRequestProto {
            replica_index: Some(index),
            state: Some(State::Recovering as i32),
            ..Default::default()
        }),
        ..command(node, container)
    };
    call(pool, node, create, Bytes::new()).await?;
    let data = Bytes::from_static(b"a beginning");
    let info = dn::ChunkInfo {
        chunk_name: format!("{local}_chunk_1"),
        offset: 0,
        len: data.len() as u64,
        metadata: Vec::new(),
        checksum_data: checksum::compute(dn::ChecksumType::Crc32c, SLICE, &data),
        stripe_checksum: None,
    };
    let block_id = BlockId::new(container, local).to_datanode(index);
    let write = dn::ContainerCommandRequestProto {
        cmd_type: dn::Type::WriteChunk as i32,
        write_chunk: Some(dn::WriteChunkRequestProto {
            block_id,
            chunk_data: Some(info.clone()),
            data: None,
            block: None,
        }),
        ..command(node, container)
    };
    call(pool, node, write, data).await?;
    let put = dn::ContainerCommandRequestProto {
        cmd_type: dn::Type::PutBlock as i32,
        put_block: Some(dn::PutBlockRequestProto {
            block_data: dn::BlockData { block_id, chunks: vec![info], ..Default::default() },
            eof: Some(true),
        }),
        ..command(node, container)
    };
    call(pool, node, put, Bytes::new()).await.map(drop)
}
