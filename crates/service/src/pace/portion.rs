//! Batches of a target duration.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Limits of batches.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Items of the smallest batch.
    pub least: usize,
    /// Items of the first batch.
    pub first: usize,
    /// Items of the largest batch.
    pub most: usize,
    /// Target duration while clients use the server.
    pub short: Duration,
    /// Target duration otherwise.
    pub long: Duration,
}

/// Sizes batches of work.
#[derive(Debug)]
pub struct Portion {
    bounds: Bounds,
    size: AtomicUsize,
}

impl Portion {
    /// `most` also limits `least` and `first`, because operators set it.
    pub fn new(bounds: Bounds) -> Self {
        let most = bounds.most.max(1);
        let least = bounds.least.clamp(1, most);
        let bounds = Bounds { least, first: bounds.first.clamp(least, most), most, ..bounds };
        Self { bounds, size: AtomicUsize::new(bounds.first) }
    }

    /// Number of items of the next batch.
    pub fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Records that `items` took `took`. A batch that was not full does not show that a larger one
    /// is possible, and an empty one shows nothing.
    pub fn note(&self, items: usize, took: Duration, makes_way: bool) {
        if items == 0 {
            return;
        }
        let wanted = if makes_way { self.bounds.short } else { self.bounds.long };
        let size = self.size();
        // At most twice or half as large at once: one batch may have been delayed by chance.
        let factor = (wanted.as_secs_f64() / took.as_secs_f64().max(1e-6)).clamp(0.5, 2.0);
        if factor > 1.0 && items < size {
            return;
        }
        let next = (size as f64 * factor) as usize;
        self.size.store(next.clamp(self.bounds.least, self.bounds.most), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn portion(most: usize) -> Portion {
        Portion::new(Bounds { least: 50, first: 500, most, short: 50 * MS, long: 500 * MS })
    }

    #[test]
    fn a_portion_takes_about_as_long_as_it_should() {
        let portion = portion(10_000);
        // A disk that deletes ten blocks in a millisecond.
        let run = |makes_way| {
            for _ in 0..20 {
                let size = portion.size();
                portion.note(size, size as u32 * MS / 10, makes_way);
            }
            portion.size()
        };
        assert_eq!(run(false), 5_000);
        assert_eq!(run(true), 500);
        // A batch that hangs, and one that takes no time.
        let repeat = |took| (0..20).for_each(|_| portion.note(portion.size(), took, true));
        repeat(Duration::from_secs(60));
        assert_eq!(portion.size(), 50);
        portion.note(49, Duration::ZERO, true);
        assert_eq!(portion.size(), 50, "there was not more to do");
        repeat(Duration::ZERO);
        assert_eq!(portion.size(), 10_000);
        portion.note(1, Duration::from_secs(1), true);
        assert_eq!(portion.size(), 5_000, "less than a portion took too long");
        portion.note(0, Duration::from_secs(1), true);
        assert_eq!(portion.size(), 5_000, "something else took too long");
    }

    #[test]
    fn what_an_operator_sets_bounds_all() {
        assert_eq!(portion(20).size(), 20);
        assert_eq!(portion(0).size(), 1);
    }
}
