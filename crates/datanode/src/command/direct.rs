//! Changes to this replica alone: containers that no Raft group replicates, and deletions.

use proto::datanode::{
    CloseContainerResponseProto, ContainerCommandRequestProto, ContainerCommandResponseProto,
    CreateContainerResponseProto, DeleteContainerResponseProto, FinalizeBlockResponseProto,
    PutBlockResponseProto, PutSmallFileResponseProto, Result as ResultCode, Type,
    WriteChunkResponseProto, container_data_proto::State,
};
use types::{BlockId, ContainerId};

use super::answer::success;
use super::read::part;
use super::{Answer, Command, Failure};
use crate::node::Node;
use crate::storage::{InitialState, NewContainer};

/// Carries a change out on this replica; durable when it returns.
pub(super) async fn execute(node: &Node, command: Command) -> Answer {
    let done = match command.kind() {
        Some(Type::CreateContainer) => create(node, &command.request),
        Some(Type::WriteChunk) => write_chunk(node, &command).await,
        Some(Type::PutBlock) => put_block(node, &command.request).await,
        Some(Type::PutSmallFile) => put_small_file(node, &command).await,
        Some(Type::CloseContainer) => close(node, &command.request).await,
        Some(Type::FinalizeBlock) => finalize(node, &command.request).await,
        Some(Type::DeleteContainer) => delete(node, &command.request).await,
        _ => Err(Failure::new(
            ResultCode::UnsupportedRequest,
            format!("{} is not supported", super::name(command.kind())),
        )),
    };
    Answer::message(done.unwrap_or_else(|failure| failure.response(&command.request)))
}

type Done = Result<ContainerCommandResponseProto, Failure>;

fn create(node: &Node, request: &ContainerCommandRequestProto) -> Done {
    let create = part(request.create_container.as_ref(), "createContainer")?;
    let state = match create.state {
        Some(state) if state == State::Recovering as i32 => InitialState::Recovering,
        _ => InitialState::Open,
    };
    ensure(node, ContainerId::from_wire(request.container_id), create.replica_index(), state)?;
    Ok(ContainerCommandResponseProto {
        create_container: Some(CreateContainerResponseProto {}),
        ..success(request)
    })
}

/// Makes the container when it is not there: clients never do.
fn ensure(
    node: &Node,
    id: ContainerId,
    replica_index: i32,
    state: InitialState,
) -> Result<(), Failure> {
    let new = NewContainer { id, replica_index, pipeline: None, disk: None, state };
    node.store.create_container(new)?;
    Ok(())
}

async fn write_chunk(node: &Node, command: &Command) -> Done {
    let request = &command.request;
    let write = part(request.write_chunk.as_ref(), "writeChunk")?;
    let chunk = part(write.chunk_data.as_ref(), "chunkData")?;
    let block = BlockId::from_datanode(&write.block_id);
    ensure(node, block.container, write.block_id.replica_index(), InitialState::Open)?;
    node.store.write_chunk(block, &chunk, command.payload.clone()).await?;
    let committed = match &write.block {
        Some(put) => Some(node.store.put_block_direct(&put.block_data).await?),
        None => None,
    };
    Ok(ContainerCommandResponseProto {
        write_chunk: Some(WriteChunkResponseProto {
            committed_block_length: committed.map(|committed| committed.to_wire()),
        }),
        ..success(request)
    })
}

async fn put_block(node: &Node, request: &ContainerCommandRequestProto) -> Done {
    let put = part(request.put_block.as_ref(), "putBlock")?;
    let block = &put.block_data.block_id;
    ensure(
        node,
        ContainerId::from_wire(block.container_id),
        block.replica_index(),
        InitialState::Open,
    )?;
    let committed = node.store.put_block_direct(&put.block_data).await?;
    Ok(ContainerCommandResponseProto {
        put_block: Some(PutBlockResponseProto { committed_block_length: committed.to_wire() }),
        ..success(request)
    })
}

async fn put_small_file(node: &Node, command: &Command) -> Done {
    let request = &command.request;
    let put = part(request.put_small_file.as_ref(), "putSmallFile")?;
    let wire = &put.block.block_data.block_id;
    let block = BlockId::from_datanode(wire);
    ensure(node, block.container, wire.replica_index(), InitialState::Open)?;
    node.store.write_chunk(block, &put.chunk_info, command.payload.clone()).await?;
    let committed = node.store.put_block_direct(&put.block.block_data).await?;
    Ok(ContainerCommandResponseProto {
        put_small_file: Some(PutSmallFileResponseProto {
            committed_block_length: committed.to_wire(),
        }),
        ..success(request)
    })
}

async fn finalize(node: &Node, request: &ContainerCommandRequestProto) -> Done {
    let finalize = part(request.finalize_block.as_ref(), "finalizeBlock")?;
    let (store, id) = (node.store.clone(), BlockId::from_datanode(&finalize.block_id));
    let finalizing = tokio::task::spawn_blocking(move || store.finalize_direct(id)).await;
    let block_data = finalizing
        .map_err(|error| Failure::new(ResultCode::ContainerInternalError, error.to_string()))??;
    Ok(ContainerCommandResponseProto {
        finalize_block: Some(FinalizeBlockResponseProto { block_data }),
        ..success(request)
    })
}

async fn close(node: &Node, request: &ContainerCommandRequestProto) -> Done {
    let id = ContainerId::from_wire(request.container_id);
    node.change_container(id, |store, id| store.close(id, None)).await?;
    Ok(ContainerCommandResponseProto {
        close_container: Some(CloseContainerResponseProto {
            hash: None,
            container_id: Some(request.container_id),
        }),
        ..success(request)
    })
}

async fn delete(node: &Node, request: &ContainerCommandRequestProto) -> Done {
    let force = request.delete_container.as_ref().is_some_and(|delete| delete.force_delete());
    let id = ContainerId::from_wire(request.container_id);
    node.change_container(id, move |store, id| store.delete_container(id, force)).await?;
    node.pending_reports.container_changed(id);
    Ok(ContainerCommandResponseProto {
        delete_container: Some(DeleteContainerResponseProto {}),
        ..success(request)
    })
}
