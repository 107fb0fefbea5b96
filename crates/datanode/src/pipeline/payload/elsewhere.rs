//! Bytes and deletions of other members.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use proto::datanode::{
    BlockData, ChunkInfo, ContainerCommandRequestProto, Result as ResultCode, Type,
};
use types::BlockId;

use super::Inner;
use crate::command::Failure;
use crate::pipeline::proof;

/// Timeout of the question to others whether a block was deleted: a pipeline's next entries wait
/// for the response.
const DELETION_PROOF_TIMEOUT: Duration = Duration::from_secs(3);

impl Inner {
    /// Gets a chunk that should be here from another member.
    pub(super) async fn refill(
        &self,
        block: BlockId,
        data: &BlockData,
        chunk: &ChunkInfo,
    ) -> Result<(), Failure> {
        tracing::info!(
            pipeline = %self.pipeline.id(), %block, chunk = chunk.chunk_name,
            "fetching a missing chunk from another member"
        );
        let header = write_command(data, chunk);
        let replica_index = data.block_id.replica_index();
        self.write(block, replica_index, chunk, header, Bytes::new()).await
    }

    /// Requests a chunk from the other members.
    pub(super) async fn fetch(&self, header: Bytes) -> Result<Bytes, Failure> {
        let missing = |why: String| Failure::new(ResultCode::UnableToFindChunk, why);
        let group = self.group().ok_or_else(|| missing("the group is starting".into()))?;
        match group.fetch_payload(header).await {
            Ok(bytes) if bytes.is_empty() => {
                Err(Failure::new(ResultCode::NoSuchBlock, "the block was deleted meanwhile"))
            }
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(missing(format!("no member returned the chunk: {error}"))),
        }
    }

    /// For a leader that does not have a chunk itself: returns any other member's, or nothing if
    /// none has it. A block that was put is durable on a majority, so a chunk that no member has
    /// was deleted, or never acknowledged; it must not delay a follower forever.
    pub(super) async fn read_elsewhere(&self, header: Bytes, failure: &Failure) -> Bytes {
        if failure.is_gone() {
            return Bytes::new();
        }
        tracing::warn!(pipeline = %self.pipeline.id(), %failure, "cannot read a chunk back");
        self.fetch(header).await.unwrap_or_default()
    }

    /// Returns `true` if another member proves that a block was deleted.
    pub(super) async fn deleted_elsewhere(&self, block: BlockId) -> bool {
        let Some(group) = self.group() else { return false };
        let asked = tokio::time::timeout(
            DELETION_PROOF_TIMEOUT,
            group.fetch_payload(proof::question(block)),
        );
        let deleted = matches!(asked.await, Ok(Ok(answer)) if answer == proof::DELETED);
        tracing::info!(pipeline = %self.pipeline.id(), %block, deleted, "no member has a block's bytes");
        deleted
    }

    /// Records that a block was deleted elsewhere, for the apply of its entry.
    pub(super) async fn note_deleted(&self, block: BlockId) -> Result<(), Failure> {
        let store = self.store.clone();
        let noted = tokio::task::spawn_blocking(move || store.note_deleted(block)).await;
        Ok(noted.map_err(|error| Failure::new(ResultCode::IoException, error.to_string()))??)
    }

    /// Returns the proof that a block is deleted, or nothing: then another member is asked.
    pub(super) fn prove(&self, block: BlockId) -> io::Result<Bytes> {
        match self.store.knows_deleted(block) {
            Ok(true) => Ok(proof::DELETED),
            Ok(false) => Err(io::Error::other(format!("block {block} is not known to be deleted"))),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Returns a chunk's bytes, only if they are whole: a hole left by a crash must not spread.
    pub(super) async fn read_whole(
        &self,
        block: BlockId,
        chunk: &ChunkInfo,
    ) -> Result<Bytes, Failure> {
        let bytes = self.store.read_payload(block, chunk).await?;
        container::checksum::verify(&chunk.checksum_data, &bytes)
            .map_err(|error| Failure::new(ResultCode::ChecksumMismatch, error.to_string()))?;
        Ok(bytes)
    }
}

/// Returns the command that once wrote a chunk, which requests its bytes.
pub(super) fn write_command(block: &BlockData, chunk: &ChunkInfo) -> Bytes {
    let request = ContainerCommandRequestProto {
        cmd_type: Type::WriteChunk as i32,
        container_id: block.block_id.container_id,
        write_chunk: Some(proto::datanode::WriteChunkRequestProto {
            block_id: block.block_id,
            chunk_data: Some(chunk.clone()),
            data: None,
            block: None,
        }),
        ..Default::default()
    };
    request.encode_to_vec().into()
}
