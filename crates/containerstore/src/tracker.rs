//! Chunks of a block in flight to the disk, and chunks written by this process.
//!
//! A PutBlock makes a block durable. Before it enters the log, or is carried out without a log, its
//! block's earlier chunk writes must have ended, and every chunk that it lists must really be here.
//! A chunk written before a crash may be lost although its header is in the log; one of an
//! erasure-coded block may have been deleted with its container, which was deleted as empty and
//! recreated by the writer's next chunk. Chunks written by this process are known to be here; for
//! the others the caller checks the disk.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use types::LocalId;

/// Writes in flight and done, per block of a pipeline or, without one, of a container. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub struct Tracker {
    blocks: Arc<Mutex<FxHashMap<LocalId, Arc<Block>>>>,
}

#[derive(Debug, Default)]
struct Block {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    under_way: BTreeSet<u64>,
    /// Byte ranges written, disjoint, in order.
    written: Vec<Range<u64>>,
    touched: Option<Instant>,
}

/// A write in flight; dropping it without [`Write::done`] means that it failed.
#[derive(Debug)]
pub struct Write {
    block: Arc<Block>,
    number: u64,
    range: Range<u64>,
    done: bool,
}

/// The writes of a block that began before this was made.
#[derive(Debug)]
pub struct Earlier {
    block: Option<Arc<Block>>,
    before: u64,
}

impl Tracker {
    /// A write begins.
    pub fn begin(&self, block: LocalId, range: Range<u64>) -> Write {
        let block = self.blocks.lock().entry(block).or_default().clone();
        let number = {
            let mut state = block.state.lock();
            let number = state.next;
            state.next += 1;
            state.under_way.insert(number);
            state.touched = Some(Instant::now());
            number
        };
        Write { block, number, range, done: false }
    }

    /// The writes of a block up to now.
    pub fn earlier(&self, block: LocalId) -> Earlier {
        let block = self.blocks.lock().get(&block).cloned();
        let before = block.as_ref().map_or(0, |block| block.state.lock().next);
        Earlier { block, before }
    }

    /// Records bytes found or put on disk by other means than a write.
    pub fn found(&self, block: LocalId, range: Range<u64>) {
        self.begin(block, range).done();
    }

    /// Returns `true` if this process wrote, or found, all these bytes.
    pub fn has(&self, block: LocalId, range: &Range<u64>) -> bool {
        if range.is_empty() {
            return true;
        }
        let block = self.blocks.lock().get(&block).cloned();
        block.is_some_and(|block| {
            let state = block.state.lock();
            state.written.iter().any(|w| w.start <= range.start && range.end <= w.end)
        })
    }

    /// The block is complete: nothing more is written to it.
    pub fn forget(&self, block: LocalId) {
        self.blocks.lock().remove(&block);
    }

    /// Forgets blocks without a write since `before`: their writers have stopped, or will have
    /// their chunks checked on disk once more.
    pub fn forget_idle(&self, before: Instant) {
        self.blocks.lock().retain(|_, block| {
            let state = block.state.lock();
            !state.under_way.is_empty() || state.touched.is_some_and(|touched| touched >= before)
        });
    }
}

impl Write {
    /// The bytes are written.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        let mut state = self.block.state.lock();
        state.under_way.remove(&self.number);
        if self.done {
            insert(&mut state.written, self.range.clone());
        }
        drop(state);
        self.block.ended.notify_waiters();
    }
}

impl Earlier {
    /// Waits until they have all ended, well or badly.
    pub async fn wait(self) {
        let Some(block) = self.block else { return };
        loop {
            let ended = block.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            let first = block.state.lock().under_way.first().copied();
            if first.is_none_or(|first| first >= self.before) {
                return;
            }
            ended.await;
        }
    }
}

/// Adds a range to disjoint, ordered ranges; touching ones become one.
fn insert(ranges: &mut Vec<Range<u64>>, new: Range<u64>) {
    if new.is_empty() {
        return;
    }
    let from = ranges.partition_point(|r| r.end < new.start);
    let to = ranges.partition_point(|r| r.start <= new.end);
    let (mut start, mut end) = (new.start, new.end);
    if let Some(touching) = ranges.get(from..to).filter(|touching| !touching.is_empty()) {
        start = touching.first().map_or(start, |r| r.start.min(start));
        end = touching.last().map_or(end, |r| r.end.max(end));
    }
    ranges.splice(from..to.max(from), std::iter::once(start..end));
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const BLOCK: LocalId = LocalId(7);

    #[test]
    fn ranges_merge_in_any_order() {
        for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]] {
            let mut ranges = Vec::new();
            for i in order {
                insert(&mut ranges, i * 10..i * 10 + 10);
            }
            assert_eq!(ranges, [0..40], "{order:?}");
        }
        let mut apart = vec![0..5, 10..15];
        insert(&mut apart, 6..8);
        assert_eq!(apart, [0..5, 6..8, 10..15]);
        insert(&mut apart, 3..11);
        assert_eq!(apart, [0..15]);
    }

    #[test]
    fn only_writes_that_ended_well_count() {
        let tracker = Tracker::default();
        drop(tracker.begin(BLOCK, 0..10));
        assert!(!tracker.has(BLOCK, &(0..10)));
        tracker.begin(BLOCK, 0..10).done();
        tracker.begin(BLOCK, 10..20).done();
        assert!(tracker.has(BLOCK, &(5..20)));
        assert!(!tracker.has(BLOCK, &(5..21)));
        tracker.forget(BLOCK);
        assert!(!tracker.has(BLOCK, &(5..20)));
    }

    #[test]
    fn a_put_waits_for_the_writes_before_it_and_for_no_others() {
        let tracker = Tracker::default();
        let (first, second) = (tracker.begin(BLOCK, 0..1), tracker.begin(BLOCK, 1..2));
        let mut put = Box::pin(tracker.earlier(BLOCK).wait());
        let _later = tracker.begin(BLOCK, 2..3);
        assert!(put.as_mut().now_or_never().is_none());
        second.done();
        assert!(put.as_mut().now_or_never().is_none());
        drop(first);
        assert!(put.as_mut().now_or_never().is_some());
        assert!(tracker.earlier(LocalId(8)).wait().now_or_never().is_some());
    }

    #[test]
    fn idle_blocks_are_forgotten_but_not_busy_ones() {
        let tracker = Tracker::default();
        tracker.begin(BLOCK, 0..1).done();
        let _busy = tracker.begin(LocalId(8), 0..1);
        tracker.forget_idle(Instant::now());
        assert!(!tracker.has(BLOCK, &(0..1)));
        assert_eq!(tracker.blocks.lock().len(), 1);
    }
}
