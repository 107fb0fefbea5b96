//! Preallocated blocks, so that creating a key needs no call to SCM.
//!
//! There is one queue of preallocated blocks per replication and list of storage types. A queue
//! that runs low is refilled in the background, and holds more the faster it is emptied; blocks
//! that waited too long are discarded, because their containers may have been closed meanwhile. A
//! client that excludes nodes, pipelines or containers gets fresh blocks, and blocks that it
//! excluded leave the queues.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proto::block_location::AllocateBlockResponse;
use proto::hdds;
use rustc_hash::FxHashMap;
use types::{ReplicationConfig, StorageType};

use super::locations::{Locations, slim};
use super::{ScmClient, ScmError};

/// Size of a queue before its demand is measured.
const FIRST_TARGET: usize = 32;
/// A queue that is emptied again within this time grows.
const GROWTH_WINDOW: Duration = Duration::from_secs(2);

/// Settings of a pool.
#[derive(Debug, Clone)]
pub(crate) struct PoolOptions {
    /// Most blocks in one queue.
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

struct ReadyBlock {
    block: FreshBlock,
    since: Instant,
}

struct PreallocatedBlocks {
    ready: Mutex<BlockQueue>,
    /// Held during a call to SCM.
    fetching: tokio::sync::Mutex<()>,
}

struct BlockQueue {
    blocks: VecDeque<ReadyBlock>,
    target: usize,
    refilled: Instant,
    failed: Option<(Instant, ScmError)>,
}

impl PreallocatedBlocks {
    fn new(size: usize) -> Self {
        Self {
            ready: Mutex::new(BlockQueue {
                blocks: VecDeque::new(),
                target: FIRST_TARGET.min(size),
                refilled: Instant::now(),
                failed: None,
            }),
            fetching: tokio::sync::Mutex::new(()),
        }
    }
}

/// Blocks that are alike: their replication, and the storage types that they may be on.
type Kind = (ReplicationConfig, &'static [StorageType]);

/// The preallocated blocks by kind, and their refill.
pub(crate) struct BlockPool {
    scm: ScmClient,
    locations: Arc<Locations>,
    options: PoolOptions,
    queues: Mutex<FxHashMap<Kind, Arc<PreallocatedBlocks>>>,
}

impl BlockPool {
    pub(crate) fn new(
        scm: ScmClient,
        locations: Arc<Locations>,
        options: PoolOptions,
    ) -> Arc<Self> {
        Arc::new(Self { scm, locations, options, queues: Mutex::default() })
    }

    /// Discards all blocks: another OM leads now.
    pub(crate) fn clear(&self) {
        self.queues.lock().clear();
    }

    /// Blocks in all queues, for metrics.
    pub(crate) fn ready(&self) -> usize {
        let queues: Vec<Arc<PreallocatedBlocks>> = self.queues.lock().values().cloned().collect();
        queues.iter().map(|s| s.ready.lock().blocks.len()).sum()
    }

    /// `count` blocks, from the queue when it holds them.
    pub(crate) async fn allocate(
        self: &Arc<Self>,
        kind: Kind,
        count: usize,
    ) -> Result<Vec<FreshBlock>, ScmError> {
        let preallocated = self.preallocated(kind);
        if let Some(blocks) = self.pop_queued(&preallocated, kind, count) {
            return Ok(blocks);
        }
        let asked = Instant::now();
        let _fetching = preallocated.fetching.lock().await;
        if let Some(blocks) = self.pop_queued(&preallocated, kind, count) {
            return Ok(blocks);
        }
        if let Some((when, error)) = &preallocated.ready.lock().failed
            && *when >= asked
        {
            return Err(error.clone());
        }
        let target = self.grow(&preallocated);
        let mut blocks = match self.fetch(kind, count + target).await {
            // SCM may have room for few blocks only.
            Err(ScmError::NoRoom(_) | ScmError::Refused(_)) if target > 0 => {
                self.fetch(kind, count).await
            }
            other => other,
        }
        .inspect_err(|e| preallocated.ready.lock().failed = Some((Instant::now(), e.clone())))?;
        if blocks.len() < count {
            return Err(ScmError::NoRoom(format!(
                "SCM allocated {} of {count} blocks {}",
                blocks.len(),
                kind.0
            )));
        }
        let spare = blocks.split_off(count);
        self.store(&preallocated, spare);
        Ok(blocks)
    }

    /// `count` blocks that avoid the nodes, pipelines and containers in `exclude`. These leave the
    /// queues: a client had trouble with them.
    pub(crate) async fn allocate_excluding(
        &self,
        kind: Kind,
        count: usize,
        exclude: hdds::ExcludeListProto,
    ) -> Result<Vec<FreshBlock>, ScmError> {
        self.discard(&exclude);
        let answer = self
            .scm
            .allocate(
                kind,
                count as u32,
                self.options.block_size,
                &self.options.owner,
                Some(exclude),
            )
            .await?;
        let blocks = self.receive(answer);
        if blocks.len() < count {
            return Err(ScmError::NoRoom(format!(
                "SCM allocated {} of {count} blocks {} outside the exclude list",
                blocks.len(),
                kind.0
            )));
        }
        Ok(blocks)
    }

    /// Throws away blocks on excluded nodes, pipelines or containers.
    fn discard(&self, exclude: &hdds::ExcludeListProto) {
        let queues: Vec<Arc<PreallocatedBlocks>> = self.queues.lock().values().cloned().collect();
        for preallocated in queues {
            preallocated.ready.lock().blocks.retain(|r| !excluded(&r.block, exclude));
        }
    }

    fn preallocated(&self, kind: Kind) -> Arc<PreallocatedBlocks> {
        let mut queues = self.queues.lock();
        let make = || Arc::new(PreallocatedBlocks::new(self.options.size));
        Arc::clone(queues.entry(kind).or_insert_with(make))
    }

    fn pop_queued(
        self: &Arc<Self>,
        preallocated: &Arc<PreallocatedBlocks>,
        kind: Kind,
        count: usize,
    ) -> Option<Vec<FreshBlock>> {
        let (taken, low) = {
            let mut queue = preallocated.ready.lock();
            let now = Instant::now();
            let before = queue.blocks.len();
            while let Some(first) = queue.blocks.front()
                && now.duration_since(first.since) > self.options.max_age
            {
                queue.blocks.pop_front();
            }
            if queue.blocks.is_empty() && before > 0 {
                queue.target = (queue.target / 2).max(FIRST_TARGET).min(self.options.size);
            }
            if queue.blocks.len() < count {
                return None;
            }
            let taken = queue.blocks.drain(..count).map(|r| r.block).collect();
            (taken, queue.blocks.len() < queue.target / 2)
        };
        if low && preallocated.fetching.try_lock().is_ok() {
            self.refill(Arc::clone(preallocated), kind);
        }
        Some(taken)
    }

    /// Refills a queue in the background, unless that is under way.
    fn refill(self: &Arc<Self>, preallocated: Arc<PreallocatedBlocks>, kind: Kind) {
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(_fetching) = preallocated.fetching.try_lock() else { return };
            let target = pool.grow(&preallocated);
            let missing = target.saturating_sub(preallocated.ready.lock().blocks.len());
            if missing == 0 {
                return;
            }
            match pool.fetch(kind, missing).await {
                Ok(blocks) => pool.store(&preallocated, blocks),
                Err(e) => {
                    tracing::warn!(replication = %kind.0, "cannot refill the block pool: {e}")
                }
            }
        });
    }

    /// New target of the queue: twice as large if it was emptied quickly.
    fn grow(&self, preallocated: &PreallocatedBlocks) -> usize {
        let mut queue = preallocated.ready.lock();
        let now = Instant::now();
        if now.duration_since(queue.refilled) < GROWTH_WINDOW {
            queue.target = (queue.target * 2).min(self.options.size);
        }
        queue.refilled = now;
        queue.target
    }

    fn store(&self, preallocated: &PreallocatedBlocks, blocks: Vec<FreshBlock>) {
        let since = Instant::now();
        let mut queue = preallocated.ready.lock();
        queue.failed = None;
        queue.blocks.extend(blocks.into_iter().map(|block| ReadyBlock { block, since }));
    }

    async fn fetch(&self, kind: Kind, count: usize) -> Result<Vec<FreshBlock>, ScmError> {
        let size = self.options.block_size;
        let answer = self.scm.allocate(kind, count as u32, size, &self.options.owner, None).await?;
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
