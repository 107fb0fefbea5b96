//! Rows of many blocks.

use std::cmp::Ordering;

use metastore::IterRange;
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use rustc_hash::FxHashSet;
use types::LocalId;

use super::Container;
use crate::error::{Result, StorageError};
use crate::tables::{self, BLOCK_DATA, DELETE_TXNS, StoredBlock};

/// Fewer blocks are not worth a cursor.
const FEW: usize = 8;

/// Keys (rows or tombstones) per wanted row up to which a cursor is faster than single reads.
const SPREAD: u64 = 4;

/// Rows read at a time.
pub(crate) const PAGE: usize = 500;

/// Bytes of rows that are read ahead.
const READAHEAD: usize = 1 << 20;

impl Container {
    /// Returns the next rows after a block, [`PAGE`] at most. Blocks.
    ///
    /// # Errors
    /// When the disk fails, or one of the rows does not decode.
    pub(crate) fn rows_after(&self, after: Option<LocalId>) -> Result<Vec<(LocalId, StoredBlock)>> {
        let range = IterRange::prefix(tables::prefix(self.id)).background(READAHEAD);
        let mut cursor = self.disk.db.iter(BLOCK_DATA, range)?;
        match after {
            None => cursor.first(),
            Some(after) => {
                let mut behind = tables::block_key(self.id, after);
                behind.push(0);
                cursor.seek(&behind);
            }
        }
        let mut rows = Vec::new();
        while rows.len() < PAGE {
            let Some((key, value)) = cursor.row()? else { break };
            let local = tables::block_of(key)
                .ok_or_else(|| StorageError::row(self.id, "block_data", "malformed key"))?;
            rows.push((local, StoredBlock::read(self.id, value)?));
            cursor.next();
        }
        Ok(rows)
    }

    /// Blocks that deletion transactions name. Blocks.
    ///
    /// # Errors
    /// When the disk fails, or one of the rows does not decode.
    pub(crate) fn blocks_to_delete(&self) -> Result<FxHashSet<LocalId>> {
        let mut deleted = FxHashSet::default();
        let mut cursor =
            self.disk.db.iter(DELETE_TXNS, IterRange::prefix(tables::prefix(self.id)))?;
        cursor.first();
        while let Some((_, value)) = cursor.row()? {
            let tx = DeletedBlocksTransaction::decode(value)
                .map_err(|e| StorageError::row(self.id, "delete_txns", e))?;
            deleted.extend(tx.local_id.iter().map(|local| LocalId(*local as u64)));
            cursor.next();
        }
        Ok(deleted)
    }

    /// Returns the rows of blocks, which are in ascending order and unique. Neighbours are read one
    /// after the other, for a fraction of the cost of single look-ups. Blocks.
    ///
    /// # Errors
    /// When the disk fails, or one of the rows does not decode.
    pub(crate) fn block_rows(&self, locals: &[LocalId]) -> Result<Vec<Option<StoredBlock>>> {
        let (Some(first), Some(last)) = (locals.first(), locals.last()) else {
            return Ok(Vec::new());
        };
        if !are_neighbours(locals, *first, *last) {
            return locals.iter().map(|local| self.block_row(*local)).collect();
        }
        let key = |local| tables::block_key(self.id, local);
        let mut end = key(*last);
        end.push(0);
        let mut cursor = self.disk.db.iter(BLOCK_DATA, IterRange::from(key(*first)).until(end))?;
        cursor.first();
        let mut rows = Vec::with_capacity(locals.len());
        for wanted in locals.iter().map(|local| key(*local)) {
            let mut found = None;
            while let Some((here, value)) = cursor.row()? {
                match here.cmp(&wanted) {
                    Ordering::Less => cursor.next(),
                    Ordering::Equal => {
                        found = Some(StoredBlock::read(self.id, value)?);
                        cursor.next();
                        break;
                    }
                    Ordering::Greater => break,
                }
            }
            rows.push(found);
        }
        Ok(rows)
    }
}

/// Returns `true` if few keys lie between the blocks, and their keys, which are their numbers in
/// digits, have the order of the numbers.
fn are_neighbours(locals: &[LocalId], first: LocalId, last: LocalId) -> bool {
    let span = last.0.saturating_sub(first.0);
    let room = u64::try_from(locals.len()).unwrap_or(u64::MAX).saturating_mul(SPREAD);
    let digits = |local: LocalId| local.0.checked_ilog10();
    locals.len() >= FEW && span <= room && digits(first) == digits(last)
}
