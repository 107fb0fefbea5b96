//! Delays of messages between machines, and cut links.

use rustc_hash::{FxHashMap, FxHashSet};

use super::World;

/// A machine to itself.
const LOOPBACK: u64 = 20_000;
/// Retransmission delay on a cut link, as in TCP.
pub const RETRANSMIT_DELAY: u64 = 200_000_000;

/// Maximum additional delay of an occasional slow message.
const MAX_LONG_DELAY: u64 = 2_000_000_000;

/// Delay of a direction.
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
    /// Default delay.
    pub usual: Delay,
    slow: FxHashMap<(usize, usize), Delay>,
    cut: FxHashSet<(usize, usize)>,
    /// Directions that damage bytes: one packet in this many.
    mangled: FxHashMap<(usize, usize), u64>,
    /// Number of damaged packets.
    pub damaged: u64,
    /// Cuts that remain until they are mended one by one; each may be there several times.
    severed: Vec<(usize, usize)>,
    /// Times at which directions were last closed.
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

    /// Damages one packet in `often` of one direction.
    pub fn mangle(&mut self, from: usize, to: usize, often: u64) {
        self.mangled.insert((from, to), often);
    }

    /// One packet in this many is damaged; 0: none.
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

    /// Returns `true` if the link is not cut.
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
    /// Delay of a message sent now.
    pub fn delay(&mut self, from: usize, to: usize) -> u64 {
        if from == to {
            return LOOPBACK;
        }
        let delay = self.links.slow.get(&(from, to)).copied().unwrap_or(self.links.usual);
        let long = if self.random.one_in(1000) { MAX_LONG_DELAY.min(20 * delay.more) } else { 0 };
        delay.least + self.random.below(delay.more.max(1)) + long
    }
}
