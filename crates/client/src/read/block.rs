//! Reads of one block: its replicas and chunks, with verified checksums.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::checksum;
use futures::FutureExt;
use parking_lot::Mutex;
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use types::{BlockId, DatanodeDetails, DatanodeId, OperationalState, Pipeline};

use super::plan::{Piece, slice_of};
use super::replicas;
use crate::datanode::{Command, Datanodes, Failure, Target};
use crate::{ClientOptions, Error, Result};

/// Minimum transfer rate of a read that is not late by itself, in bytes per second.
const SLOWEST: u64 = 20 << 20;

/// A block of the key, and the nodes with its replicas.
pub(super) struct BlockRef {
    pub(super) id: BlockId,
    pub(super) length: u64,
    /// Offset of the block in the key.
    pub(super) offset: u64,
    /// Replica index of the data; 0 for a replicated block.
    index: u32,
    source: Mutex<Source>,
}

/// The nodes to try, in order. A failed replica is moved to the end.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) nodes: Vec<DatanodeDetails>,
    pub(super) target: Target,
}

impl BlockRef {
    pub(super) fn new(location: &KeyLocation, offset: u64) -> Result<Self> {
        Ok(Self {
            id: BlockId::from_wire(&location.block_id),
            length: location.length,
            offset,
            index: 0,
            source: Mutex::new(source(location, 0)?),
        })
    }

    /// The replica `index` of a block group, with `length` bytes.
    pub(super) fn of_replica(location: &KeyLocation, length: u64, index: u32) -> Result<Self> {
        Ok(Self {
            id: BlockId::from_wire(&location.block_id),
            length,
            offset: 0,
            index,
            source: Mutex::new(source(location, index)?),
        })
    }

    /// The replica on one node alone, with an expected length of `length` bytes.
    pub(super) fn on_node(
        location: &KeyLocation,
        length: u64,
        node: DatanodeDetails,
        index: u32,
    ) -> Self {
        let source = Source { nodes: vec![node], target: target(location) };
        let id = BlockId::from_wire(&location.block_id);
        Self { id, length, offset: 0, index, source: Mutex::new(source) }
    }

    /// The target of commands for the block.
    pub(super) fn target(&self) -> Target {
        self.source.lock().target.clone()
    }

    /// The block id in requests.
    pub(super) fn wire_id(&self) -> dn::DatanodeBlockId {
        self.id.to_datanode(self.index.cast_signed())
    }

    /// Takes over the current location of the block.
    pub(super) fn refresh(&self, location: &KeyLocation) -> Result<()> {
        *self.source.lock() = source(location, self.index)?;
        Ok(())
    }

    fn source(&self) -> Source {
        self.source.lock().clone()
    }

    fn demote(&self, failed: &[(DatanodeId, Error)]) {
        if failed.is_empty() {
            return;
        }
        let mut source = self.source.lock();
        // A stable sort: nodes that did not fail keep their positions.
        source.nodes.sort_by_key(|node| failed.iter().any(|(id, _)| *id == node.id));
    }
}

/// The nodes of a block; with an index, those with that replica of a block group.
pub(super) fn source(location: &KeyLocation, index: u32) -> Result<Source> {
    let wire = location.pipeline.as_ref();
    let wire = wire.ok_or_else(|| Error::om_reply("a location without pipeline"))?;
    let pipeline = Pipeline::from_wire(wire).map_err(|e| Error::om_reply(e.to_string()))?;
    let has_index = |node: &DatanodeDetails| {
        let mut members = pipeline.members.iter().zip(&pipeline.replica_indexes);
        index == 0 || members.any(|(member, of_member)| member.id == node.id && *of_member == index)
    };
    let nodes = pipeline.read_order().into_iter().filter(|node| has_index(node));
    let mut nodes: Vec<_> = nodes.cloned().collect();
    nodes.sort_by_key(|node| node.op_state != OperationalState::InService);
    Ok(Source { nodes, target: target(location) })
}

fn target(location: &KeyLocation) -> Target {
    Target {
        block: BlockId::from_wire(&location.block_id),
        pipeline: None,
        token: location.token.as_deref().map(crate::datanode::token_url),
    }
}

/// Reader of blocks.
#[derive(Clone)]
pub(super) struct BlockReader {
    pub(super) datanodes: Datanodes,
    pub(super) timeout: Duration,
    pub(super) hedge_after: Duration,
    pub(super) verify: bool,
    /// Maximum bytes per request.
    pub(super) most: u64,
}

impl BlockReader {
    pub(super) fn new(datanodes: Datanodes, options: &ClientOptions) -> Self {
        Self {
            datanodes,
            timeout: options.read_timeout,
            hedge_after: options.hedge_after,
            verify: options.verify_checksum,
            most: options.read_size as u64,
        }
    }

    /// The chunks of a block, in the order of their offsets.
    pub(super) async fn chunks(&self, block: &BlockRef) -> Result<Arc<[dn::ChunkInfo]>> {
        let request = dn::GetBlockRequestProto { block_id: block.wire_id() };
        let length = block.length;
        self.request_hedged(block, 0, move |reader, node, target| {
            let command = Command {
                kind: dn::Type::GetBlock,
                request_field: 13,
                response_field: 12,
                request: &request,
            };
            let call = reader.datanodes.call::<_, dn::GetBlockResponseProto>(
                &node,
                &target,
                command,
                Vec::new(),
                0,
                reader.timeout,
            );
            async move {
                let (reply, _) = call.await.map_err(|f| f.into_error(node.id))?;
                checked_chunks(target.block, node.id, reply.block_data, length)
            }
            .boxed()
        })
        .await
    }

    /// Reads a whole block in one request; `None` if its storage does not support that.
    pub(super) async fn small(&self, block: &BlockRef) -> Result<Option<Bytes>> {
        let request = dn::GetSmallFileRequestProto {
            block: dn::GetBlockRequestProto { block_id: block.wire_id() },
            read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
        };
        let (length, verify) = (block.length, self.verify);
        self.request_hedged(block, length, move |reader, node, target| {
            let command = Command {
                kind: dn::Type::GetSmallFile,
                request_field: 21,
                response_field: 20,
                request: &request,
            };
            let call = reader.datanodes.call::<_, dn::GetSmallFileResponseProto>(
                &node,
                &target,
                command,
                Vec::new(),
                0,
                reader.timeout,
            );
            async move {
                let (reply, data) = match call.await {
                    Ok(reply) => reply,
                    Err(failure) if is_not_small(&failure) => return Ok(None),
                    Err(failure) => return Err(failure.into_error(node.id)),
                };
                let chunk = &reply.data.chunk_data;
                if chunk.offset != 0 || chunk.len != length {
                    return Ok(None);
                }
                check(target.block, node.id, chunk, 0..length, &data, verify)?;
                Ok(Some(data))
            }
            .boxed()
        })
        .await
    }

    /// Reads the requested bytes of a piece.
    pub(super) async fn piece(
        &self,
        block: &BlockRef,
        chunk: &dn::ChunkInfo,
        piece: &Piece,
    ) -> Result<Bytes> {
        let length = piece.read.end - piece.read.start;
        let slice = slice_of(chunk);
        let checksums = chunk.checksum_data.clone();
        let narrowed = dn::ChunkInfo {
            offset: chunk.offset + piece.read.start,
            len: length,
            // The DataNode returns the stored bytes; the client verifies the checksums.
            checksum_data: checksum::none(),
            chunk_name: chunk.chunk_name.clone(),
            metadata: chunk.metadata.clone(),
            stripe_checksum: None,
        };
        let request = dn::ReadChunkRequestProto {
            block_id: block.wire_id(),
            chunk_data: narrowed,
            read_chunk_version: Some(dn::ReadChunkVersion::V1 as i32),
        };
        let first = usize::try_from(piece.read.start / slice).unwrap_or(usize::MAX);
        let verify = self.verify;
        let data = self
            .request_hedged(block, length, move |reader, node, target| {
                let command = Command {
                    kind: dn::Type::ReadChunk,
                    request_field: 16,
                    response_field: 16,
                    request: &request,
                };
                let expect = usize::try_from(length).unwrap_or(usize::MAX);
                let call = reader.datanodes.call::<_, dn::ReadChunkResponseProto>(
                    &node,
                    &target,
                    command,
                    Vec::new(),
                    expect,
                    reader.timeout,
                );
                let checksums = checksums.clone();
                async move {
                    let (_, data) = call.await.map_err(|f| f.into_error(node.id))?;
                    check_length(target.block, node.id, length, &data)?;
                    if verify {
                        checksum::verify_part(&checksums, first, &data)
                            .map_err(|e| corrupt(target.block, node.id, e.to_string()))?;
                    }
                    Ok(data)
                }
                .boxed()
            })
            .await?;
        Ok(data.slice(piece.keep.clone()))
    }

    /// Time after which a response of this length is late.
    pub(super) fn late_after(&self, length: u64) -> Duration {
        self.hedge_after + Duration::from_secs_f64(length as f64 / SLOWEST as f64)
    }

    async fn request_hedged<T>(
        &self,
        block: &BlockRef,
        length: u64,
        request: impl Fn(
            &Self,
            DatanodeDetails,
            Target,
        ) -> futures::future::BoxFuture<'static, Result<T>>,
    ) -> Result<T> {
        let mut source = block.source();
        self.datanodes.late.put_last(block.id.container, &mut source.nodes);
        let late = self.late_after(length);
        let asked = replicas::request_hedged(&source.nodes, late, |node| {
            request(self, node, source.target.clone())
        })
        .await;
        block.demote(&asked.failed);
        self.datanodes.late.note(block.id.container, &asked.late);
        for (id, error) in &asked.failed {
            if matches!(error, Error::Corrupt { .. })
                && let Some(node) = source.nodes.iter().find(|node| node.id == *id)
            {
                self.datanodes.report_damage(node, block.id);
            }
        }
        asked.answer.ok_or_else(|| {
            let failures = asked.failed.into_iter().map(|(_, error)| error).collect();
            Error::NoReplica { block: block.id, failures }
        })
    }
}

/// Returns `true` if a DataNode reports that a block cannot be read in one request.
fn is_not_small(failure: &Failure) -> bool {
    use dn::Result as R;
    matches!(
        failure,
        Failure::Refused(Error::Container {
            result: R::GetSmallFileError | R::UnsupportedRequest | R::InvalidArgument,
            ..
        })
    )
}

/// Checks that the chunks of a block are contiguous and have at least `length` bytes.
pub(super) fn checked_chunks(
    block: BlockId,
    node: DatanodeId,
    data: dn::BlockData,
    length: u64,
) -> Result<Arc<[dn::ChunkInfo]>> {
    let mut end = 0;
    for chunk in &data.chunks {
        if chunk.offset != end {
            let message = format!("chunk {} does not begin at {end}", chunk.chunk_name);
            return Err(corrupt(block, node, message));
        }
        end = chunk.offset.saturating_add(chunk.len);
    }
    if end < length {
        return Err(corrupt(block, node, format!("{end} bytes instead of {length}")));
    }
    Ok(data.chunks.into())
}

fn check(
    block: BlockId,
    node: DatanodeId,
    chunk: &dn::ChunkInfo,
    range: std::ops::Range<u64>,
    data: &Bytes,
    verify: bool,
) -> Result<()> {
    check_length(block, node, range.end - range.start, data)?;
    if verify {
        checksum::verify(&chunk.checksum_data, data)
            .map_err(|e| corrupt(block, node, e.to_string()))?;
    }
    Ok(())
}

fn check_length(block: BlockId, node: DatanodeId, length: u64, data: &Bytes) -> Result<()> {
    if data.len() as u64 == length {
        return Ok(());
    }
    Err(corrupt(block, node, format!("{} bytes instead of {length}", data.len())))
}

fn corrupt(block: BlockId, datanode: DatanodeId, message: String) -> Error {
    Error::Corrupt { block, datanode, message }
}
