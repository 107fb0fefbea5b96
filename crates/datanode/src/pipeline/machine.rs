//! What a pipeline's Raft group replicates into: one round of entries becomes one batch of the
//! disk's store, applied position included.

use std::sync::Arc;

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use prost::Message;
use proto::datanode::{
    CloseContainerResponseProto, ContainerCommandRequestProto, ContainerCommandResponseProto,
    CreateContainerResponseProto, PutBlockResponseProto, PutSmallFileResponseProto,
    Result as ResultCode, Type, WriteChunkResponseProto,
};
use types::{ContainerId, PipelineId};
use uuid::Uuid;

use crate::command::answer::success;
use crate::command::read::part;
use crate::command::{self, Failure};
use crate::scm::News;
use crate::storage::{ApplyBatch, PipelineStore, Position};

/// The state machine of one pipeline.
pub(crate) struct Machine {
    store: PipelineStore,
    news: Arc<News>,
}

impl Machine {
    pub(crate) fn new(store: PipelineStore, news: Arc<News>) -> Self {
        Self { store, news }
    }

    fn id(&self) -> PipelineId {
        self.store.id()
    }

    /// Tells SCM that this replica of the pipeline is beyond help, and stops it.
    fn fail(
        &self,
        what: &str,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> MachineError {
        tracing::error!(pipeline = %self.id(), %error, "{what} failed; the pipeline stops here");
        self.news.pipeline_failed(self.id(), format!("{what}: {error}"));
        Box::new(error)
    }
}

impl StateMachine for Machine {
    fn applied(&self) -> LogPosition {
        to_log(self.store.durable())
    }

    fn apply(&mut self, entries: &[Committed]) -> Result<Vec<Bytes>, MachineError> {
        let mut batch = self.store.begin();
        let responses = entries.iter().map(|entry| apply_one(&mut batch, entry)).collect();
        batch.commit().map_err(|error| self.fail("applying a round", error))?;
        self.news.look_for_changes();
        Ok(responses)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        let flushed = self.store.flush().map_err(|error| self.fail("flushing", error))?;
        Ok(to_log(flushed))
    }

    /// Block data is not sent: a replica that lags behind the trimmed log gives up the containers
    /// it cannot complete, and SCM replaces the pipeline.
    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        Ok(SnapshotSource::Bytes(Bytes::new()))
    }

    fn restore(&mut self, _: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let position = Position { term: at.term, index: at.index };
        self.store.restore(position).map_err(|error| self.fail("restoring", error))?;
        let reason = format!("this replica lagged behind the log, which begins after {}", at.index);
        tracing::warn!(pipeline = %self.id(), %reason, "asking SCM to replace the pipeline");
        self.news.pipeline_failed(self.id(), reason);
        Ok(())
    }

    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        tracing::debug!(pipeline = %self.id(), ?leader, term, is_me, "leader changed");
        self.news.pipeline_changed(self.id());
    }
}

fn to_log(position: Position) -> LogPosition {
    LogPosition { term: position.term, index: position.index }
}

/// Puts one entry into the batch; its response is encoded. A command that fails is a response too.
fn apply_one(batch: &mut ApplyBatch<'_>, entry: &Committed) -> Bytes {
    let at = Position { term: entry.term, index: entry.index };
    let response = match ContainerCommandRequestProto::decode(entry.header.clone()) {
        Ok(request) => apply_command(batch, at, &request, &entry.payload)
            .unwrap_or_else(|failure| failure.response(&request)),
        Err(error) => Failure::malformed(error.to_string()).response(&Default::default()),
    };
    batch.advance(at);
    response.encode_to_vec().into()
}

fn apply_command(
    batch: &mut ApplyBatch<'_>,
    at: Position,
    request: &ContainerCommandRequestProto,
    payload: &Bytes,
) -> Result<ContainerCommandResponseProto, Failure> {
    let container = ContainerId::from_wire(request.container_id);
    let kind = Type::try_from(request.cmd_type).ok();
    match kind {
        Some(Type::PutSmallFile) => {
            let put = (request.put_small_file.as_ref())
                .ok_or_else(|| Failure::malformed("putSmallFile is missing"))?;
            let block = &put.block.block_data;
            batch.create_container(at, container, block.block_id.replica_index())?;
            // A file too large for the log was written as a chunk before the entry was appended.
            let committed = if payload.len() as u64 == put.chunk_info.len {
                batch.put_small_file(at, block, &put.chunk_info, payload.clone())?
            } else {
                batch.put_block(at, block)?
            };
            Ok(ContainerCommandResponseProto {
                put_small_file: Some(PutSmallFileResponseProto {
                    committed_block_length: committed.to_wire(),
                }),
                ..success(request)
            })
        }
        Some(Type::PutBlock) => {
            let put = part(request.put_block.as_ref(), "putBlock")?;
            batch.create_container(at, container, put.block_data.block_id.replica_index())?;
            let committed = batch.put_block(at, &put.block_data)?;
            Ok(ContainerCommandResponseProto {
                put_block: Some(PutBlockResponseProto {
                    committed_block_length: committed.to_wire(),
                }),
                ..success(request)
            })
        }
        Some(Type::WriteChunk) => {
            let write = part(request.write_chunk.as_ref(), "writeChunk")?;
            batch.create_container(at, container, write.block_id.replica_index())?;
            let committed = match &write.block {
                Some(put) => Some(batch.put_block(at, &put.block_data)?),
                None => None,
            };
            Ok(ContainerCommandResponseProto {
                write_chunk: Some(WriteChunkResponseProto {
                    committed_block_length: committed.map(|committed| committed.to_wire()),
                }),
                ..success(request)
            })
        }
        Some(Type::CreateContainer) => {
            let create = part(request.create_container.as_ref(), "createContainer")?;
            batch.create_container(at, container, create.replica_index())?;
            Ok(ContainerCommandResponseProto {
                create_container: Some(CreateContainerResponseProto {}),
                ..success(request)
            })
        }
        Some(Type::CloseContainer) => {
            batch.close_container(at, container)?;
            Ok(ContainerCommandResponseProto {
                close_container: Some(CloseContainerResponseProto {
                    hash: None,
                    container_id: Some(request.container_id),
                }),
                ..success(request)
            })
        }
        _ => Err(Failure::new(
            ResultCode::UnsupportedRequest,
            format!("{} is not replicated", command::name(kind)),
        )),
    }
}
