//! A hostile process: it sends bytes that are no message, empty frames, and requests with absurd
//! numbers. Other clients must not be affected.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use client::{BucketSpec, Client};
use framed::ClientPool;
use prost::Message;
use proto::datanode as dn;
use proto::ozone::{CommitKeyRequest, CreateKeyRequest, KeyArgs, KeyLocation, OmRequest, Type};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use types::{BlockId, Pipeline, PortName};

use super::Board;
use super::client::{Reads, VOLUME, connect};
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use crate::scenario::process::on_runtime;
use crate::world::node::address;
use crate::world::random::Random;

/// Bucket of the hostile client.
const BUCKET: &str = "stranger";
/// Between two messages at most, in milliseconds.
const MAX_INTERVAL: u64 = 2_000;
/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Method numbers of framed servers are below this.
const METHODS: u64 = 24;
/// Connections that are opened, given a few bytes and kept.
const IDLE_CONNECTIONS: usize = 16;

/// Ports of SCMs, OMs and DataNodes.
const PORTS: [&[u16]; 3] = [&[9860, 9861, 9863, 9894], &[9862, 9872], &[9870, 9859, 9858]];

/// An absurd number.
fn absurd(random: &mut Random) -> u64 {
    let near = random.below(3);
    *random.pick(&[u64::MAX - near, (1 << 63) - near, (1 << 63) + near, 1 << 50, 1 << 33])
}

fn bytes(random: &mut Random, most: u64) -> Bytes {
    (0..random.below(most)).map(|_| random.next() as u8).collect::<Vec<u8>>().into()
}

/// Any server's port.
fn target(random: &mut Random) -> String {
    let number = random.below((SCMS + OMS + DATANODES) as u64) as usize;
    let kind = usize::from(number >= SCMS) + usize::from(number >= SCMS + OMS);
    format!("{}:{}", address(1 + number), random.pick(PORTS[kind]))
}

/// Process of the hostile client.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        let pool = ClientPool::new(framed::ClientOptions::default());
        let mut kept = Vec::new();
        let random = &mut random;
        while !board.stop.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(random.below(MAX_INTERVAL))).await;
            match random.below(4) {
                0 => noise(random, &mut kept).await,
                1 => {
                    let (to, method) = (target(random), random.below(METHODS) as u16);
                    let (header, payload) = (bytes(random, 200), bytes(random, 200));
                    let _ = pool.get(&to).call(method, header, payload, TIMEOUT).await;
                }
                _ => absurd_key(&client, &pool, random).await,
            }
        }
    });
}

/// Bytes that are no message; some connections stay open.
async fn noise(random: &mut Random, kept: &mut Vec<TcpStream>) {
    let to = target(random);
    let connected = tokio::time::timeout(TIMEOUT, TcpStream::connect(&to)).await;
    let Ok(Ok(mut stream)) = connected else { return };
    let opening = *random.pick(&["", "O3F1", "hrpc\x09\0\0", "PRI * HTTP/2.0\r\n\r\n"]);
    let _ = stream.write_all(opening.as_bytes()).await;
    let _ = tokio::time::timeout(TIMEOUT, stream.write_all(&bytes(random, 3000))).await;
    if random.one_in(2) {
        kept.push(stream);
        if kept.len() > IDLE_CONNECTIONS {
            kept.remove(0);
        }
    }
}

/// A key with absurd numbers in each step of its life.
async fn absurd_key(client: &Client, pool: &ClientPool, random: &mut Random) {
    let _ = client.create_bucket(VOLUME, BUCKET, BucketSpec::default()).await;
    let args = KeyArgs {
        volume_name: VOLUME.to_owned(),
        bucket_name: BUCKET.to_owned(),
        key_name: format!("key-{}", random.below(4)),
        data_size: random.one_in(4).then(|| absurd(random)),
        r#type: Some(proto::hdds::ReplicationType::Ratis as i32),
        factor: Some(proto::hdds::ReplicationFactor::Three as i32),
        ..KeyArgs::default()
    };
    let create = CreateKeyRequest { key_args: args.clone(), client_id: None };
    let create = OmRequest {
        cmd_type: Type::CreateKey as i32,
        create_key_request: Some(Box::new(create)),
        ..OmRequest::default()
    };
    let created = client.submit(create).await.ok().and_then(|answer| answer.create_key_response);
    let Some(created) = created else { return };
    let session = created.id.unwrap_or(random.next());
    let mut places: Vec<KeyLocation> = Vec::new();
    for list in created.key_info.into_iter().flat_map(|info| info.key_location_list) {
        places.extend(list.key_locations);
    }
    for place in &places {
        absurd_block(place, pool, random).await;
    }
    for place in &mut places {
        if random.one_in(2) {
            place.length = absurd(random);
        }
        if random.one_in(2) {
            place.offset = absurd(random);
        }
    }
    let args = KeyArgs { data_size: Some(absurd(random)), key_locations: places, ..args };
    let commit = CommitKeyRequest {
        key_args: args,
        client_id: session,
        hsync: Some(false),
        recovery: Some(false),
    };
    let commit = OmRequest {
        cmd_type: Type::CommitKey as i32,
        commit_key_request: Some(Box::new(commit)),
        ..OmRequest::default()
    };
    let answer = client.submit(commit).await;
    tracing::debug!(?answer, "an absurd key");
}

/// A block with absurd numbers.
async fn absurd_block(place: &KeyLocation, pool: &ClientPool, random: &mut Random) {
    let pipeline = place.pipeline.as_ref().and_then(|wire| Pipeline::from_wire(wire).ok());
    let Some(pipeline) = pipeline.filter(|pipeline| !pipeline.members.is_empty()) else { return };
    let node = random.pick(&pipeline.members);
    let Some(to) = node.address(&PortName::Native) else { return };
    let block_id = BlockId::from_wire(&place.block_id).to_datanode(0);
    let number = |random: &mut Random| match random.one_in(2) {
        true => absurd(random),
        false => random.below(1000),
    };
    let chunk = |random: &mut Random| dn::ChunkInfo {
        chunk_name: "chunk".to_owned(),
        offset: number(random),
        len: number(random),
        metadata: Vec::new(),
        checksum_data: dn::ChecksumData {
            r#type: dn::ChecksumType::Crc32 as i32,
            bytes_per_checksum: *random.pick(&[0, 1, 16 << 10, u32::MAX]),
            checksums: vec![bytes(random, 9)],
        },
        stripe_checksum: None,
    };
    let chunks: Vec<_> = (0..random.below(4)).map(|_| chunk(random)).collect();
    let block_data = dn::BlockData {
        block_id,
        flags: None,
        metadata: Vec::new(),
        chunks,
        size: Some(number(random) as i64),
    };
    let put_block = dn::PutBlockRequestProto { block_data, eof: Some(random.one_in(2)) };
    let mut command = dn::ContainerCommandRequestProto {
        container_id: block_id.container_id,
        datanode_uuid: node.id.to_string(),
        pipeline_id: Some(pipeline.id.to_string()),
        ..Default::default()
    };
    let payload = bytes(random, 600);
    match random.below(3) {
        0 => {
            command.cmd_type = dn::Type::PutBlock as i32;
            command.put_block = Some(put_block);
        }
        1 => {
            command.cmd_type = dn::Type::WriteChunk as i32;
            command.write_chunk = Some(dn::WriteChunkRequestProto {
                block_id,
                chunk_data: Some(chunk(random)),
                data: None,
                block: random.one_in(2).then_some(put_block),
            });
        }
        _ => {
            command.cmd_type = dn::Type::PutSmallFile as i32;
            command.put_small_file = Some(dn::PutSmallFileRequestProto {
                block: put_block,
                chunk_info: chunk(random),
                data: Bytes::new(),
            });
        }
    }
    let header = command.encode_to_vec().into();
    let answer = pool.get(&to).call(proto::method::CONTAINER, header, payload, TIMEOUT).await;
    tracing::debug!(?answer, "an absurd block");
}
