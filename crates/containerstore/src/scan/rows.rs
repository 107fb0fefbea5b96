//! The rows of a container's blocks and of its sums.

use metastore::IterRange;

use crate::containers::Container;
use crate::error::Result;
use crate::tables::{self, BLOCK_DATA, METADATA, StoredBlock};

/// Bytes of rows that are read ahead.
const READAHEAD: usize = 1 << 20;

/// Returns the fault of the sums' rows: they contain the container's counts. Blocks.
pub(super) fn check_sums(container: &Container) -> Result<Option<String>> {
    // Rows and sums change together under this lock.
    let _commit = container.commit.lock();
    let sums = container.sums();
    let expected = [
        (tables::BCSID, sums.bcsid),
        (tables::BLOCK_COUNT, sums.blocks),
        (tables::BYTES_USED, sums.used),
        (tables::DELETE_TX, sums.delete_tx),
    ];
    for (name, has) in expected {
        let said = number(container, name)?;
        if said != has {
            return Ok(Some(format!("its row {name} contains {said}, it has {has}")));
        }
    }
    Ok(None)
}

/// Returns the fault of the blocks' rows taken together: their number and bytes must equal the
/// sums. Blocks.
pub(super) fn check_count(container: &Container) -> Result<Option<String>> {
    let id = container.id();
    let range = IterRange::prefix(tables::prefix(id)).background(READAHEAD);
    // The cursor sees the rows as they are now, which is as the sums are now.
    let (sums, mut cursor) = {
        let _commit = container.commit.lock();
        (container.sums(), container.disk().db.iter(BLOCK_DATA, range)?)
    };
    let (mut blocks, mut used, mut failed) = (0u64, 0u64, None);
    cursor.first();
    cursor.for_each(|_, value| match StoredBlock::read(id, value) {
        Ok(row) => {
            blocks += 1;
            used = used.saturating_add(row.length());
            true
        }
        Err(error) => {
            failed = Some(error);
            false
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let (should, bytes) = (sums.blocks, sums.used);
    let differs = (blocks, used) != (should, bytes);
    let reason =
        || format!("{blocks} blocks of {used} bytes have rows, there were {should} of {bytes}");
    Ok(differs.then(reason))
}

/// A row of the sums; one that was never written is 0.
fn number(container: &Container, name: &str) -> Result<u64> {
    let id = container.id();
    match container.disk().db.get(METADATA, &tables::metadata_key(id, name))? {
        Some(value) => tables::read_number(id, &value),
        None => Ok(0),
    }
}
