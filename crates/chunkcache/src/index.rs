//! Index of a directory, and its eviction.

use lru::LruCache;
use rustc_hash::FxBuildHasher;

use crate::chunk_id::{BlockKey, ChunkId};

/// Origin of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A client read it.
    Read,
    /// It was written here, and not read yet.
    Written,
}

/// Limits in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Limit for all chunks.
    pub all: u64,
    /// Limit for chunks that were written and not read.
    pub written: u64,
}

/// The chunks of a directory, in order of their last use.
pub(crate) struct Index {
    bounds: Bounds,
    read: Part,
    written: Part,
}

struct Part {
    chunks: LruCache<BlockKey, ChunkId, FxBuildHasher>,
    bytes: u64,
}

impl Part {
    fn new() -> Self {
        Self { chunks: LruCache::unbounded_with_hasher(FxBuildHasher), bytes: 0 }
    }

    fn put(&mut self, id: ChunkId) {
        self.bytes += u64::from(id.len);
        let replaced = self.chunks.put(id.block, id);
        self.bytes -= replaced.map_or(0, |old| u64::from(old.len));
    }

    fn pop(&mut self, block: &BlockKey) -> Option<ChunkId> {
        let id = self.chunks.pop(block)?;
        self.bytes -= u64::from(id.len);
        Some(id)
    }

    fn pop_oldest(&mut self) -> Option<ChunkId> {
        let (_, id) = self.chunks.pop_lru()?;
        self.bytes -= u64::from(id.len);
        Some(id)
    }
}

impl Index {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, read: Part::new(), written: Part::new() }
    }

    /// Returns `true` if a chunk is present, and marks it as read.
    pub(crate) fn get(&mut self, id: &ChunkId) -> bool {
        if let Some(there) = self.read.chunks.get(&id.block) {
            return there == id;
        }
        if self.written.chunks.peek(&id.block) != Some(id) {
            return false;
        }
        self.written.pop(&id.block);
        self.read.put(*id);
        true
    }

    /// The chunk of a block, without marking it.
    pub(crate) fn peek(&self, block: &BlockKey) -> Option<ChunkId> {
        self.read.chunks.peek(block).or_else(|| self.written.chunks.peek(block)).copied()
    }

    /// Adds a chunk. Returns the removed ones: an older chunk of the block, and evicted ones.
    pub(crate) fn insert(&mut self, id: ChunkId, origin: Origin) -> Vec<ChunkId> {
        let mut gone: Vec<ChunkId> = self.remove(&id.block).into_iter().collect();
        gone.retain(|old| *old != id);
        match origin {
            Origin::Read => self.read.put(id),
            Origin::Written => self.written.put(id),
        }
        gone.extend(std::iter::from_fn(|| self.fall_out()));
        gone
    }

    fn fall_out(&mut self) -> Option<ChunkId> {
        if self.written.bytes > self.bounds.written {
            return self.written.pop_oldest();
        }
        if self.bytes() > self.bounds.all {
            return self.read.pop_oldest().or_else(|| self.written.pop_oldest());
        }
        None
    }

    /// Removes the chunk of a block and returns it.
    pub(crate) fn remove(&mut self, block: &BlockKey) -> Option<ChunkId> {
        self.read.pop(block).or_else(|| self.written.pop(block))
    }

    /// Removes up to `most` of the least recently used chunks.
    pub(crate) fn pop_oldest(&mut self, most: usize) -> Vec<ChunkId> {
        let mut pop = || self.written.pop_oldest().or_else(|| self.read.pop_oldest());
        (0..most).map_while(|_| pop()).collect()
    }

    /// Removes all.
    pub(crate) fn clear(&mut self) {
        (self.read, self.written) = (Part::new(), Part::new());
    }

    /// Bytes of all chunks.
    pub(crate) fn bytes(&self) -> u64 {
        self.read.bytes + self.written.bytes
    }

    /// Number of chunks.
    pub(crate) fn len(&self) -> usize {
        self.read.chunks.len() + self.written.chunks.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn chunk(local: u64, content: u64, len: u32) -> ChunkId {
        ChunkId { block: BlockKey { container: 1, local }, content, len }
    }

    fn index() -> Index {
        Index::new(Bounds { all: 100, written: 25 })
    }

    #[test]
    fn the_one_that_was_not_read_for_longest_goes() {
        let mut index = index();
        for local in 1..=10 {
            assert_eq!(index.insert(chunk(local, 0, 10), Origin::Read), []);
        }
        assert!(index.get(&chunk(1, 0, 10)));
        assert_eq!(index.insert(chunk(11, 0, 10), Origin::Read), [chunk(2, 0, 10)]);
        assert!(index.get(&chunk(1, 0, 10)) && !index.get(&chunk(2, 0, 10)));
        assert_eq!((index.len(), index.bytes()), (10, 100));
    }

    #[test]
    fn what_is_written_takes_its_part_only_until_it_is_read() {
        let mut index = index();
        for local in 1..=9 {
            index.insert(chunk(local, 0, 10), Origin::Read);
        }
        let written = |local| chunk(local, 0, 10);
        assert_eq!(index.insert(written(20), Origin::Written), []);
        assert_eq!(index.insert(written(21), Origin::Written), [chunk(1, 0, 10)], "all are full");
        assert_eq!(index.insert(written(22), Origin::Written), [written(20)], "its part is full");
        assert!(index.get(&written(21)), "it counts as read now");
        assert_eq!(index.insert(written(23), Origin::Written), [chunk(2, 0, 10)]);
        assert!(index.get(&written(22)) && index.get(&written(23)));
    }

    #[test]
    fn a_chunk_that_was_written_again_is_another_one() {
        let mut index = index();
        index.insert(chunk(1, 7, 10), Origin::Read);
        assert!(!index.get(&chunk(1, 8, 10)) && !index.get(&chunk(1, 7, 9)));
        assert_eq!(index.insert(chunk(1, 8, 12), Origin::Written), [chunk(1, 7, 10)]);
        assert!(!index.get(&chunk(1, 7, 10)) && index.get(&chunk(1, 8, 12)));
        assert_eq!(index.insert(chunk(1, 8, 12), Origin::Read), [], "its file stays");
        assert_eq!((index.len(), index.bytes()), (1, 12));
    }

    #[test]
    fn one_that_is_longer_than_all_may_be_does_not_stay() {
        let mut index = index();
        assert_eq!(index.insert(chunk(1, 0, 101), Origin::Read), [chunk(1, 0, 101)]);
        assert_eq!(index.insert(chunk(1, 0, 26), Origin::Written), [chunk(1, 0, 26)]);
        assert_eq!((index.len(), index.bytes()), (0, 0));
    }

    proptest! {
        #[test]
        fn bytes_are_bounded_and_each_chunk_is_there_or_was_said_to_be_gone(
            ops in proptest::collection::vec((0u64..8, 0u64..2, 1u32..60, 0u8..4), 0..200),
        ) {
            let mut index = index();
            let mut there = BTreeSet::new();
            let key = |id: &ChunkId| (id.block.local, id.content, id.len);
            for (local, content, len, op) in ops {
                let id = chunk(local, content, len);
                match op {
                    0 => prop_assert_eq!(index.get(&id), there.contains(&key(&id))),
                    1 => if let Some(gone) = index.remove(&id.block) {
                        prop_assert!(there.remove(&key(&gone)));
                    },
                    op => {
                        let origin = if op == 2 { Origin::Read } else { Origin::Written };
                        there.insert(key(&id));
                        for gone in index.insert(id, origin) {
                            prop_assert!(there.remove(&key(&gone)));
                        }
                    }
                }
                prop_assert!(index.bytes() <= 100);
                prop_assert_eq!(index.len(), there.len());
                let bytes = there.iter().map(|(_, _, len)| u64::from(*len)).sum::<u64>();
                prop_assert_eq!(index.bytes(), bytes);
            }
        }
    }
}
