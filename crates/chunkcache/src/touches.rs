//! Recently read blocks that are not cached.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use crate::chunk_id::BlockKey;

/// A bounded list of the most recently read blocks.
pub(crate) struct Touches {
    blocks: Mutex<LruCache<BlockKey, (), FxBuildHasher>>,
}

impl Touches {
    /// Creates a list of at most `most` blocks.
    pub(crate) fn new(most: usize) -> Self {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        Self { blocks: Mutex::new(LruCache::with_hasher(most, FxBuildHasher)) }
    }

    /// Records a read of a block. Returns `true` if it was read recently, and removes it then.
    pub(crate) fn again(&self, block: BlockKey) -> bool {
        let mut blocks = self.blocks.lock();
        let again = blocks.pop(&block).is_some();
        if !again {
            blocks.put(block, ());
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_read_counts_unless_too_many_came_between() {
        let touches = Touches::new(2);
        let block = |local| BlockKey { container: 1, local };
        assert!(!touches.again(block(1)) && touches.again(block(1)));
        assert!(!touches.again(block(1)), "the count restarts");
        assert!(!touches.again(block(2)) && !touches.again(block(3)));
        assert!(!touches.again(block(1)), "two others followed");
        assert!(touches.again(block(3)));
    }
}
