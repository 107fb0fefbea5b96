//! How long a message takes from one machine to another, and whether it gets there at all.

use rustc_hash::{FxHashMap, FxHashSet};

use super::World;

/// A machine to itself.
const LOOPBACK: u64 = 20_000;
/// How long a message on a cut link waits until it is tried again, as TCP does.
pub const RETRANSMIT_DELAY: u64 = 200_000_000;

/// What a message now and then takes longer at most.
const MAX_LONG_DELAY: u64 = 2_000_000_000;

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

/// The links between machines: delays, losses and cuts.
#[derive(Default)]
pub struct Links {
    /// Where nothing else is said.
    pub usual: Delay,
    slow: FxHashMap<(usize, usize), Delay>,
    cut: FxHashSet<(usize, usize)>,
    /// Where bytes are damaged on the way: one packet in so many.
    mangled: FxHashMap<(usize, usize), u64>,
    /// How many were.
    pub damaged: u64,
    /// Cuts that stay until they are mended one by one; each may be there several times.
    severed: Vec<(usize, usize)>,
    /// When a direction was closed last.
    closed_at: FxHashMap<(usize, usize), u64>,
}

impl Links {
    /// Cuts one direction; `now` is the time of the world.
    pub fn cut(&mut self, from: usize, to: usize, now: u64) {
        self.close(from, to, now);
        self.cut.insert((from, to));
    }

    fn close(&mut self, from: usize, to: usize, now: u64) {
        if self.open(from, to) {
            self.closed_at.insert((from, to), now);
        }
    }

    /// Makes one direction slow.
    pub fn slow(&mut self, from: usize, to: usize, delay: Delay) {
        self.slow.insert((from, to), delay);
    }

    /// Spoils one packet in so many of one direction.
    pub fn mangle(&mut self, from: usize, to: usize, often: u64) {
        self.mangled.insert((from, to), often);
    }

    /// One packet in so many is damaged; 0: none.
    pub(super) fn mangles(&self, from: usize, to: usize) -> u64 {
        self.mangled.get(&(from, to)).copied().unwrap_or(0)
    }

    /// Cuts one direction until it is mended; `now` is the time of the world.
    pub fn sever(&mut self, from: usize, to: usize, now: u64) {
        self.close(from, to, now);
        self.severed.push((from, to));
    }

    /// Mends one direction that was severed.
    pub fn reconnect(&mut self, from: usize, to: usize) {
        if let Some(at) = self.severed.iter().position(|pair| *pair == (from, to)) {
            self.severed.swap_remove(at);
        }
    }

    /// Mends everything that was not severed.
    pub fn heal(&mut self) {
        self.cut.clear();
        self.slow.clear();
        self.mangled.clear();
    }

    /// Whether a message gets there.
    pub fn open(&self, from: usize, to: usize) -> bool {
        from == to || !(self.cut.contains(&(from, to)) || self.severed.contains(&(from, to)))
    }

    /// Until when messages got through both ways: `now` where they do.
    pub fn open_until(&self, one: usize, other: usize, now: u64) -> u64 {
        let way = |from, to| match self.open(from, to) {
            true => now,
            false => self.closed_at.get(&(from, to)).copied().unwrap_or(0),
        };
        way(one, other).min(way(other, one))
    }
}

impl World {
    /// How long a message takes now.
    pub fn delay(&mut self, from: usize, to: usize) -> u64 {
        if from == to {
            return LOOPBACK;
        }
        let delay = self.links.slow.get(&(from, to)).copied().unwrap_or(self.links.usual);
        let long = if self.random.one_in(1000) { MAX_LONG_DELAY.min(20 * delay.more) } else { 0 };
        delay.least + self.random.below(delay.more.max(1)) + long
    }
}
