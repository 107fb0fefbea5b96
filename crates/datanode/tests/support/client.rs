//! A client of DataNodes over the framed endpoint.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use container::checksum;
use framed::{CallError, Client, ClientOptions, Code};
use proto::datanode as dn;
use proto::datanode::{
    ChecksumType, ChunkInfo, ContainerCommandRequestProto, ContainerCommandResponseProto,
    Result as ResultCode, Type,
};
use types::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};

const TIMEOUT: Duration = testkit::LIMIT;

pub fn block(container: u64, local: u64) -> BlockId {
    BlockId::new(ContainerId(container), LocalId(local))
}

/// Bytes that differ from seed to seed and from place to place.
pub fn bytes(seed: u64, len: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(len);
    out.into()
}

pub fn chunk_info(block: BlockId, number: usize, offset: u64, data: &[u8]) -> ChunkInfo {
    ChunkInfo {
        chunk_name: format!("{}_chunk_{number}", block.local),
        offset,
        len: data.len() as u64,
        metadata: Vec::new(),
        checksum_data: checksum::compute(ChecksumType::Crc32, 16 << 10, data),
        stripe_checksum: None,
    }
}

pub fn block_data(block: BlockId, chunks: Vec<ChunkInfo>) -> dn::BlockData {
    let size = chunks.iter().map(|chunk| chunk.len as i64).sum();
    dn::BlockData {
        block_id: block.to_datanode(0),
        flags: None,
        metadata: vec![dn::KeyValue { key: "TYPE".into(), value: Some("KEY".into()) }],
        chunks,
        size: Some(size),
    }
}

/// Error of a command; the text is for failing tests.
#[derive(Debug)]
pub enum Problem {
    Call(CallError),
    Failed(ResultCode, #[allow(dead_code)] String),
}

impl Problem {
    pub fn code(&self) -> Option<ResultCode> {
        match self {
            Self::Failed(code, _) => Some(*code),
            Self::Call(_) => None,
        }
    }

    pub fn status(&self) -> Option<Code> {
        match self {
            Self::Call(error) => error.code(),
            Self::Failed(..) => None,
        }
    }
}

pub type Done<T> = Result<T, Problem>;

/// One pipeline, seen by a writer and reader.
pub struct Pipe {
    pub id: PipelineId,
    pub nodes: HashMap<DatanodeId, Client>,
    pub leader: DatanodeId,
}

impl Pipe {
    pub fn new(id: PipelineId, nodes: &[(DatanodeId, String)], leader: DatanodeId) -> Self {
        let options = ClientOptions { connections: 1, ..Default::default() };
        let client = |address: &String| Client::new(address.as_str(), options.clone());
        let nodes = nodes.iter().map(|(node, address)| (*node, client(address))).collect();
        Self { id, nodes, leader }
    }

    fn request(&self, kind: Type, container: ContainerId) -> ContainerCommandRequestProto {
        ContainerCommandRequestProto {
            cmd_type: kind as i32,
            container_id: container.to_wire(),
            datanode_uuid: self.leader.to_string(),
            pipeline_id: Some(self.id.to_string()),
            ..Default::default()
        }
    }

    pub async fn send(
        &self,
        to: DatanodeId,
        request: ContainerCommandRequestProto,
        payload: Bytes,
    ) -> Done<(ContainerCommandResponseProto, Bytes)> {
        let call = framed::message::call_with_payload::<_, ContainerCommandResponseProto>(
            &self.nodes[&to],
            proto::method::CONTAINER,
            &request,
            payload,
            TIMEOUT,
        );
        let (response, payload) = call.await.map_err(Problem::Call)?;
        match response.result() {
            ResultCode::Success => Ok((response, payload)),
            code => Err(Problem::Failed(code, response.message().to_owned())),
        }
    }

    /// Sends to the leader, whichever node that is by now.
    pub async fn to_leader(
        &mut self,
        request: ContainerCommandRequestProto,
        payload: Bytes,
    ) -> Done<ContainerCommandResponseProto> {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        loop {
            let sent = self.send(self.leader, request.clone(), payload.clone()).await;
            let problem = match sent {
                Ok((response, _)) => return Ok(response),
                Err(problem @ Problem::Failed(..)) => return Err(problem),
                Err(problem) => problem,
            };
            if tokio::time::Instant::now() > deadline {
                return Err(problem);
            }
            let Problem::Call(error) = &problem else { return Err(problem) };
            let hint = error.status().and_then(|s| s.hint()).and_then(|hint| hint.parse().ok());
            let others = self.nodes.keys().copied().filter(|id| *id != self.leader);
            let next = hint.filter(|id| self.nodes.contains_key(id)).or_else(|| others.max());
            if let Some(next) = next {
                let mut ids: Vec<_> = self.nodes.keys().copied().collect();
                ids.sort_unstable();
                let at = ids.iter().position(|id| *id == self.leader).unwrap();
                self.leader = hint.map_or(ids[(at + 1) % ids.len()], |_| next);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Writes a small file; the block id has its commit sequence id.
    pub async fn put_small(&mut self, block: BlockId, data: Bytes) -> Done<BlockId> {
        let chunk = chunk_info(block, 1, 0, &data);
        let mut request = self.request(Type::PutSmallFile, block.container);
        request.put_small_file = Some(dn::PutSmallFileRequestProto {
            block: dn::PutBlockRequestProto {
                block_data: block_data(block, vec![chunk.clone()]),
                eof: Some(true),
            },
            chunk_info: chunk,
            data: Bytes::new(),
        });
        let len = data.len();
        let response = self.to_leader(request, data).await?;
        let committed = response.put_small_file.unwrap().committed_block_length;
        assert_eq!(committed.block_length, len as i64);
        Ok(BlockId::from_datanode(&committed.block_id))
    }

    pub async fn write_chunk(
        &mut self,
        block: BlockId,
        chunk: &ChunkInfo,
        data: Bytes,
    ) -> Done<()> {
        let mut request = self.request(Type::WriteChunk, block.container);
        request.write_chunk = Some(dn::WriteChunkRequestProto {
            block_id: block.to_datanode(0),
            chunk_data: Some(chunk.clone()),
            data: None,
            block: None,
        });
        self.to_leader(request, data).await.map(|_| ())
    }

    pub async fn put_block(
        &mut self,
        block: BlockId,
        chunks: Vec<ChunkInfo>,
        eof: bool,
    ) -> Done<BlockId> {
        let mut request = self.request(Type::PutBlock, block.container);
        let size: u64 = chunks.iter().map(|chunk| chunk.len).sum();
        request.put_block = Some(dn::PutBlockRequestProto {
            block_data: block_data(block, chunks),
            eof: Some(eof),
        });
        let response = self.to_leader(request, Bytes::new()).await?;
        let committed = response.put_block.unwrap().committed_block_length;
        assert_eq!(committed.block_length as u64, size);
        Ok(BlockId::from_datanode(&committed.block_id))
    }

    /// Writes a block in chunks of `chunk` bytes.
    pub async fn put_large(&mut self, block: BlockId, data: &Bytes, chunk: usize) -> Done<BlockId> {
        let mut chunks = Vec::new();
        for (number, start) in (0..data.len()).step_by(chunk).enumerate() {
            let part = data.slice(start..data.len().min(start + chunk));
            let info = chunk_info(block, number + 1, start as u64, &part);
            self.write_chunk(block, &info, part).await?;
            chunks.push(info);
        }
        self.put_block(block, chunks, true).await
    }

    pub async fn get_block(&self, from: DatanodeId, block: BlockId) -> Done<dn::BlockData> {
        let mut request = self.request(Type::GetBlock, block.container);
        request.get_block = Some(dn::GetBlockRequestProto { block_id: block.to_datanode(0) });
        let (response, _) = self.send(from, request, Bytes::new()).await?;
        Ok(response.get_block.unwrap().block_data)
    }

    pub async fn read_chunk(
        &self,
        from: DatanodeId,
        block: BlockId,
        chunk: &ChunkInfo,
    ) -> Done<Bytes> {
        let mut request = self.request(Type::ReadChunk, block.container);
        request.read_chunk = Some(dn::ReadChunkRequestProto {
            block_id: block.to_datanode(0),
            chunk_data: chunk.clone(),
            read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
        });
        let (_, data) = self.send(from, request, Bytes::new()).await?;
        checksum::verify(&chunk.checksum_data, &data).unwrap();
        Ok(data)
    }

    /// Reads a whole block by its chunks.
    pub async fn get_large(&self, from: DatanodeId, block: BlockId) -> Done<Bytes> {
        let data = self.get_block(from, block).await?;
        let mut all = Vec::new();
        for chunk in &data.chunks {
            all.extend_from_slice(&self.read_chunk(from, block, chunk).await?);
        }
        Ok(all.into())
    }

    pub async fn get_small(&self, from: DatanodeId, block: BlockId) -> Done<Bytes> {
        let mut request = self.request(Type::GetSmallFile, block.container);
        request.get_small_file = Some(dn::GetSmallFileRequestProto {
            block: dn::GetBlockRequestProto { block_id: block.to_datanode(0) },
            read_chunk_version: None,
        });
        let (response, data) = self.send(from, request, Bytes::new()).await?;
        let chunk = response.get_small_file.unwrap().data.chunk_data;
        checksum::verify(&chunk.checksum_data, &data).unwrap();
        Ok(data)
    }

    /// Reads until a replica has caught up with a commit.
    pub async fn eventually<T, F>(&self, mut read: impl FnMut() -> F) -> T
    where
        F: Future<Output = Done<T>>,
    {
        testkit::until("a replica to catch up", async || read().await).await
    }

    pub async fn simple(
        &self,
        to: DatanodeId,
        kind: Type,
        container: u64,
        fill: impl FnOnce(&mut ContainerCommandRequestProto),
    ) -> Done<ContainerCommandResponseProto> {
        let mut request = self.request(kind, ContainerId(container));
        fill(&mut request);
        self.send(to, request, Bytes::new()).await.map(|(response, _)| response)
    }
}
