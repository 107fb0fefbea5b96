//! Checks before a change is proposed or carried out, so that no invalid command enters a log:
//! every replica carries out the entry, and it must do no harm on any of them.

use container::chunks::{self, LimitError};
use proto::datanode::{
    BlockData, ChunkInfo, DatanodeBlockId, PutBlockRequestProto, Result as ResultCode,
};
use types::{ContainerId, PipelineId};

use super::{Command, CommandContext, Failure, registry};
use crate::settings::{MAX_CHUNK, Settings};
use containerstore::ContainerStore;

/// Checks a mutating command; `pipeline` is the one that is to replicate it.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(
    context: &CommandContext<'_>,
    command: &Command,
    pipeline: Option<PipelineId>,
) -> Result<(), Failure> {
    let request = &command.request;
    if request.container_id <= 0 {
        return Err(Failure::malformed(format!("invalid container id {}", request.container_id)));
    }
    let container = ContainerId::from_wire(request.container_id);
    if let Some(pipeline) = pipeline {
        check_owner(context.store, container, pipeline)?;
    }
    let (store, settings) = (context.store, context.settings);
    let (replicated, addressee) = (pipeline.is_some(), request.datanode_uuid.as_str());
    let check = Check { store, settings, container, replicated, addressee };
    registry::check(command.kind(), &check, command)
}

/// A pipeline writes its own containers only: the members of another one do not have it.
fn check_owner(
    store: &ContainerStore,
    id: ContainerId,
    pipeline: PipelineId,
) -> Result<(), Failure> {
    let Ok(container) = store.container(id) else { return Ok(()) };
    let owner = container.info().pipeline;
    if owner == Some(pipeline) {
        return Ok(());
    }
    let message = format!("container {id} does not belong to pipeline {pipeline}");
    Err(Failure::new(ResultCode::InvalidArgument, message))
}

/// A command that is being checked.
pub(super) struct Check<'a> {
    pub(super) store: &'a ContainerStore,
    settings: &'a Settings,
    pub(super) container: ContainerId,
    /// True if a pipeline replicates it.
    replicated: bool,
    /// The DataNode that the command names.
    addressee: &'a str,
}

impl Check<'_> {
    pub(super) fn block(&self, block: &DatanodeBlockId) -> Result<(), Failure> {
        if ContainerId::from_wire(block.container_id) != self.container {
            let message = format!(
                "the command is for container {} but its block is of container {}",
                self.container, block.container_id
            );
            return Err(Failure::new(ResultCode::ContainerIdMismatch, message));
        }
        self.replica_index(block.replica_index())
    }

    /// Replicas of a pipeline are all equal; only those of EC groups have an index.
    pub(super) fn replica_index(&self, index: i32) -> Result<(), Failure> {
        if index < 0 || (self.replicated && index != 0) {
            return Err(Failure::malformed(format!("invalid replica index {index}")));
        }
        if index > 0 { self.addressed() } else { Ok(()) }
    }

    /// Only the client writes a replica of an EC group. A replica created on a DataNode that took
    /// over the address of another one with empty disks would lack the earlier writes, and no check
    /// would detect it.
    fn addressed(&self) -> Result<(), Failure> {
        let me = self.store.options().datanode.to_string();
        if self.addressee.eq_ignore_ascii_case(&me) {
            return Ok(());
        }
        let message = format!("the command is for datanode {}, this is {me}", self.addressee);
        Err(Failure::new(ResultCode::InvalidArgument, message))
    }

    pub(super) fn put(&self, put: &PutBlockRequestProto) -> Result<(), Failure> {
        let block: &BlockData = &put.block_data;
        self.block(&block.block_id)?;
        chunks::check_list(block, self.settings.block_limit).map_err(limit)
    }

    pub(super) fn data(&self, chunk: &ChunkInfo, command: &Command) -> Result<(), Failure> {
        let got = command.payload.len();
        if got > MAX_CHUNK || chunk.len != got as u64 {
            let message = format!(
                "chunk {} declares {} bytes, received {got} (at most {MAX_CHUNK})",
                chunk.chunk_name, chunk.len
            );
            return Err(Failure::new(ResultCode::InvalidWriteSize, message));
        }
        chunks::check_chunk(chunk, self.settings.block_limit).map_err(limit)?;
        if self.settings.validate_chunks {
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

pub(super) fn same_block(chunk: &DatanodeBlockId, put: &DatanodeBlockId) -> Result<(), Failure> {
    if chunk.local_id == put.local_id {
        return Ok(());
    }
    let (chunk, put) = (chunk.local_id, put.local_id);
    Err(Failure::malformed(format!("a chunk of block {chunk} comes with a PutBlock of {put}")))
}

pub(super) fn limit(error: LimitError) -> Failure {
    Failure::new(ResultCode::InvalidArgument, error.to_string())
}
