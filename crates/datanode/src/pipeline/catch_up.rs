//! Bringing a replica that lags behind the trimmed log up to a snapshot: what it lacks of the
//! listed blocks is fetched from the other members and committed as if their entries had been
//! applied.

use std::path::Path;

use container::ContainerState;
use futures::stream::{self, StreamExt, TryStreamExt};
use proto::datanode::BlockData;
use proto::datanode::container_data_proto::State;
use tokio::runtime::Handle;
use types::{BlockId, ContainerId};

use super::payload::Payloads;
use super::snapshot::{Item, Items, SnapshotError};
use crate::storage::{ApplyBatch, ContainerStore, PipelineStore, Position};

/// Blocks committed in one batch.
const BATCH: usize = 128;

/// Chunks of a block fetched at a time.
const FETCHES: usize = 4;

/// Fetches what is missing of a snapshot.
pub(crate) struct CatchUp<'a> {
    pub store: &'a ContainerStore,
    pub pipeline: &'a PipelineStore,
    pub payloads: &'a Payloads,
    pub runtime: &'a Handle,
    /// Where the snapshot was taken.
    pub at: Position,
}

impl CatchUp<'_> {
    /// Commits everything that the snapshot in `dir` lists and this replica lacks; returns the
    /// number of blocks. Durable when it returns. Blocks.
    pub fn run(&self, dir: &Path) -> Result<u64, SnapshotError> {
        let mut missing = 0;
        let mut waiting = Vec::with_capacity(BATCH);
        let mut ends = Vec::new();
        for item in Items::open(dir)? {
            match item? {
                Item::Container(container) => {
                    let id = ContainerId::from_wire(container.container_id);
                    if container.state() == State::Closed {
                        ends.push(id);
                    }
                }
                Item::Block(block) if self.has(&block) => {}
                Item::Block(block) => {
                    missing += 1;
                    waiting.push(block);
                    if waiting.len() == BATCH {
                        self.commit(std::mem::take(&mut waiting))?;
                    }
                }
            }
        }
        self.commit(waiting)?;
        self.end(ends)?;
        Ok(missing)
    }

    /// Whether a block is here as far as the snapshot has it.
    fn has(&self, block: &BlockData) -> bool {
        self.store.has_block(BlockId::from_datanode(&block.block_id))
    }

    fn commit(&self, blocks: Vec<BlockData>) -> Result<(), SnapshotError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut batch = self.pipeline.begin_catch_up();
        for block in &blocks {
            self.fetch(&mut batch, block)?;
        }
        Ok(batch.commit()?)
    }

    fn fetch(&self, batch: &mut ApplyBatch<'_>, block: &BlockData) -> Result<(), SnapshotError> {
        let id = BlockId::from_datanode(&block.block_id);
        let at = Position { term: self.at.term, index: id.bcsid };
        let container = self.store.container(id.container);
        // What takes no writes here was ended by SCM without its pipeline; SCM knows its commits.
        if container.is_ok_and(|container| !container.state().applies_writes()) {
            return Ok(());
        }
        batch.create_container(at, id.container, block.block_id.replica_index())?;
        if let [chunk] = &block.chunks[..]
            && chunk.offset == 0
            && self.payloads.rides_in_log(chunk.len)
        {
            match self.runtime.block_on(self.payloads.fetch_chunk(block, chunk)) {
                Ok(bytes) => _ = batch.put_small_file(at, block, chunk, bytes)?,
                Err(failure) if failure.is_gone() => {}
                Err(failure) => return Err(failure.into()),
            }
            return Ok(());
        }
        let fetched = self.runtime.block_on(async {
            let fetching = block.chunks.iter().map(|chunk| self.payloads.refill(block, chunk));
            stream::iter(fetching).buffered(FETCHES).try_collect::<Vec<()>>().await?;
            self.payloads.sync(block).await
        });
        match fetched {
            Ok(()) => _ = batch.put_block(at, block)?,
            // Deleted meanwhile.
            Err(failure) if failure.is_gone() => {}
            Err(failure) => return Err(failure.into()),
        }
        Ok(())
    }

    /// Closes what is closed elsewhere, and moves to the snapshot's position.
    fn end(&self, closed: Vec<ContainerId>) -> Result<(), SnapshotError> {
        let mut batch = self.pipeline.begin();
        for id in closed {
            let open = self.store.container(id).is_ok_and(|container| {
                matches!(container.state(), ContainerState::Open | ContainerState::Closing)
            });
            if open {
                batch.close_container(self.at, id)?;
            }
        }
        batch.advance(self.at);
        batch.commit()?;
        self.pipeline.flush()?;
        Ok(())
    }
}
