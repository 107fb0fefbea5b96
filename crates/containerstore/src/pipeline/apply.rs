//! One round of log entries that is applied to the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use container::chunks::BlockState;
use metastore::Batch;
use rustc_hash::FxHashMap;
use types::{ContainerId, LocalId};

use super::{PipelineStore, Position};
use crate::containers::{Container, InitialState, NewContainer};
use crate::error::{Result, StorageError};
use crate::position::PipelinePositions;
use crate::tables::{Packed, StoredBlock};

/// Changes of one round of entries: visible and durable together, or not at all.
///
/// An error of a single call is that command's own failure; the batch stays usable. Nothing is
/// visible before [`commit`](Self::commit).
pub struct ApplyBatch<'a> {
    pub(super) pipeline: &'a PipelineStore,
    pub(super) positions: PipelinePositions,
    pub(super) batch: Batch,
    pub(super) touched: BTreeMap<ContainerId, Touched>,
    pub(super) position: Position,
    /// True if its blocks come from a snapshot, in no order.
    pub(super) catching_up: bool,
}

/// Changes of the round to one container.
pub(super) struct Touched {
    pub container: Arc<Container>,
    pub added_bytes: u64,
    pub added_blocks: u64,
    pub bcsid: u64,
    /// Blocks as this round leaves them: later entries of the round see earlier ones.
    pub blocks: FxHashMap<LocalId, Left>,
    /// Segments whose sums changed.
    pub segments: BTreeSet<u32>,
    /// Blocks that were deleted before they came, here or everywhere else, and have no row.
    pub deleted_early: Vec<LocalId>,
    /// Blocks of those without another known entry that leaves no data, and the entry.
    pub early_ended: Vec<(LocalId, u64)>,
    /// Blocks deleted since this round read them.
    pub gone: Vec<LocalId>,
    /// [`Container::deletions`] before this round read any block.
    pub deletions: u64,
    pub closed: bool,
}

/// A block that is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Existing {
    pub state: BlockState,
    pub packed: Option<Packed>,
    pub finalized: bool,
}

impl Existing {
    pub fn of(row: &StoredBlock) -> Self {
        let state = BlockState { length: row.length(), bcsid: row.bcsid() };
        Self { state, packed: row.packed, finalized: row.finalized }
    }
}

/// A block after an entry of this round.
pub(super) struct Left {
    pub existing: Existing,
    /// Its row.
    pub row: Vec<u8>,
    /// Changes of this round to it.
    pub change: Change,
}

/// Changes of a round to a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Change {
    /// The tables had a row of it.
    pub was_there: bool,
    /// The place that row gives it, of which this round took it away.
    pub left_place: Option<Packed>,
    pub added_bytes: u64,
    pub added_blocks: u64,
}

impl<'a> ApplyBatch<'a> {
    pub(crate) fn new(pipeline: &'a PipelineStore) -> Self {
        let positions = pipeline.positions();
        Self {
            pipeline,
            positions,
            batch: Batch::new(),
            touched: BTreeMap::new(),
            position: positions.applied,
            catching_up: false,
        }
    }

    /// Creates a batch of blocks from a snapshot. They move neither the pipeline's position nor the
    /// block commit sequence ids of containers: until all of them are here, the replica has not
    /// reached the position of any ([`reach`](Self::reach)).
    pub(super) fn catching_up(pipeline: &'a PipelineStore) -> Self {
        Self { catching_up: true, ..Self::new(pipeline) }
    }

    /// Is this entry's effect in the tables already?
    pub(super) fn is_replay(&self, at: Position) -> bool {
        at.index <= self.positions.seen.index
    }

    /// Records that entries up to `at` are applied, whatever they were.
    pub fn advance(&mut self, at: Position) {
        if !self.catching_up {
            self.position = self.position.max(at);
        }
    }

    /// Records that the replica of a container has all blocks that were put up to this block commit
    /// sequence id.
    ///
    /// # Errors
    /// When there is no such container, or it takes no writes.
    pub fn reach(&mut self, id: ContainerId, bcsid: u64) -> Result<()> {
        let touched = self.touch_writable(id)?;
        touched.bcsid = touched.bcsid.max(bcsid);
        Ok(())
    }

    /// Creates a container of this pipeline, if it does not exist.
    ///
    /// # Errors
    /// When the container is lost, or the disk fails.
    pub fn create_container(
        &mut self,
        at: Position,
        id: ContainerId,
        replica_index: i32,
    ) -> Result<()> {
        self.advance(at);
        let store = &self.pipeline.store;
        // A container that replay does not find was deleted since; it must not come back.
        if self.touched.contains_key(&id) || self.is_replay(at) || store.container(id).is_ok() {
            return Ok(());
        }
        store.create_container(NewContainer {
            id,
            replica_index,
            pipeline: Some(self.pipeline.id),
            disk: Some(Arc::clone(&self.pipeline.disk)),
            storage_type: None,
            state: InitialState::Open,
        })?;
        Ok(())
    }

    /// Closes a container: this and every complete replica hold the same blocks.
    ///
    /// # Errors
    /// When there is no such container, or its state forbids it.
    pub fn close_container(&mut self, at: Position, id: ContainerId) -> Result<()> {
        use container::ContainerState::{Closed, QuasiClosed};
        self.advance(at);
        if self.is_replay(at) {
            return Ok(());
        }
        let touched = self.touch(id)?;
        let state = touched.container.state();
        if state == QuasiClosed && !touched.closed {
            return Err(StorageError::ClosedBesideLog(id));
        }
        state.become_(Closed).map_err(|error| StorageError::Transition { id, error })?;
        touched.closed = true;
        Ok(())
    }

    /// The container's part of this round.
    pub(super) fn touch(&mut self, id: ContainerId) -> Result<&mut Touched> {
        use std::collections::btree_map::Entry;
        match self.touched.entry(id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let container = self.pipeline.store.container(id)?;
                let deletions = container.deletions();
                Ok(entry.insert(Touched {
                    container,
                    added_bytes: 0,
                    added_blocks: 0,
                    bcsid: 0,
                    blocks: FxHashMap::default(),
                    segments: BTreeSet::new(),
                    deleted_early: Vec::new(),
                    early_ended: Vec::new(),
                    gone: Vec::new(),
                    deletions,
                    closed: false,
                }))
            }
        }
    }

    /// The container's part of this round, if it takes writes.
    pub(super) fn touch_writable(&mut self, id: ContainerId) -> Result<&mut Touched> {
        let touched = self.touch(id)?;
        let state = match touched.closed {
            true => container::ContainerState::Closed,
            false => touched.container.state(),
        };
        match state {
            state if state.applies_writes() => Ok(touched),
            container::ContainerState::QuasiClosed => Err(StorageError::ClosedBesideLog(id)),
            state => Err(StorageError::NotWritable { id, state }),
        }
    }
}

impl Touched {
    /// The block as earlier entries of this round, or the tables, have it.
    pub(super) fn existing(&self, local: LocalId) -> Result<Option<Existing>> {
        if let Some(left) = self.blocks.get(&local) {
            return Ok(Some(left.existing));
        }
        Ok(self.container.block_row(local)?.as_ref().map(Existing::of))
    }

    /// The block's row as earlier entries of this round, or the tables, have it.
    pub(super) fn row(&self, local: LocalId) -> Result<Option<StoredBlock>> {
        match self.blocks.get(&local) {
            Some(left) => StoredBlock::read(self.container.id(), &left.row).map(Some),
            None => self.container.block_row(local),
        }
    }
}
