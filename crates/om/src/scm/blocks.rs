//! Blocks held ready, so that creating a key needs no call to SCM.
//!
//! Blocks stand on one shelf per replication. A shelf that runs low is refilled in the
//! background, and holds more the faster it is emptied; blocks that stood too long are thrown
//! away, because their containers may have been closed meanwhile. A client that excludes nodes,
//! pipelines or containers gets fresh blocks, and what it excluded leaves the shelves.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proto::block_location::AllocateBlockResponse;
use proto::hdds;
use rustc_hash::FxHashMap;
use types::ReplicationConfig;

use super::locations::{Locations, slim};
use super::{ScmClient, ScmError};

/// What a shelf holds before its demand is known.
const FIRST_TARGET: usize = 32;
/// A shelf that is emptied again within this time grows.
const GROW_WITHIN: Duration = Duration::from_secs(2);

/// How a pool is kept.
#[derive(Debug, Clone)]
pub(crate) struct PoolOptions {
    /// Most blocks on one shelf.
    pub(crate) size: usize,
    /// Age at which blocks are thrown away.
    pub(crate) max_age: Duration,
    /// Bytes of a block.
    pub(crate) block_size: u64,
    /// Owner of the containers: OM's service id.
    pub(crate) owner: String,
}

/// A block that a client may write.
#[derive(Debug, Clone)]
pub(crate) struct FreshBlock {
    pub(crate) id: hdds::ContainerBlockId,
    pub(crate) pipeline: Arc<hdds::Pipeline>,
}

struct Ready {
    block: FreshBlock,
    since: Instant,
}

struct Shelf {
    ready: Mutex<Stock>,
    /// Held by whoever is asking SCM.
    fetching: tokio::sync::Mutex<()>,
}

struct Stock {
    blocks: VecDeque<Ready>,
    target: usize,
    refilled: Instant,
    failed: Option<(Instant, ScmError)>,
}

impl Shelf {
    fn new(size: usize) -> Self {
        Self {
            ready: Mutex::new(Stock {
                blocks: VecDeque::new(),
                target: FIRST_TARGET.min(size),
                refilled: Instant::now(),
                failed: None,
            }),
            fetching: tokio::sync::Mutex::new(()),
        }
    }
}

/// The shelves, and who fills them.
pub(crate) struct BlockPool {
    scm: ScmClient,
    locations: Arc<Locations>,
    options: PoolOptions,
    shelves: Mutex<FxHashMap<ReplicationConfig, Arc<Shelf>>>,
}

impl BlockPool {
    pub(crate) fn new(
        scm: ScmClient,
        locations: Arc<Locations>,
        options: PoolOptions,
    ) -> Arc<Self> {
        Arc::new(Self { scm, locations, options, shelves: Mutex::default() })
    }

    /// Lets go of all blocks: somebody else leads now.
    pub(crate) fn clear(&self) {
        self.shelves.lock().clear();
    }

    /// Blocks on all shelves, for metrics.
    pub(crate) fn ready(&self) -> usize {
        let shelves: Vec<Arc<Shelf>> = self.shelves.lock().values().cloned().collect();
        shelves.iter().map(|s| s.ready.lock().blocks.len()).sum()
    }

    /// `count` blocks, from the shelf when it holds them.
    pub(crate) async fn take(
        self: &Arc<Self>,
        replication: ReplicationConfig,
        count: usize,
    ) -> Result<Vec<FreshBlock>, ScmError> {
        let shelf = self.shelf(replication);
        if let Some(blocks) = self.take_ready(&shelf, replication, count) {
            return Ok(blocks);
        }
        let asked = Instant::now();
        let _turn = shelf.fetching.lock().await;
        if let Some(blocks) = self.take_ready(&shelf, replication, count) {
            return Ok(blocks);
        }
        if let Some((when, error)) = &shelf.ready.lock().failed
            && *when >= asked
        {
            return Err(error.clone());
        }
        let target = self.grow(&shelf);
        let mut blocks = match self.fetch(replication, count + target).await {
            // SCM may have room for few blocks only.
            Err(ScmError::Refused(_)) if target > 0 => self.fetch(replication, count).await,
            other => other,
        }
        .inspect_err(|e| shelf.ready.lock().failed = Some((Instant::now(), e.clone())))?;
        if blocks.len() < count {
            return Err(ScmError::Refused(format!(
                "SCM allocated {} of {count} blocks {replication}",
                blocks.len()
            )));
        }
        let spare = blocks.split_off(count);
        self.store(&shelf, spare);
        Ok(blocks)
    }

    /// `count` blocks that avoid what `exclude` names. Its nodes, pipelines and containers leave
    /// the shelves: a client had trouble with them.
    pub(crate) async fn take_excluding(
        &self,
        replication: ReplicationConfig,
        count: usize,
        exclude: hdds::ExcludeListProto,
    ) -> Result<Vec<FreshBlock>, ScmError> {
        self.discard(&exclude);
        let answer = self
            .scm
            .allocate(
                &replication,
                count as u32,
                self.options.block_size,
                &self.options.owner,
                Some(exclude),
            )
            .await?;
        let blocks = self.receive(answer);
        if blocks.len() < count {
            return Err(ScmError::Refused(format!(
                "SCM allocated {} of {count} blocks {replication} outside the exclude list",
                blocks.len()
            )));
        }
        Ok(blocks)
    }

    /// Throws away blocks on excluded nodes, pipelines or containers.
    fn discard(&self, exclude: &hdds::ExcludeListProto) {
        let shelves: Vec<Arc<Shelf>> = self.shelves.lock().values().cloned().collect();
        for shelf in shelves {
            shelf.ready.lock().blocks.retain(|r| !excluded(&r.block, exclude));
        }
    }

    fn shelf(&self, replication: ReplicationConfig) -> Arc<Shelf> {
        let mut shelves = self.shelves.lock();
        let make = || Arc::new(Shelf::new(self.options.size));
        Arc::clone(shelves.entry(replication).or_insert_with(make))
    }

    fn take_ready(
        self: &Arc<Self>,
        shelf: &Arc<Shelf>,
        replication: ReplicationConfig,
        count: usize,
    ) -> Option<Vec<FreshBlock>> {
        let (taken, low) = {
            let mut stock = shelf.ready.lock();
            let now = Instant::now();
            let before = stock.blocks.len();
            while let Some(first) = stock.blocks.front()
                && now.duration_since(first.since) > self.options.max_age
            {
                stock.blocks.pop_front();
            }
            if stock.blocks.is_empty() && before > 0 {
                stock.target = (stock.target / 2).max(FIRST_TARGET).min(self.options.size);
            }
            if stock.blocks.len() < count {
                return None;
            }
            let taken = stock.blocks.drain(..count).map(|r| r.block).collect();
            (taken, stock.blocks.len() < stock.target / 2)
        };
        if low && shelf.fetching.try_lock().is_ok() {
            self.refill(Arc::clone(shelf), replication);
        }
        Some(taken)
    }

    /// Fills a shelf in the background, unless somebody is at it.
    fn refill(self: &Arc<Self>, shelf: Arc<Shelf>, replication: ReplicationConfig) {
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(_turn) = shelf.fetching.try_lock() else { return };
            let target = pool.grow(&shelf);
            let missing = target.saturating_sub(shelf.ready.lock().blocks.len());
            if missing == 0 {
                return;
            }
            match pool.fetch(replication, missing).await {
                Ok(blocks) => pool.store(&shelf, blocks),
                Err(e) => tracing::warn!(%replication, "cannot refill the block pool: {e}"),
            }
        });
    }

    /// What the shelf should hold now: twice as much when it was emptied quickly.
    fn grow(&self, shelf: &Shelf) -> usize {
        let mut stock = shelf.ready.lock();
        let now = Instant::now();
        if now.duration_since(stock.refilled) < GROW_WITHIN {
            stock.target = (stock.target * 2).min(self.options.size);
        }
        stock.refilled = now;
        stock.target
    }

    fn store(&self, shelf: &Shelf, blocks: Vec<FreshBlock>) {
        let since = Instant::now();
        let mut stock = shelf.ready.lock();
        stock.failed = None;
        stock.blocks.extend(blocks.into_iter().map(|block| Ready { block, since }));
    }

    async fn fetch(
        &self,
        replication: ReplicationConfig,
        count: usize,
    ) -> Result<Vec<FreshBlock>, ScmError> {
        let size = self.options.block_size;
        let answer =
            self.scm.allocate(&replication, count as u32, size, &self.options.owner, None).await?;
        Ok(self.receive(answer))
    }

    /// The blocks of an answer of SCM; those of one pipeline share it.
    fn receive(&self, answer: Vec<AllocateBlockResponse>) -> Vec<FreshBlock> {
        let mut pipelines: FxHashMap<hdds::PipelineId, Arc<hdds::Pipeline>> = FxHashMap::default();
        let mut blocks = Vec::with_capacity(answer.len());
        for AllocateBlockResponse { container_block_id, pipeline } in answer {
            let (Some(id), Some(pipeline)) = (container_block_id, pipeline) else { continue };
            let shared = match pipelines.get(&pipeline.id) {
                Some(known) => Arc::clone(known),
                None => {
                    let new = Arc::new(slim(pipeline));
                    pipelines.insert(new.id.clone(), Arc::clone(&new));
                    new
                }
            };
            self.locations.learn(id.container_id, &shared);
            blocks.push(FreshBlock { id, pipeline: shared });
        }
        blocks
    }
}

fn excluded(block: &FreshBlock, exclude: &hdds::ExcludeListProto) -> bool {
    exclude.container_ids.contains(&block.id.container_id)
        || exclude.pipeline_ids.iter().any(|p| same_pipeline(p, &block.pipeline.id))
        || block.pipeline.members.iter().any(|m| match &m.uuid {
            Some(uuid) => exclude.datanodes.contains(uuid),
            None => false,
        })
}

/// Ids come as text, as two numbers, or both.
fn same_pipeline(a: &hdds::PipelineId, b: &hdds::PipelineId) -> bool {
    match (types::PipelineId::from_wire(a), types::PipelineId::from_wire(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
