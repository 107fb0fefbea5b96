//! Commands with impossible numbers: the DataNodes keep running, and their data stays intact.

use bytes::Bytes;
use proto::datanode as dn;
use proto::datanode::{
    BlockData, ChecksumData, ChecksumType, ChunkInfo, ContainerCommandRequestProto,
    DatanodeBlockId, Type,
};
use proto::scm_datanode::container_replica_proto::State;
use types::BlockId;

use crate::grpc::Grpc;
use crate::support::{Cluster, Pipe, block, bytes, chunk_info};

/// The blocks that must not suffer are 1 and 2; those of the generated commands are others.
const LENGTHS: [u64; 12] = [
    0,
    1,
    100,
    70_000,
    32 << 20,
    (32 << 20) + 1,
    1 << 32,
    1 << 50,
    1 << 62,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];
const PAYLOADS: [usize; 4] = [0, 1, 100, 70_000];

/// Always the same choices.
struct Choices(u64);

impl Choices {
    fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.number() % all.len() as u64) as usize]
    }

    fn block_id(&mut self) -> DatanodeBlockId {
        DatanodeBlockId {
            container_id: self.of(&[1, 1, 1, 1, 0, -1, i64::MIN]),
            local_id: self.of(&[50, 51, 52, 0, -1, i64::MIN, i64::MAX]),
            block_commit_sequence_id: self.of(&[None, Some(0), Some(u64::MAX)]),
            replica_index: self.of(&[None, None, Some(0), Some(1), Some(-1), Some(i32::MAX)]),
        }
    }

    fn chunk(&mut self, payload: usize) -> ChunkInfo {
        let len = match self.of(&[true, false]) {
            true => payload as u64,
            false => self.of(&LENGTHS),
        };
        let sum = Bytes::from(vec![7; self.of(&[0, 4, 7])]);
        ChunkInfo {
            chunk_name: "c".into(),
            offset: self.of(&[0, 0, 0, 1, 4096, 1 << 30, 1 << 50, i64::MAX as u64, u64::MAX]),
            len,
            checksum_data: ChecksumData {
                r#type: self.of(&[ChecksumType::None as i32, ChecksumType::Crc32 as i32, 99]),
                bytes_per_checksum: self.of(&[0, 1, 16 << 10, u32::MAX]),
                checksums: vec![sum; self.of(&[0, 1, 5])],
            },
            ..Default::default()
        }
    }

    fn put(&mut self, payload: usize) -> dn::PutBlockRequestProto {
        let count = self.of(&[0, 1, 1, 2, 3]);
        let incremental = dn::KeyValue { key: "incremental".into(), value: None };
        dn::PutBlockRequestProto {
            block_data: BlockData {
                block_id: self.block_id(),
                flags: self.of(&[None, Some(i64::MIN)]),
                metadata: vec![incremental; self.of(&[0, 0, 1])],
                chunks: (0..count).map(|_| self.chunk(payload)).collect(),
                size: self.of(&[None, Some(0), Some(100), Some(i64::MAX), Some(i64::MIN)]),
            },
            eof: self.of(&[None, Some(true), Some(false)]),
        }
    }

    fn command(&mut self) -> (ContainerCommandRequestProto, Bytes) {
        let payload = self.of(&PAYLOADS);
        let mut request = ContainerCommandRequestProto::default();
        let kind =
            self.of(&[Type::WriteChunk, Type::PutBlock, Type::PutSmallFile, Type::CreateContainer]);
        request.cmd_type = kind as i32;
        let mut data = bytes(9, payload);
        match kind {
            Type::WriteChunk => {
                let block = match self.of(&[true, false]) {
                    true => Some(self.put(payload)),
                    false => None,
                };
                request.write_chunk = Some(dn::WriteChunkRequestProto {
                    block_id: self.block_id(),
                    chunk_data: Some(self.chunk(payload)),
                    data: None,
                    block,
                });
                request.container_id = request.write_chunk.as_ref().unwrap().block_id.container_id;
            }
            Type::PutBlock => {
                data = Bytes::new();
                let put = self.put(payload);
                request.container_id = put.block_data.block_id.container_id;
                request.put_block = Some(put);
            }
            Type::PutSmallFile => {
                let block = self.put(payload);
                request.container_id = block.block_data.block_id.container_id;
                let chunk_info = self.chunk(payload);
                let small = dn::PutSmallFileRequestProto { block, chunk_info, data: Bytes::new() };
                request.put_small_file = Some(small);
            }
            _ => {
                request.container_id = self.of(&[1, 0, -1, i64::MIN]);
                let replica_index = self.of(&[None, Some(1), Some(i32::MIN)]);
                request.create_container =
                    Some(dn::CreateContainerRequestProto { replica_index, ..Default::default() });
            }
        }
        (request, data)
    }

    /// A read of a block that is there.
    fn read(&mut self, id: BlockId) -> ContainerCommandRequestProto {
        let kind = self.of(&[
            Type::ReadChunk,
            Type::ListBlock,
            Type::ListContainer,
            Type::Echo,
            Type::GetBlock,
        ]);
        let mut request = ContainerCommandRequestProto {
            cmd_type: kind as i32,
            container_id: 1,
            ..Default::default()
        };
        let mut asked = id.to_datanode(0);
        asked.block_commit_sequence_id = self.of(&[None, Some(0), Some(u64::MAX)]);
        match kind {
            Type::ReadChunk => {
                let chunk_data = self.chunk(100);
                request.read_chunk = Some(dn::ReadChunkRequestProto {
                    block_id: asked,
                    chunk_data,
                    read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
                });
            }
            Type::ListBlock => {
                request.list_block = Some(dn::ListBlockRequestProto {
                    start_local_id: self.of(&[None, Some(i64::MIN), Some(i64::MAX), Some(-1)]),
                    count: self.of(&[0, 1, u32::MAX]),
                });
            }
            Type::ListContainer => {
                let count = self.of(&[None, Some(u32::MAX)]);
                request.list_container = Some(dn::ListContainerRequestProto { count });
            }
            Type::Echo => {
                request.echo = Some(dn::EchoRequestProto {
                    payload_size_resp: self.of(&[None, Some(1), Some(-1), Some(i32::MAX)]),
                    ..Default::default()
                });
            }
            _ => request.get_block = Some(dn::GetBlockRequestProto { block_id: asked }),
        }
        request
    }
}

/// The container is as it was on every replica, and takes what comes next.
async fn check(cluster: &Cluster, pipe: &mut Pipe, good: &[(BlockId, Bytes)]) {
    let more = bytes(77, 500);
    let next = pipe.put_small(block(1, 3), more.clone()).await.unwrap();
    for node in cluster.ids() {
        for (id, data) in good.iter().chain([&(next, more.clone())]) {
            assert_eq!(pipe.eventually(|| pipe.get_large(node, *id)).await, data, "{id} on {node}");
        }
        let container = pipe.simple(node, Type::ReadContainer, 1, |request| {
            request.read_container = Some(Default::default());
        });
        let container = container.await.unwrap().read_container.unwrap().container_data.unwrap();
        assert_eq!(container.state(), dn::container_data_proto::State::Open, "on {node}");
    }
    let healthy = cluster.scm.scm.with(|known| {
        let mut states = known.replicas.values().map(|replica| replica.state());
        states.all(|state| state != State::Unhealthy)
    });
    assert!(healthy, "a replica is unhealthy");
}

async fn good_blocks(pipe: &mut Pipe) -> Vec<(BlockId, Bytes)> {
    let (small, large) = (bytes(1, 700), bytes(2, 3 << 20));
    let small = (pipe.put_small(block(1, 1), small.clone()).await.unwrap(), small);
    let large = (pipe.put_large(block(1, 2), &large, 1 << 20).await.unwrap(), large);
    vec![small, large]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_file_that_claims_more_than_its_bytes_is_refused() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let good = good_blocks(&mut pipe).await;
    let (id, data) = (block(1, 50), bytes(5, 1000));
    for claimed in [1001, 1 << 20, 1 << 50, i64::MAX as u64] {
        let chunk = chunk_info(id, 1, 0, &data);
        let listed = ChunkInfo { len: claimed, ..chunk.clone() };
        let mut request = ContainerCommandRequestProto {
            cmd_type: Type::PutSmallFile as i32,
            container_id: 1,
            pipeline_id: Some(pipe.id.to_string()),
            ..Default::default()
        };
        request.put_small_file = Some(dn::PutSmallFileRequestProto {
            block: dn::PutBlockRequestProto {
                block_data: BlockData {
                    block_id: id.to_datanode(0),
                    chunks: vec![listed],
                    ..Default::default()
                },
                eof: Some(true),
            },
            chunk_info: chunk,
            data: Bytes::new(),
        });
        let problem = pipe.send(pipe.leader, request, data.clone()).await.unwrap_err();
        assert_eq!(problem.code(), Some(dn::Result::InvalidArgument), "{claimed}: {problem:?}");
        pipe.get_large(pipe.leader, id).await.unwrap_err();
    }
    check(&cluster, &mut pipe, &good).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_chunks_that_cannot_be_is_refused() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let good = good_blocks(&mut pipe).await;
    let id = block(1, 50);
    for len in [1 << 40, 1 << 50, i64::MAX as u64, u64::MAX] {
        let chunk = ChunkInfo { len, ..chunk_info(id, 1, 0, b"x") };
        let problem = pipe.put_block(id, vec![chunk], true).await.unwrap_err();
        assert_eq!(problem.code(), Some(dn::Result::InvalidArgument), "{len}: {problem:?}");
    }
    check(&cluster, &mut pipe, &good).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_with_extreme_numbers_do_no_harm() {
    let cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let good = good_blocks(&mut pipe).await;
    let mut grpc = Grpc::connect(&cluster, pipe.leader).await;
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    for number in 0..400 {
        let (mut request, data) = choices.command();
        // With the pipeline's name, and without: then the container says which it is.
        request.pipeline_id = choices.of(&[true, false]).then(|| pipe.id.to_string());
        match number % 2 {
            // Whatever is answered, an answer comes.
            0 => _ = pipe.send(pipe.leader, request, data).await,
            _ => {
                match (&mut request.write_chunk, &mut request.put_small_file) {
                    (Some(write), _) => write.data = Some(data),
                    (_, Some(small)) => small.data = data,
                    _ => {}
                }
                grpc.send(request).await;
            }
        }
        let (id, _) = good[number % 2];
        _ = pipe.send(pipe.leader, choices.read(id), Bytes::new()).await;
    }
    check(&cluster, &mut pipe, &good).await;
    cluster.stop().await;
}
