//! Small blocks of clients that write them as WriteChunk and PutBlock: see
//! [`buffered_chunks`](crate::pipeline::buffered_chunks).

use std::time::Instant;

use bytes::Bytes;
use multiraft::Proposal;
use prost::Message;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, DatanodeBlockId,
    PutBlockRequestProto, PutBlockResponseProto, PutSmallFileRequestProto, Type,
    WriteChunkRequestProto, WriteChunkResponseProto,
};
use types::BlockId;

use super::write::{Begun, propose};
use crate::command::answer::{Answer, success};
use crate::command::{Command, Refusal, peek};
use crate::node::Node;
use crate::pipeline::Pipeline;
use crate::pipeline::buffered_chunks::{BufferedChunk, MAX_BUFFER_TIME};

/// Proposes a command, holds it for the one that belongs to it, or proposes both as one.
pub(super) fn submit(
    node: &Node,
    pipeline: &Pipeline,
    mut command: Command,
    room: tokio::sync::OwnedSemaphorePermit,
) -> Result<Begun, Refusal> {
    let Some(block) = block_of(&command.request) else {
        return propose(pipeline, command, Some(room)).map(Begun::Proposed);
    };
    let mut buffered = pipeline.buffered.lock();
    if let Some(chunk) = buffered.take(block.local).filter(|chunk| is_current(pipeline, chunk)) {
        match command.request.put_block.as_ref().filter(|put| completes(put, &chunk.write)) {
            Some(put) => {
                let small = join(&command.request, put, &chunk.write);
                (command.header, command.payload) = (small, chunk.payload);
            }
            None => release(pipeline, chunk),
        }
    } else if is_small_first(node, &command) {
        if let Some((write, put)) = piggybacked(&command.request) {
            command.header = join(&command.request, put, write);
        } else if let Some(chunk) = to_buffer(pipeline, &command) {
            let answer = Answer::message(held_response(&command.request));
            if buffered.insert(block.local, chunk).is_ok() {
                return Ok(Begun::Answered(answer));
            }
        }
    }
    drop(buffered);
    propose(pipeline, command, Some(room)).map(Begun::Proposed)
}

/// Proposes chunks of a pipeline whose PutBlock did not come.
pub(crate) fn release_late(pipeline: &Pipeline) {
    let Some(moment) = Instant::now().checked_sub(MAX_BUFFER_TIME) else { return };
    let mut buffered = pipeline.buffered.lock();
    for chunk in buffered.take_before(moment) {
        if is_current(pipeline, &chunk) {
            release(pipeline, chunk);
        }
    }
}

/// Proposes a buffered chunk like any other. Whether it is written, its PutBlock will find out.
fn release(pipeline: &Pipeline, chunk: BufferedChunk) {
    let proposal = Proposal { header: chunk.header, payload: chunk.payload, ..Proposal::default() };
    if let Err(error) = pipeline.group.submit(proposal) {
        tracing::debug!(pipeline = %pipeline.id, %error, "cannot write a buffered chunk");
    }
}

/// Returns `true` if this replica has led since the chunk arrived.
fn is_current(pipeline: &Pipeline, chunk: &BufferedChunk) -> bool {
    pipeline.group.is_leader() && pipeline.group.leader().term == chunk.term
}

/// A leader that has not yet applied the entries of earlier ones may buffer chunks, too: their
/// PutBlock enters the log after all of these.
fn to_buffer(pipeline: &Pipeline, command: &Command) -> Option<BufferedChunk> {
    let write = command.request.write_chunk.as_ref()?;
    let leader = pipeline.group.leader();
    pipeline.group.is_leader().then(|| BufferedChunk {
        header: command.header.clone(),
        write: write.clone(),
        payload: command.payload.clone(),
        term: leader.term,
        since: Instant::now(),
    })
}

/// Returns `true` if a command contains the first bytes of a block, few enough to be packed.
fn is_small_first(node: &Node, command: &Command) -> bool {
    let chunk = command.request.write_chunk.as_ref().and_then(|write| write.chunk_data.as_ref());
    let len = command.payload.len() as u64;
    chunk.is_some_and(|chunk| chunk.offset == 0) && len > 0 && len <= node.settings.small_block_size
}

/// A WriteChunk that brings its whole block, and the PutBlock that is in it.
fn piggybacked(
    request: &ContainerCommandRequestProto,
) -> Option<(&WriteChunkRequestProto, &PutBlockRequestProto)> {
    let write = request.write_chunk.as_ref()?;
    let put = write.block.as_ref().filter(|put| completes(put, write))?;
    Some((write, put))
}

/// Returns `true` if a PutBlock ends a block of exactly this chunk.
fn completes(put: &PutBlockRequestProto, write: &WriteChunkRequestProto) -> bool {
    let Some(chunk) = &write.chunk_data else { return false };
    let block = &put.block_data;
    put.eof.unwrap_or(true)
        && !container::chunks::is_incremental(block)
        && matches!(&block.chunks[..], [only] if only.offset == chunk.offset && only.len == chunk.len
            && only.checksum_data == chunk.checksum_data)
}

/// A PutSmallFile in the place of `request`.
fn join(
    request: &ContainerCommandRequestProto,
    put: &PutBlockRequestProto,
    write: &WriteChunkRequestProto,
) -> Bytes {
    let small = ContainerCommandRequestProto {
        cmd_type: Type::PutSmallFile as i32,
        write_chunk: None,
        put_block: None,
        put_small_file: Some(PutSmallFileRequestProto {
            block: put.clone(),
            chunk_info: write.chunk_data.clone().unwrap_or_default(),
            data: Default::default(),
        }),
        ..request.clone()
    };
    small.encode_to_vec().into()
}

fn held_response(request: &ContainerCommandRequestProto) -> ContainerCommandResponseProto {
    ContainerCommandResponseProto {
        write_chunk: Some(WriteChunkResponseProto::default()),
        ..success(request)
    }
}

/// The answer to a command that was replicated as a PutSmallFile, as the caller expects it.
pub(super) fn as_asked(request: &ContainerCommandRequestProto, answer: Answer) -> Answer {
    let kind = Type::try_from(request.cmd_type).ok();
    let joined = matches!(kind, Some(Type::PutBlock | Type::WriteChunk))
        && peek::response_kind(&answer.encode()) == Some(Type::PutSmallFile);
    if !joined {
        return answer;
    }
    let Ok(mut response) = ContainerCommandResponseProto::decode(answer.encode()) else {
        return answer;
    };
    let length = response.put_small_file.take().map(|small| small.committed_block_length);
    response.cmd_type = request.cmd_type;
    match (kind, length) {
        (Some(Type::PutBlock), Some(length)) => {
            response.put_block = Some(PutBlockResponseProto { committed_block_length: length });
        }
        (Some(Type::WriteChunk), length @ Some(_)) => {
            response.write_chunk = Some(WriteChunkResponseProto { committed_block_length: length });
        }
        _ => {}
    }
    Answer::message(response)
}

/// The block that a command writes to.
fn block_of(request: &ContainerCommandRequestProto) -> Option<BlockId> {
    let id: &DatanodeBlockId = if let Some(write) = &request.write_chunk {
        &write.block_id
    } else if let Some(put) = &request.put_block {
        &put.block_data.block_id
    } else if let Some(small) = &request.put_small_file {
        &small.block.block_data.block_id
    } else {
        &request.finalize_block.as_ref()?.block_id
    };
    Some(BlockId::from_datanode(id))
}
