//! What is checked before a change is proposed or carried out, so that nonsense never enters a log:
//! what an entry says is carried out by every replica, and must do no harm on any of them.

use container::chunks::{self, LimitError};
use proto::datanode::{
    BlockData, ChunkInfo, DatanodeBlockId, PutBlockRequestProto, Result as ResultCode, Type,
};
use types::{ContainerId, PipelineId};

use super::{Command, Failure};
use crate::node::Node;
use crate::settings::MAX_CHUNK;

/// Checks a mutating command; `pipeline` is the one that is to replicate it.
pub(super) fn check(
    node: &Node,
    command: &Command,
    pipeline: Option<PipelineId>,
) -> Result<(), Failure> {
    let request = &command.request;
    if request.container_id <= 0 {
        return Err(Failure::malformed(format!("no container has id {}", request.container_id)));
    }
    let container = ContainerId::from_wire(request.container_id);
    if let Some(pipeline) = pipeline {
        check_owner(node, container, pipeline)?;
    }
    let check = Check { node, container, replicated: pipeline.is_some() };
    match command.kind() {
        Some(Type::WriteChunk) => {
            let write = (request.write_chunk.as_ref())
                .ok_or_else(|| Failure::malformed("writeChunk is missing"))?;
            let chunk = (write.chunk_data.as_ref())
                .ok_or_else(|| Failure::malformed("writeChunk has no chunkData"))?;
            check.block(&write.block_id)?;
            if let Some(put) = &write.block {
                check.put(put)?;
                same_block(&write.block_id, &put.block_data.block_id)?;
            }
            check.data(chunk, command)?;
            node.store.check_writable(container)?;
        }
        Some(Type::PutSmallFile) => {
            let put = (request.put_small_file.as_ref())
                .ok_or_else(|| Failure::malformed("putSmallFile is missing"))?;
            check.put(&put.block)?;
            chunks::check_small(&put.block.block_data, &put.chunk_info).map_err(limit)?;
            check.data(&put.chunk_info, command)?;
            node.store.check_writable(container)?;
        }
        Some(Type::PutBlock) => {
            // Not refused while the container is closing: its chunks may be here already, and
            // whether it still comes before the close is decided by the log.
            let put = (request.put_block.as_ref())
                .ok_or_else(|| Failure::malformed("putBlock is missing"))?;
            check.put(put)?;
        }
        Some(Type::FinalizeBlock) => {
            let finalize = (request.finalize_block.as_ref())
                .ok_or_else(|| Failure::malformed("finalizeBlock is missing"))?;
            check.block(&finalize.block_id)?;
        }
        Some(Type::CreateContainer) => {
            let create = (request.create_container.as_ref())
                .ok_or_else(|| Failure::malformed("createContainer is missing"))?;
            check.replica_index(create.replica_index())?;
        }
        _ => {}
    }
    Ok(())
}

/// A pipeline writes its own containers only: the members of another one know nothing of it.
fn check_owner(node: &Node, id: ContainerId, pipeline: PipelineId) -> Result<(), Failure> {
    let Ok(container) = node.store.container(id) else { return Ok(()) };
    let owner = container.info().pipeline;
    if owner == Some(pipeline) {
        return Ok(());
    }
    let message = format!("container {id} is not of pipeline {pipeline}");
    Err(Failure::new(ResultCode::InvalidArgument, message))
}

/// A command that is being checked.
struct Check<'a> {
    node: &'a Node,
    container: ContainerId,
    /// Whether a pipeline replicates it.
    replicated: bool,
}

impl Check<'_> {
    fn block(&self, block: &DatanodeBlockId) -> Result<(), Failure> {
        if ContainerId::from_wire(block.container_id) != self.container {
            let message = format!(
                "the command is for container {} but its block is of container {}",
                self.container, block.container_id
            );
            return Err(Failure::new(ResultCode::ContainerIdMismatch, message));
        }
        self.replica_index(block.replica_index())
    }

    /// Replicas of a pipeline are all the same; only those of EC groups have an index.
    fn replica_index(&self, index: i32) -> Result<(), Failure> {
        if index < 0 || (self.replicated && index != 0) {
            return Err(Failure::malformed(format!("{index} is no replica index here")));
        }
        Ok(())
    }

    fn put(&self, put: &PutBlockRequestProto) -> Result<(), Failure> {
        let block: &BlockData = &put.block_data;
        self.block(&block.block_id)?;
        chunks::check_list(block, self.node.settings.block_limit).map_err(limit)
    }

    fn data(&self, chunk: &ChunkInfo, command: &Command) -> Result<(), Failure> {
        let got = command.payload.len();
        if got > MAX_CHUNK || chunk.len != got as u64 {
            let message = format!(
                "chunk {} says it has {} bytes, {got} came (at most {MAX_CHUNK})",
                chunk.chunk_name, chunk.len
            );
            return Err(Failure::new(ResultCode::InvalidWriteSize, message));
        }
        chunks::check_chunk(chunk, self.node.settings.block_limit).map_err(limit)?;
        if self.node.settings.validate_chunks {
            container::checksum::verify(&chunk.checksum_data, &command.payload).map_err(
                |error| {
                    let message = format!("chunk {}: {error}", chunk.chunk_name);
                    Failure::new(ResultCode::ChecksumMismatch, message)
                },
            )?;
        }
        Ok(())
    }
}

fn same_block(chunk: &DatanodeBlockId, put: &DatanodeBlockId) -> Result<(), Failure> {
    if chunk.local_id == put.local_id {
        return Ok(());
    }
    let (chunk, put) = (chunk.local_id, put.local_id);
    Err(Failure::malformed(format!("a chunk of block {chunk} comes with a PutBlock of {put}")))
}

fn limit(error: LimitError) -> Failure {
    Failure::new(ResultCode::InvalidArgument, error.to_string())
}
