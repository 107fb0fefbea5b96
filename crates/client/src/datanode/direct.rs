//! Commands to DataNodes without keys and blocks of OM, for load generators of DataNodes.

use std::time::Duration;

use bytes::Bytes;
use config::Configuration;
use futures::future::BoxFuture;
use proto::datanode as dn;
use types::{BlockId, ContainerId, DatanodeDetails, DatanodeId, Pipeline};

use super::{Command, Datanodes, Failure, Target};
use crate::{ClientOptions, Error, Result};

/// Number of attempts of a command, on one member of a pipeline after the other, until its leader
/// accepts it.
const ATTEMPTS: usize = 20;
/// Pause before the next attempt: an election takes about a second.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A client of DataNodes. Clones share connections.
#[derive(Clone)]
pub struct DatanodeClient {
    datanodes: Datanodes,
    timeout: Duration,
}

impl DatanodeClient {
    /// A client with the timeouts of `conf`. Connections are opened on demand.
    pub fn connect(conf: &Configuration) -> Self {
        let options = ClientOptions::from_configuration(conf);
        Self {
            datanodes: Datanodes::new(options.connect_timeout, options.silence),
            timeout: options.write_timeout,
        }
    }

    /// Sends an echo request to a DataNode: it returns `answer_kb` KB, or those of `payload` if 0,
    /// after a pause.
    ///
    /// # Errors
    /// The DataNode's error, or a failure to reach it.
    pub fn echo<'a>(
        &'a self,
        node: &'a DatanodeDetails,
        container: ContainerId,
        payload: Bytes,
        answer_kb: i32,
        pause: Duration,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move {
            let request = dn::EchoRequestProto {
                payload: Some(payload),
                payload_size_resp: Some(answer_kb),
                sleep_time_ms: Some(i32::try_from(pause.as_millis()).unwrap_or(i32::MAX)),
                read_only: Some(true),
            };
            let command = Command {
                kind: dn::Type::Echo,
                request_field: 26,
                response_field: 23,
                request: &request,
            };
            let target = Target {
                block: BlockId { container, ..BlockId::default() },
                pipeline: None,
                token: None,
            };
            let timeout = self.timeout.saturating_add(pause);
            let call = self.datanodes.call(node, &target, command, Vec::new(), 0, timeout);
            let (reply, _): (dn::EchoResponseProto, _) =
                call.await.map_err(|failure| failure.into_error(node.id))?;
            Ok(reply.payload.unwrap_or_default())
        })
    }

    /// Writes a chunk of a block through a pipeline. It is readable after a PutBlock that lists it.
    ///
    /// # Errors
    /// The pipeline's error, or a failure to reach its leader.
    pub fn write_chunk<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        block: BlockId,
        chunk: dn::ChunkInfo,
        data: Bytes,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = dn::WriteChunkRequestProto {
                block_id: block.to_datanode(0),
                chunk_data: Some(chunk),
                data: None,
                block: None,
            };
            let command = || Command {
                kind: dn::Type::WriteChunk,
                request_field: 17,
                response_field: 15,
                request: &request,
            };
            let reply = self.through(pipeline, block, command, vec![data]).await?;
            let _: dn::WriteChunkResponseProto = reply;
            Ok(())
        })
    }

    /// Makes chunks of a block durable and readable.
    ///
    /// # Errors
    /// The pipeline's error, or a failure to reach its leader.
    pub fn put_block<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        block: BlockId,
        chunks: Vec<dn::ChunkInfo>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let block_data = dn::BlockData {
                block_id: block.to_datanode(0),
                flags: None,
                metadata: Vec::new(),
                chunks,
                size: None,
            };
            let request = dn::PutBlockRequestProto { block_data, eof: Some(true) };
            let command = || Command {
                kind: dn::Type::PutBlock,
                request_field: 12,
                response_field: 11,
                request: &request,
            };
            let reply = self.through(pipeline, block, command, Vec::new()).await?;
            let _: dn::PutBlockResponseProto = reply;
            Ok(())
        })
    }

    /// Reads bytes of a block from one DataNode without verifying checksums.
    ///
    /// # Errors
    /// The DataNode's error, or a failure to reach it.
    pub fn read_chunk<'a>(
        &'a self,
        node: &'a DatanodeDetails,
        block: BlockId,
        chunk: dn::ChunkInfo,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move {
            let expect = usize::try_from(chunk.len).unwrap_or(usize::MAX);
            let request = dn::ReadChunkRequestProto {
                block_id: block.to_datanode(0),
                chunk_data: chunk,
                read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
            };
            let command = Command {
                kind: dn::Type::ReadChunk,
                request_field: 16,
                response_field: 16,
                request: &request,
            };
            let target = Target { block, pipeline: None, token: None };
            let call =
                self.datanodes.call(node, &target, command, Vec::new(), expect, self.timeout);
            let (_, bytes): (dn::ReadChunkResponseProto, _) =
                call.await.map_err(|failure| failure.into_error(node.id))?;
            Ok(bytes)
        })
    }

    /// Sends a command to the pipeline's leader, searching for it among the members.
    async fn through<'a, Q: prost::Message + 'a, A: prost::Message + Default>(
        &self,
        pipeline: &Pipeline,
        block: BlockId,
        command: impl Fn() -> Command<'a, Q>,
        payload: Vec<Bytes>,
    ) -> Result<A> {
        let target = Target { block, pipeline: Some(pipeline.id), token: None };
        let position = |id: DatanodeId| pipeline.members.iter().position(|m| m.id == id);
        let leader = pipeline.leader.or(pipeline.suggested_leader);
        let mut at = leader.and_then(position).unwrap_or(0);
        let mut attempt = 1;
        loop {
            let Some(node) = pipeline.members.get(at) else {
                return Err(Error::Usage(format!("pipeline {} has no members", pipeline.id)));
            };
            let call =
                self.datanodes.call(node, &target, command(), payload.clone(), 0, self.timeout);
            let failure = match call.await {
                Ok((reply, _)) => return Ok(reply),
                Err(failure) => failure,
            };
            let named = match &failure {
                Failure::NotLeader(named) => named.and_then(position),
                Failure::Busy(_) => Some(at),
                _ => return Err(failure.into_error(node.id)),
            };
            if attempt == ATTEMPTS {
                return Err(failure.into_error(node.id));
            }
            attempt += 1;
            if named.is_none_or(|named| named == at) {
                tokio::time::sleep(RETRY_DELAY).await;
            }
            at = named.unwrap_or((at + 1) % pipeline.members.len());
        }
    }
}
