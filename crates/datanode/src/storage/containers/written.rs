//! Which chunks of a container this process has written since it made or opened it.
//!
//! A PutBlock without a log says that chunks are here. Those that its container was asked to write
//! are; of the others the disk is asked. A client that writes slowly can come back to a container
//! that was empty, was deleted and is begun anew by the client's next chunk: what it wrote before
//! is a hole in the new file, of the right length.

use std::collections::VecDeque;
use std::ops::Range;

use parking_lot::Mutex;
use proto::datanode::ChunkInfo;
use rustc_hash::FxHashMap;
use types::LocalId;

/// Ranges of one block that are remembered. The oldest is forgotten first: then the disk is asked.
const MAX_RANGES: usize = 256;

/// The chunks written and not yet in a row, per block.
#[derive(Debug, Default)]
pub(crate) struct Written {
    blocks: Mutex<FxHashMap<LocalId, VecDeque<Range<u64>>>>,
}

impl Written {
    /// Bytes of a block were written.
    pub(crate) fn note(&self, block: LocalId, range: Range<u64>) {
        let mut blocks = self.blocks.lock();
        let ranges = blocks.entry(block).or_default();
        match ranges.back_mut().filter(|last| last.end == range.start) {
            Some(last) => last.end = range.end,
            None => ranges.push_back(range),
        }
        if ranges.len() > MAX_RANGES {
            ranges.pop_front();
        }
    }

    /// Whether all bytes of a chunk were written.
    pub(crate) fn has(&self, block: LocalId, chunk: &ChunkInfo) -> bool {
        let Some(end) = chunk.offset.checked_add(chunk.len) else { return false };
        let within = |range: &Range<u64>| range.start <= chunk.offset && end <= range.end;
        self.blocks.lock().get(&block).is_some_and(|ranges| ranges.iter().any(within))
    }

    /// A block's row has its chunks up to `length`.
    pub(crate) fn forget(&self, block: LocalId, length: u64) {
        let mut blocks = self.blocks.lock();
        if let Some(ranges) = blocks.get_mut(&block) {
            ranges.retain(|range| range.end > length);
            if ranges.is_empty() {
                blocks.remove(&block);
            }
        }
    }

    /// The container takes no writes any more.
    pub(crate) fn clear(&self) {
        self.blocks.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(offset: u64, len: u64) -> ChunkInfo {
        ChunkInfo { offset, len, ..ChunkInfo::default() }
    }

    #[test]
    fn chunks_are_here_that_were_written_whole() {
        let (written, block) = (Written::default(), LocalId(1));
        assert!(!written.has(block, &chunk(0, 10)));
        written.note(block, 10..20);
        written.note(block, 20..30);
        assert!(written.has(block, &chunk(10, 20)) && written.has(block, &chunk(15, 5)));
        assert!(!written.has(block, &chunk(0, 20)) && !written.has(block, &chunk(25, 6)));
        assert!(!written.has(LocalId(2), &chunk(10, 10)));
        assert!(!written.has(block, &chunk(11, u64::MAX)), "no length from the wire overflows");
        written.note(block, 50..60);
        written.forget(block, 30);
        assert!(!written.has(block, &chunk(10, 10)) && written.has(block, &chunk(50, 10)));
        written.forget(block, 60);
        assert!(written.blocks.lock().is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let (written, block) = (Written::default(), LocalId(1));
        let ranges = MAX_RANGES as u64 + 5;
        (0..ranges).for_each(|n| written.note(block, n * 10..n * 10 + 1));
        assert_eq!(written.blocks.lock()[&block].len(), MAX_RANGES);
        assert!(!written.has(block, &chunk(0, 1)));
        assert!(written.has(block, &chunk((ranges - 1) * 10, 1)));
        written.clear();
        assert!(written.blocks.lock().is_empty());
    }
}
