//! The parts of an upload are deleted as one range: an upload of ten thousand parts leaves one
//! tombstone.
//!
//! A range would also remove rows that this round did not delete, so a prefix is deleted as a range
//! only if the table has no other row of it. Rows of this round that were put are not in the table
//! yet, and are written after the range.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use metastore::Batch;
use namespace::tables::prefix_end;
use namespace::{Table, View, ViewError};

use super::Tables;
use crate::state::column_families::stored;

/// Parts of one upload from which on they go as a range. A reader pays for each range of a file, so
/// there are to be few.
const MIN_PARTS: usize = 32;

/// Adds the removal of parts to the batch of a round.
pub(super) fn delete_parts(
    tables: &Tables,
    parts: Vec<Vec<u8>>,
    batch: &mut Batch,
) -> Result<(), ViewError> {
    let mut by_upload: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for part in parts {
        by_upload.entry(upload_of(&part).to_vec()).or_default().push(part);
    }
    let table = stored(Table::MultipartPartsTable);
    for (upload, mut parts) in by_upload {
        parts.sort_unstable();
        match prefix_end(&upload) {
            Some(end) if parts.len() >= MIN_PARTS && are_all(tables, &upload, &end, &parts)? => {
                batch.delete_range_first(table, upload, end);
            }
            _ => parts.into_iter().for_each(|part| batch.delete(table, part)),
        }
    }
    Ok(())
}

/// `uploadID/` of a part; all of the key when it is none.
fn upload_of(part: &[u8]) -> &[u8] {
    // The number after the slash may have bytes that are slashes, too.
    let slash = part.len().saturating_sub(5);
    match part.get(slash) {
        Some(b'/') => part.get(..=slash).unwrap_or(part),
        _ => part,
    }
}

/// Returns `true` if the table has no row of `upload` but `parts`, which are sorted.
fn are_all(
    tables: &Tables,
    upload: &[u8],
    end: &[u8],
    parts: &[Vec<u8>],
) -> Result<bool, ViewError> {
    let mut all = true;
    tables.scan(Table::MultipartPartsTable, upload, Some(end), &mut |key, _| {
        all = parts.binary_search_by(|part| part.as_slice().cmp(key)).is_ok();
        if all { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use namespace::tables::part_key;

    use super::*;

    #[test]
    fn a_part_names_its_upload() {
        let slashes = u32::from_be_bytes(*b"////");
        for number in [1, 47, slashes, u32::MAX] {
            assert_eq!(upload_of(&part_key("upload-1", number)), b"upload-1/");
        }
        assert_eq!(upload_of(b"no"), b"no");
    }
}
