//! Catching up a replica that lags behind the trimmed log from a snapshot: missing parts of the
//! listed blocks are fetched from the other members and committed as if their entries had been
//! applied.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use container::ContainerState;
use futures::stream::{self, StreamExt, TryStreamExt};
use proto::datanode::BlockData;
use proto::datanode::Result as ResultCode;
use proto::datanode::container_data_proto::State;
use tokio::runtime::Handle;
use tokio::time::Instant;
use types::{BlockId, ContainerId};

use super::payload::Payloads;
use super::snapshot::{Item, Items, SnapshotError};
use crate::command::Failure;
use containerstore::{ApplyBatch, ContainerStore, PipelineStore, Position, bcsid_of};

/// Blocks committed in one batch.
const BATCH: usize = 128;

/// Chunks of a block fetched at a time.
const FETCHES: usize = 4;

/// Time for which a chunk is requested that no member returns: starting members and new connections
/// take moments, and a snapshot that is not restored stops the replica.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause before retrying the fetch of a chunk.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Fetches what is missing of a snapshot.
pub(crate) struct CatchUp<'a> {
    pub store: &'a ContainerStore,
    pub pipeline: &'a PipelineStore,
    pub payloads: &'a Payloads,
    pub runtime: &'a Handle,
    /// Position of the snapshot.
    pub at: Position,
}

impl CatchUp<'_> {
    /// Commits everything that the snapshot in `dir` lists and this replica lacks; returns the
    /// number of blocks. Durable when it returns. Blocks.
    pub fn run(&self, dir: &Path) -> Result<u64, SnapshotError> {
        let mut missing = 0;
        let mut waiting = Vec::with_capacity(BATCH);
        let mut ends = BTreeMap::new();
        for item in Items::open(dir)? {
            let item = item?;
            let (id, bcsid) = match &item {
                Item::Container(container) => {
                    (ContainerId::from_wire(container.container_id), bcsid_of(container))
                }
                Item::Block(block) => {
                    let id = BlockId::from_datanode(&block.block_id);
                    (id.container, id.bcsid)
                }
            };
            let end: &mut End = ends.entry(id).or_default();
            end.bcsid = end.bcsid.max(bcsid);
            match item {
                Item::Container(container) => end.closes |= container.state() == State::Closed,
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

    /// Returns `true` if a block is here up to its length in the snapshot.
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
        // SCM ended a container that takes no writes here without its pipeline; SCM has its
        // commits.
        if container.is_ok_and(|container| !container.state().applies_writes()) {
            return Ok(());
        }
        batch.create_container(at, id.container, block.block_id.replica_index())?;
        if let [chunk] = &block.chunks[..]
            && chunk.offset == 0
            && self.payloads.rides_in_log(chunk.len)
        {
            let fetched = again(async || self.payloads.fetch_chunk(block, chunk).await);
            match self.runtime.block_on(fetched) {
                Ok(bytes) => _ = batch.put_small_file(at, block, chunk, bytes)?,
                Err(failure) if failure.is_gone() => {}
                Err(failure) => return Err(failure.into()),
            }
            return Ok(());
        }
        let fetched = self.runtime.block_on(async {
            let fetching = block
                .chunks
                .iter()
                .map(|chunk| again(async || self.payloads.refill(block, chunk).await));
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

    /// Records the containers' positions now that all blocks are here, closes those that are closed
    /// elsewhere, and moves to the snapshot's position.
    fn end(&self, ends: BTreeMap<ContainerId, End>) -> Result<(), SnapshotError> {
        let mut batch = self.pipeline.begin();
        for (id, End { bcsid, closes }) in ends {
            let open = self.store.container(id).is_ok_and(|container| {
                matches!(container.state(), ContainerState::Open | ContainerState::Closing)
            });
            if open {
                batch.reach(id, bcsid)?;
            }
            if open && closes {
                batch.close_container(self.at, id)?;
            }
        }
        batch.advance(self.at);
        batch.commit()?;
        self.pipeline.flush()?;
        Ok(())
    }
}

/// State of a container when all of its blocks are here.
#[derive(Default)]
struct End {
    /// Its block commit sequence id.
    bcsid: u64,
    /// It is closed elsewhere.
    closes: bool,
}

/// Fetches again, for [`FETCH_TIMEOUT`], what no member could give.
async fn again<T>(fetch: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    again_until(Instant::now() + FETCH_TIMEOUT, fetch).await
}

async fn again_until<T>(
    until: Instant,
    mut fetch: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    loop {
        match fetch().await {
            Err(failure)
                if failure.code == ResultCode::UnableToFindChunk && Instant::now() < until =>
            {
                tracing::debug!(%failure, "retrying the fetch of a chunk");
                tokio::time::sleep(RETRY_DELAY).await;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: ResultCode) -> Failure {
        Failure::new(code, "no")
    }

    /// Returns the outcome of these responses within a time, and the number of requests.
    async fn ask(
        time: Duration,
        answers: impl Fn(u32) -> Result<u32, Failure>,
    ) -> (Result<u32, ResultCode>, u32) {
        let mut asked = 0;
        let fetch = async || {
            asked += 1;
            answers(asked)
        };
        let answer = again_until(Instant::now() + time, fetch).await;
        (answer.map_err(|failure| failure.code), asked)
    }

    #[tokio::test]
    async fn a_chunk_that_no_member_gives_at_once_is_asked_for_again() {
        let third = |asked| match asked {
            3 => Ok(7),
            _ => Err(refusal(ResultCode::UnableToFindChunk)),
        };
        assert_eq!(ask(FETCH_TIMEOUT, third).await, (Ok(7), 3));
    }

    #[tokio::test]
    async fn a_chunk_that_no_member_has_is_not_asked_for_for_ever() {
        let nobody = |_| Err(refusal(ResultCode::UnableToFindChunk));
        let (answer, asked) = ask(3 * RETRY_DELAY, nobody).await;
        assert_eq!(answer, Err(ResultCode::UnableToFindChunk));
        assert!((2..=4).contains(&asked), "{asked}");
    }

    #[tokio::test]
    async fn what_no_other_answer_can_change_is_not_asked_for_again() {
        for code in [ResultCode::NoSuchBlock, ResultCode::IoException, ResultCode::DiskOutOfSpace] {
            assert_eq!(ask(FETCH_TIMEOUT, |_| Err(refusal(code))).await, (Err(code), 1));
        }
    }
}
