//! Merkle trees of replicas, built from their rows, and their checksums for SCM.
//!
//! The checksum of a closed replica is computed once, in the background, and stored among its sums;
//! later deletions are subtracted from it. A missing one is due.

use std::sync::Arc;

use container::merkle;
use metastore::{Batch, Durability};
use proto::datanode::ContainerChecksumInfo;
use rustc_hash::FxHashMap;
use types::{ContainerId, LocalId};

use crate::containers::{Container, Sums};
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::StoredBlock;

/// Offsets of damaged chunks by block.
pub(super) type Damage = FxHashMap<LocalId, Vec<u64>>;

/// The checksum of a replica without one of its blocks.
pub(super) fn checksum_without(checksum: u64, local: LocalId, row: &StoredBlock) -> u64 {
    match checksum {
        0 => 0,
        known => known.wrapping_sub(merkle::block_sum(&merkle::block(local, &row.chunks, &[]))),
    }
}

impl Container {
    /// Returns its tree; `damage` is its known damage. Blocks.
    pub(super) fn tree(&self, damage: &Damage) -> Result<merkle::Tree> {
        let deleted = self.blocks_to_delete()?;
        let mut tree = merkle::Tree::default();
        for_each_row(self, |local, row| {
            if !deleted.contains(&local) {
                let damaged = damage.get(&local).map_or(&[][..], Vec::as_slice);
                tree.add(merkle::block(local, &row.chunks, damaged));
            }
        })?;
        deleted.into_iter().for_each(|local| tree.add_deleted(local));
        Ok(tree)
    }
}

/// Tree and counts of a replica's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowTotals {
    pub blocks: u64,
    pub used: u64,
    pub checksum: u64,
    /// The highest commit sequence id of a block.
    pub bcsid: u64,
}

impl RowTotals {
    /// Reads all rows; they may change meanwhile. Blocks.
    pub fn of(container: &Container) -> Result<Self> {
        let mut totals = Self { blocks: 0, used: 0, checksum: merkle::EMPTY, bcsid: 0 };
        for_each_row(container, |local, row| {
            let sum = merkle::block_sum(&merkle::block(local, &row.chunks, &[]));
            totals.blocks = totals.blocks.saturating_add(1);
            totals.used = totals.used.saturating_add(row.length());
            totals.checksum = totals.checksum.wrapping_add(sum);
            totals.bcsid = totals.bcsid.max(row.bcsid());
        })?;
        Ok(totals)
    }
}

/// Visits all rows. Blocks.
pub(super) fn for_each_row(
    container: &Container,
    mut visit: impl FnMut(LocalId, &StoredBlock),
) -> Result<()> {
    let mut last = None;
    loop {
        let rows = container.rows_after(last)?;
        let Some((local, _)) = rows.last() else { return Ok(()) };
        last = Some(*local);
        rows.iter().for_each(|(local, row)| visit(*local, row));
    }
}

impl ContainerStore {
    /// The Merkle tree of a replica, from its rows. Blocks.
    ///
    /// # Errors
    /// When the replica is not here or takes writes, or a row cannot be read.
    pub fn checksum_info(&self, id: ContainerId) -> Result<ContainerChecksumInfo> {
        let container = self.container(id)?;
        let state = container.state();
        if state.is_live() {
            return Err(StorageError::NotClosed { id, state });
        }
        Ok(container.tree(&Damage::default())?.into_info(id))
    }

    /// Returns the number of replicas that wait for their checksum.
    pub fn checksums_due(&self) -> usize {
        self.checksums().len()
    }

    /// Computes the next due checksum. Returns its container, and `true` if it is known now: not if
    /// the replica changed meanwhile, or is not closed any more. Blocks.
    ///
    /// # Errors
    /// When its rows cannot be read or written. It is due again after the next start.
    pub fn compute_next_checksum(&self) -> Option<(ContainerId, Result<bool>)> {
        let id = self.checksums().pop()?;
        let Some(container) = self.find(id) else { return Some((id, Ok(false))) };
        let computed = self.compute_checksum(&container);
        if matches!(computed, Ok(false)) {
            self.checksums().note(&container);
        }
        Some((id, computed))
    }

    fn compute_checksum(&self, container: &Arc<Container>) -> Result<bool> {
        let before = container.sums();
        if before.checksum != 0 || !container.is_settled() {
            return Ok(before.checksum != 0);
        }
        let sum = RowTotals::of(container)?.checksum;
        let _commit = container.commit.lock();
        let now = container.sums();
        if now != before || !container.is_settled() {
            return Ok(false);
        }
        let sums = Sums { checksum: sum, ..now };
        let mut batch = Batch::new();
        sums.put_changed(container, &mut batch);
        // One that is lost in a crash is computed again.
        container.disk().db.write(batch, Durability::NoWal)?;
        container.set_sums(sums);
        self.note_changed(container.id());
        Ok(true)
    }
}
