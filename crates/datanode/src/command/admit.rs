//! What is checked before a change is proposed, so that nonsense never enters a log.

use proto::datanode::{ChunkInfo, DatanodeBlockId, Result as ResultCode, Type};
use types::ContainerId;

use super::{Command, Failure};
use crate::node::Node;
use crate::settings::MAX_CHUNK;

/// Checks a mutating command.
pub(super) fn check(node: &Node, command: &Command) -> Result<(), Failure> {
    let request = &command.request;
    let container = ContainerId::from_wire(request.container_id);
    match command.kind() {
        Some(Type::WriteChunk) => {
            let write = (request.write_chunk.as_ref())
                .ok_or_else(|| Failure::malformed("writeChunk is missing"))?;
            let chunk = (write.chunk_data.as_ref())
                .ok_or_else(|| Failure::malformed("writeChunk has no chunkData"))?;
            same_container(container, &write.block_id)?;
            if let Some(put) = &write.block {
                same_container(container, &put.block_data.block_id)?;
            }
            check_data(node, chunk, command)?;
            node.store.check_writable(container)?;
        }
        Some(Type::PutSmallFile) => {
            let put = (request.put_small_file.as_ref())
                .ok_or_else(|| Failure::malformed("putSmallFile is missing"))?;
            same_container(container, &put.block.block_data.block_id)?;
            check_data(node, &put.chunk_info, command)?;
            node.store.check_writable(container)?;
        }
        Some(Type::PutBlock) => {
            // Not refused while the container is closing: its chunks may be here already, and
            // whether it still comes before the close is decided by the log.
            let put = (request.put_block.as_ref())
                .ok_or_else(|| Failure::malformed("putBlock is missing"))?;
            same_container(container, &put.block_data.block_id)?;
        }
        Some(Type::FinalizeBlock) => {
            let finalize = (request.finalize_block.as_ref())
                .ok_or_else(|| Failure::malformed("finalizeBlock is missing"))?;
            same_container(container, &finalize.block_id)?;
        }
        _ => {}
    }
    Ok(())
}

fn same_container(container: ContainerId, block: &DatanodeBlockId) -> Result<(), Failure> {
    if ContainerId::from_wire(block.container_id) == container {
        return Ok(());
    }
    let message = format!(
        "the command is for container {container} but its block is of container {}",
        block.container_id
    );
    Err(Failure::new(ResultCode::ContainerIdMismatch, message))
}

fn check_data(node: &Node, chunk: &ChunkInfo, command: &Command) -> Result<(), Failure> {
    let got = command.payload.len();
    if got > MAX_CHUNK || chunk.len != got as u64 {
        let message = format!(
            "chunk {} says it has {} bytes, {got} came (at most {MAX_CHUNK})",
            chunk.chunk_name, chunk.len
        );
        return Err(Failure::new(ResultCode::InvalidWriteSize, message));
    }
    if node.settings.validate_chunks {
        container::checksum::verify(&chunk.checksum_data, &command.payload).map_err(|error| {
            Failure::new(
                ResultCode::ChecksumMismatch,
                format!("chunk {}: {error}", chunk.chunk_name),
            )
        })?;
    }
    Ok(())
}
