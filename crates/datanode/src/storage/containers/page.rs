//! The rows of a container's blocks, a page at a time.

use metastore::IterRange;
use types::LocalId;

use super::Container;
use crate::storage::error::{Result, StorageError};
use crate::storage::tables::{self, BLOCK_DATA, StoredBlock};

/// Most rows of a page.
pub(in crate::storage) const PAGE: usize = 500;

/// Bytes of rows that are read ahead.
pub(in crate::storage) const READAHEAD: usize = 1 << 20;

/// The rows of the blocks behind `after`, [`PAGE`] at most. Blocks.
///
/// # Errors
/// When the disk fails or a row does not decode.
pub(in crate::storage) fn page(
    container: &Container,
    after: Option<LocalId>,
) -> Result<Vec<(LocalId, StoredBlock)>> {
    let id = container.id();
    let range = IterRange::prefix(tables::prefix(id)).background(READAHEAD);
    let mut cursor = container.disk().db.iter(BLOCK_DATA, range)?;
    match after {
        None => cursor.first(),
        Some(after) => {
            let mut behind = tables::block_key(id, after);
            behind.push(0);
            cursor.seek(&behind);
        }
    }
    let mut rows = Vec::new();
    while rows.len() < PAGE {
        let Some((key, value)) = cursor.row()? else { break };
        let local = tables::block_of(key)
            .ok_or_else(|| StorageError::row(id, "block_data", "malformed key"))?;
        rows.push((local, StoredBlock::read(id, value)?));
        cursor.next();
    }
    Ok(rows)
}
