//! Reads of one block group: the locations of its replicas, and their health.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use erasure::{BlockGroup, Codec, Scheme};
use futures::future::try_join_all;
use parking_lot::Mutex;
use proto::datanode::ChunkInfo;
use proto::ozone::KeyLocation;
use tokio::sync::OnceCell;
use types::{BlockId, Pipeline};

use super::block::{BlockReader, BlockRef};
use super::plan::{self, Piece};
use crate::{Error, Result};

/// Time for which a replica that failed or was late is used only if there are no others.
const AVOIDED_FOR: Duration = Duration::from_secs(10);

/// A block group of the key.
pub(super) struct GroupRef {
    pub(super) id: BlockId,
    /// Offset of the group in the key.
    pub(super) offset: u64,
    pub(super) layout: BlockGroup,
    pub(super) codec: Codec,
    /// In the order of their indexes.
    replicas: Vec<Replica>,
}

/// One replica of a group.
struct Replica {
    block: BlockRef,
    chunks: OnceCell<Arc<[ChunkInfo]>>,
    failed_at: Mutex<Option<Instant>>,
}

impl GroupRef {
    /// # Errors
    /// If the location has no pipeline, or members with an invalid index.
    pub(super) fn new(location: &KeyLocation, offset: u64, codec: &Codec) -> Result<Self> {
        let scheme = codec.scheme();
        check_members(scheme, location)?;
        let layout = BlockGroup::new(scheme, location.length);
        let replica = |index: erasure::ReplicaIndex| {
            let length = layout.replica_length(index);
            Ok(Replica {
                block: BlockRef::of_replica(location, length, index.get())?,
                chunks: OnceCell::new(),
                failed_at: Mutex::new(None),
            })
        };
        Ok(Self {
            id: BlockId::from_wire(&location.block_id),
            offset,
            layout,
            codec: codec.clone(),
            replicas: scheme.replicas().map(replica).collect::<Result<_>>()?,
        })
    }

    /// Takes over the current locations of the replicas.
    pub(super) fn refresh(&self, location: &KeyLocation) -> Result<()> {
        check_members(self.codec.scheme(), location)?;
        for replica in &self.replicas {
            replica.block.refresh(location)?;
            *replica.failed_at.lock() = None;
        }
        Ok(())
    }

    /// Returns `true` if a replica failed or was late recently.
    pub(super) fn avoids(&self, position: usize) -> bool {
        let failed_at = self.replicas.get(position).and_then(|r| *r.failed_at.lock());
        failed_at.is_some_and(|at| at.elapsed() < AVOIDED_FOR)
    }

    /// Records that a replica failed or is late.
    pub(super) fn avoid(&self, position: usize) {
        if let Some(replica) = self.replicas.get(position) {
            *replica.failed_at.lock() = Some(Instant::now());
        }
    }

    /// The chunk of a replica at an offset of its block, if its chunks are known.
    pub(super) fn chunk_at(&self, position: usize, offset: u64) -> Option<&ChunkInfo> {
        let chunks = self.replicas.get(position)?.chunks.get()?;
        chunks.iter().find(|chunk| chunk.offset == offset)
    }

    /// Reads at least `range` of a replica's block: whole checksum slices, all verified, each with
    /// its offset.
    pub(super) async fn fetch(
        &self,
        reader: &BlockReader,
        position: usize,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<(u64, Bytes)>> {
        let replica = self.replicas.get(position);
        let replica = replica.ok_or_else(|| Error::Usage(format!("no replica {position}")))?;
        let chunks = replica.chunks.get_or_try_init(|| reader.chunks(&replica.block)).await?;
        let pieces = plan::plan(chunks, range, reader.most).into_iter().map(|piece| async move {
            let chunk = chunks
                .get(piece.chunk)
                .ok_or_else(|| Error::Usage("a plan for other chunks".to_owned()))?;
            let start = chunk.offset.saturating_add(piece.read.start);
            let all = 0..(piece.read.end - piece.read.start) as usize;
            let piece = Piece { keep: all, ..piece };
            Ok((start, reader.piece(&replica.block, chunk, &piece).await?))
        });
        try_join_all(pieces).await
    }
}

fn check_members(scheme: Scheme, location: &KeyLocation) -> Result<()> {
    let wire = location.pipeline.as_ref();
    let wire = wire.ok_or_else(|| Error::om_reply("a location without pipeline"))?;
    let pipeline = Pipeline::from_wire(wire).map_err(|e| Error::om_reply(e.to_string()))?;
    for index in &pipeline.replica_indexes {
        scheme.replica(*index).map_err(|e| Error::om_reply(e.to_string()))?;
    }
    if pipeline.replica_indexes.len() != pipeline.members.len() {
        return Err(Error::om_reply(format!(
            "pipeline {} has {} replica indexes for {} members",
            pipeline.id,
            pipeline.replica_indexes.len(),
            pipeline.members.len()
        )));
    }
    Ok(())
}
