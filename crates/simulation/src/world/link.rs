//! How long a message takes from one machine to another, and whether it gets there at all.

use rustc_hash::{FxHashMap, FxHashSet};

use super::World;

/// A machine to itself.
const LOOPBACK: u64 = 20_000;
/// How long a message on a cut link waits until it is tried again, as TCP does.
pub const AGAIN: u64 = 200_000_000;

/// What a message now and then takes longer at most.
const LONG: u64 = 2_000_000_000;

/// How slow a direction is.
#[derive(Debug, Clone, Copy)]
pub struct Delay {
    /// Least, in nanoseconds.
    pub least: u64,
    /// On top of it at most, in nanoseconds.
    pub more: u64,
}

impl Default for Delay {
    fn default() -> Self {
        Self { least: 100_000, more: 400_000 }
    }
}

/// See the module.
#[derive(Default)]
pub struct Links {
    /// Where nothing else is said.
    pub usual: Delay,
    slow: FxHashMap<(usize, usize), Delay>,
    cut: FxHashSet<(usize, usize)>,
}

impl Links {
    /// Cuts one direction.
    pub fn cut(&mut self, from: usize, to: usize) {
        self.cut.insert((from, to));
    }

    /// Makes one direction slow.
    pub fn slow(&mut self, from: usize, to: usize, delay: Delay) {
        self.slow.insert((from, to), delay);
    }

    /// Mends everything.
    pub fn heal(&mut self) {
        self.cut.clear();
        self.slow.clear();
    }

    /// Whether a message gets there.
    pub fn open(&self, from: usize, to: usize) -> bool {
        from == to || !self.cut.contains(&(from, to))
    }
}

impl World {
    /// How long a message takes now.
    pub fn delay(&mut self, from: usize, to: usize) -> u64 {
        if from == to {
            return LOOPBACK;
        }
        let delay = self.links.slow.get(&(from, to)).copied().unwrap_or(self.links.usual);
        let long = if self.random.one_in(1000) { LONG.min(20 * delay.more) } else { 0 };
        delay.least + self.random.below(delay.more.max(1)) + long
    }
}
