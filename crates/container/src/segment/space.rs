//! Reclaiming a segment's dead space.

use std::ops::Range;

use super::{SEGMENT_HEADER_LEN, SegmentInfo};

/// Unit in which file systems free space inside a file.
pub const PAGE: u64 = 4096;

/// The holes to punch for dead records: adjacent ones are merged first, then trimmed to whole
/// pages, so that a page shared with a live record is never touched.
pub fn holes(mut dead: Vec<Range<u64>>) -> Vec<Range<u64>> {
    dead.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(dead.len());
    for range in dead {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
        .into_iter()
        .map(|range| {
            range.start.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
                ..range.end.saturating_sub(range.end % PAGE)
        })
        .filter(|range| range.start < range.end)
        .collect()
}

/// Returns `true` if the live records should be copied elsewhere and the segment be unlinked: it is
/// sealed, has some live records (without any it is unlinked directly), and less than half of its
/// records' bytes are live.
pub fn worth_compacting(info: &SegmentInfo) -> bool {
    let records = info.end.saturating_sub(SEGMENT_HEADER_LEN);
    info.sealed && info.live_records > 0 && info.live_bytes.saturating_mul(2) < records
}

/// Returns `true` if the segment may be unlinked directly.
pub fn worth_unlinking(info: &SegmentInfo) -> bool {
    info.sealed && info.live_records == 0
}
