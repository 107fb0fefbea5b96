//! Erasure-coded containers as Ozone's clients write them: each replica by itself.

use std::time::Duration;

use bytes::Bytes;
use container::checksum;
use erasure::{Codec, Scheme};
use framed::{Client, ClientOptions};
use proto::datanode as dn;
use proto::datanode::container_data_proto::State as ContainerState;
use proto::datanode::{ChecksumType, ContainerCommandRequestProto, ContainerCommandResponseProto};
use proto::scm_datanode::container_replica_proto::State;
use types::replication::EcConfig;
use types::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};

use super::Cluster;

const TIMEOUT: Duration = testkit::LIMIT;

/// Bytes per checksum.
const SLICE: u32 = 4 << 10;

/// A container of block groups: replica index i on the i-th node.
pub struct Groups {
    pub config: EcConfig,
    pub scheme: Scheme,
    pub container: u64,
    pub nodes: Vec<DatanodeId>,
    clients: Vec<Client>,
}

/// A replica of a block as a reader finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replica {
    pub row: dn::BlockData,
    pub bytes: Vec<u8>,
}

/// Options of writing a group: by default as an undisturbed client does.
#[derive(Default, Clone, Copy)]
pub struct Writing<'a> {
    /// Only these replicas receive the last stripe.
    pub last_only: Option<&'a [u32]>,
    /// Only these replicas receive anything.
    pub only: Option<&'a [u32]>,
    /// No checksums.
    pub bare: bool,
    /// A bit of each parity cell differs from the encoded one, and its checksums match the altered
    /// cell: as if the writer's memory failed.
    pub wrong_parity: bool,
}

impl Groups {
    /// A container on the first nodes of the cluster; nothing is written yet.
    pub fn new(cluster: &Cluster, container: u64, config: &str) -> Self {
        let config: EcConfig = config.parse().unwrap();
        let scheme = Scheme::new(config).unwrap();
        let nodes = cluster.ids()[..scheme.total()].to_vec();
        let options = ClientOptions { connections: 1, ..Default::default() };
        let client = |node: &super::Node| Client::new(node.address(), options.clone());
        let clients = cluster.nodes.iter().take(scheme.total()).map(client).collect();
        Self { config, scheme, container, nodes, clients }
    }

    /// The replicas with these indexes, as an order names them.
    pub fn members(&self, indexes: &[u32]) -> Vec<(u32, DatanodeId)> {
        indexes.iter().map(|index| (*index, self.nodes[*index as usize - 1])).collect()
    }

    /// Writes a block group stripe by stripe.
    pub async fn write(&self, local: u64, data: &[u8], how: Writing<'_>) {
        let (chunk, codec) = (self.scheme.chunk_size() as usize, Codec::new(self.scheme));
        let mut lists: Vec<Vec<dn::ChunkInfo>> = vec![Vec::new(); self.scheme.total()];
        let stripe_size = self.scheme.stripe_size() as usize;
        let count = data.len().div_ceil(stripe_size);
        let mut length = 0;
        for (number, stripe) in data.chunks(stripe_size).enumerate() {
            let mut cells: Vec<Vec<u8>> = stripe.chunks(chunk).map(<[u8]>::to_vec).collect();
            cells.resize(self.scheme.data(), Vec::new());
            let mut parity = vec![vec![0; cells[0].len()]; self.scheme.parity()];
            let sources: Vec<&[u8]> = cells.iter().map(Vec::as_slice).collect();
            let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
            codec.encode(&sources, &mut out).unwrap();
            parity.iter_mut().for_each(|cell| cell[0] ^= u8::from(how.wrong_parity));
            cells.extend(parity);
            let kind = if how.bare { ChecksumType::None } else { ChecksumType::Crc32c };
            let sums: Vec<_> =
                cells.iter().map(|cell| checksum::compute(kind, SLICE, cell)).collect();
            let all: Vec<u8> =
                sums.iter().flat_map(|sums| sums.checksums.iter().flatten().copied()).collect();
            for (position, (cell, sums)) in cells.iter().zip(sums).enumerate() {
                let index = position as u32 + 1;
                if cell.is_empty() || how.only.is_some_and(|only| !only.contains(&index)) {
                    continue;
                }
                let keeps = position == 0 || position >= self.scheme.data();
                let info = dn::ChunkInfo {
                    chunk_name: format!("{local}_chunk_{}", number + 1),
                    offset: (number * chunk) as u64,
                    len: cell.len() as u64,
                    metadata: Vec::new(),
                    checksum_data: sums,
                    stripe_checksum: (keeps && !how.bare).then(|| all.clone().into()),
                };
                let mut request = self.request(index, dn::Type::WriteChunk);
                request.write_chunk = Some(dn::WriteChunkRequestProto {
                    block_id: self.block(local, index),
                    chunk_data: Some(dn::ChunkInfo { stripe_checksum: None, ..info.clone() }),
                    data: None,
                    block: None,
                });
                self.call(index, request, cell.clone().into()).await.unwrap();
                lists[position].push(info);
            }
            length += stripe.len();
            let is_last = number + 1 == count;
            for index in 1..=self.scheme.total() as u32 {
                let hears = |only: Option<&[u32]>| only.is_none_or(|only| only.contains(&index));
                if !hears(how.only) || is_last && !hears(how.last_only) {
                    continue;
                }
                let chunks = lists[index as usize - 1].clone();
                self.put(local, index, length, chunks, is_last).await;
            }
        }
    }

    /// Has a replica list chunks.
    pub async fn put(
        &self,
        local: u64,
        index: u32,
        length: usize,
        chunks: Vec<dn::ChunkInfo>,
        eof: bool,
    ) {
        let pair = |key: &str, value: String| dn::KeyValue { key: key.into(), value: Some(value) };
        let mut request = self.request(index, dn::Type::PutBlock);
        request.put_block = Some(dn::PutBlockRequestProto {
            block_data: dn::BlockData {
                block_id: self.block(local, index),
                flags: None,
                metadata: vec![
                    pair("TYPE", "KEY".into()),
                    pair("blockGroupLen", length.to_string()),
                ],
                chunks,
                size: None,
            },
            eof: Some(eof),
        });
        self.call(index, request, Bytes::new()).await.unwrap();
    }

    /// Returns a node's responses to a chunk and a PutBlock that are meant for another one.
    pub async fn misdirected(&self, local: u64, index: u32) -> [Option<dn::Result>; 2] {
        self.addressed(local, index, DatanodeId::random()).await
    }

    /// Returns a node's responses to a chunk and a PutBlock for the node `to`.
    pub async fn addressed(
        &self,
        local: u64,
        index: u32,
        to: DatanodeId,
    ) -> [Option<dn::Result>; 2] {
        let data = Bytes::from_static(b"misdirected");
        let info = dn::ChunkInfo {
            chunk_name: format!("{local}_chunk_1"),
            offset: 0,
            len: data.len() as u64,
            metadata: Vec::new(),
            checksum_data: checksum::compute(ChecksumType::Crc32c, SLICE, &data),
            stripe_checksum: None,
        };
        let mut write = self.request_to(to, dn::Type::WriteChunk);
        write.write_chunk = Some(dn::WriteChunkRequestProto {
            block_id: self.block(local, index),
            chunk_data: Some(info.clone()),
            data: None,
            block: None,
        });
        let mut put = self.request_to(to, dn::Type::PutBlock);
        put.put_block = Some(dn::PutBlockRequestProto {
            block_data: dn::BlockData {
                block_id: self.block(local, index),
                chunks: vec![info],
                ..Default::default()
            },
            eof: Some(true),
        });
        [self.call(index, write, data).await.err(), self.call(index, put, Bytes::new()).await.err()]
    }

    /// A node begins a replica as a coordinator of Ozone's does, with one block, and is left alone.
    pub async fn begin_recovering(&self, cluster: &Cluster, node: DatanodeId, index: u32) {
        let of_node = cluster.nodes.iter().find(|known| known.id == node).unwrap();
        let client = Client::new(of_node.address(), ClientOptions::default());
        let mut create = self.request_to(node, dn::Type::CreateContainer);
        create.create_container = Some(dn::CreateContainerRequestProto {
            replica_index: Some(index as i32),
            state: Some(ContainerState::Recovering as i32),
            ..Default::default()
        });
        send(&client, create, Bytes::new()).await.unwrap();
        let data = Bytes::from_static(b"a beginning");
        let info = dn::ChunkInfo {
            chunk_name: "1_chunk_1".into(),
            offset: 0,
            len: data.len() as u64,
            metadata: Vec::new(),
            checksum_data: checksum::compute(ChecksumType::Crc32c, SLICE, &data),
            stripe_checksum: None,
        };
        let mut write = self.request_to(node, dn::Type::WriteChunk);
        write.write_chunk = Some(dn::WriteChunkRequestProto {
            block_id: self.block(1, index),
            chunk_data: Some(info.clone()),
            data: None,
            block: None,
        });
        send(&client, write, data).await.unwrap();
        let mut put = self.request_to(node, dn::Type::PutBlock);
        put.put_block = Some(dn::PutBlockRequestProto {
            block_data: dn::BlockData {
                block_id: self.block(1, index),
                chunks: vec![info],
                ..Default::default()
            },
            eof: Some(true),
        });
        send(&client, put, Bytes::new()).await.unwrap();
    }

    /// SCM has the replicas with these indexes deleted.
    pub async fn lose(&self, cluster: &Cluster, indexes: &[u32]) {
        for (_, node) in self.members(indexes) {
            let (container, scm) = (self.container as i64, &cluster.scm.scm);
            scm.send_delete_container(node, container);
            scm.wait_for_replica(node, container, State::Deleted).await;
        }
    }

    /// Closes all replicas.
    pub async fn close(&self, cluster: &Cluster) {
        for node in &self.nodes {
            let (container, scm) = (self.container as i64, &cluster.scm.scm);
            scm.wait_for_replica(*node, container, State::Open).await;
            scm.send_close_container(*node, container, PipelineId::random(), false);
            scm.wait_for_replica(*node, container, State::Closed).await;
        }
    }

    /// A replica of a block on any node.
    pub async fn read(
        &self,
        cluster: &Cluster,
        node: DatanodeId,
        index: u32,
        local: u64,
    ) -> Result<Replica, dn::Result> {
        let of_node = cluster.nodes.iter().find(|known| known.id == node).unwrap();
        let client = Client::new(of_node.address(), ClientOptions::default());
        let mut request = self.request_to(node, dn::Type::GetBlock);
        request.get_block = Some(dn::GetBlockRequestProto { block_id: self.block(local, index) });
        let (response, _) = send(&client, request, Bytes::new()).await?;
        let row = response.get_block.unwrap().block_data;
        let mut bytes = Vec::new();
        for chunk in &row.chunks {
            let mut request = self.request_to(node, dn::Type::ReadChunk);
            request.read_chunk = Some(dn::ReadChunkRequestProto {
                block_id: self.block(local, index),
                chunk_data: chunk.clone(),
                read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
            });
            let (_, data) = send(&client, request, Bytes::new()).await?;
            checksum::verify(&chunk.checksum_data, &data).unwrap();
            assert_eq!(bytes.len() as u64, chunk.offset);
            bytes.extend_from_slice(&data);
        }
        Ok(Replica { row, bytes })
    }

    /// Returns the state that a node reports of its replica.
    pub async fn state(&self, cluster: &Cluster, node: DatanodeId) -> Option<ContainerState> {
        let of_node = cluster.nodes.iter().find(|known| known.id == node).unwrap();
        let client = Client::new(of_node.address(), ClientOptions::default());
        let mut request = self.request_to(node, dn::Type::ReadContainer);
        request.read_container = Some(dn::ReadContainerRequestProto {});
        let (response, _) = send(&client, request, Bytes::new()).await.ok()?;
        Some(response.read_container?.container_data?.state())
    }

    fn block(&self, local: u64, index: u32) -> dn::DatanodeBlockId {
        let id = BlockId::new(ContainerId(self.container), LocalId(local));
        id.to_datanode(index as i32)
    }

    fn request(&self, index: u32, kind: dn::Type) -> ContainerCommandRequestProto {
        self.request_to(self.nodes[index as usize - 1], kind)
    }

    fn request_to(&self, node: DatanodeId, kind: dn::Type) -> ContainerCommandRequestProto {
        ContainerCommandRequestProto {
            cmd_type: kind as i32,
            container_id: self.container as i64,
            datanode_uuid: node.to_string(),
            ..Default::default()
        }
    }

    async fn call(
        &self,
        index: u32,
        request: ContainerCommandRequestProto,
        payload: Bytes,
    ) -> Result<(), dn::Result> {
        send(&self.clients[index as usize - 1], request, payload).await.map(drop)
    }
}

async fn send(
    client: &Client,
    request: ContainerCommandRequestProto,
    payload: Bytes,
) -> Result<(ContainerCommandResponseProto, Bytes), dn::Result> {
    let method = proto::method::CONTAINER;
    let call = framed::message::call_with_payload::<_, ContainerCommandResponseProto>(
        client, method, &request, payload, TIMEOUT,
    );
    let (response, payload) = call.await.unwrap();
    match response.result() {
        dn::Result::Success => Ok((response, payload)),
        code => Err(code),
    }
}
