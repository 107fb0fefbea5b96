//! Rare but allowed behaviour of operating systems, made frequent by the seed.
//!
//! None of it is a fault: reads and writes are short, calls are interrupted, bytes arrive one by
//! one, waits end spuriously, threads start late, locks are slow.

use std::collections::BTreeMap;

use super::clock::SECOND;
use super::random::Random;
use super::{inside, park, world};

/// Something that an operating system may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A read of a file returns a part of the available bytes.
    ShortRead,
    /// A write to a file writes a part of it.
    ShortWrite,
    /// A call fails with EINTR.
    Interrupt,
    /// A socket accepts only a few bytes.
    ShortSend,
    /// Bytes sent at once arrive in small segments.
    Segment,
    /// A wait for a lock or a condition ends without a wake-up.
    SpuriousWake,
    /// A thread begins late.
    LateThread,
    /// A thread stops for a moment where it takes or leaves a lock.
    SlowLock,
}

const NAMES: [&str; 8] = [
    "short reads",
    "short writes",
    "interrupted calls",
    "short sends",
    "small segments",
    "spurious wake-ups",
    "late threads",
    "slow locks",
];

/// Rates, one time in this many (0: never), and counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hooks {
    often: [u64; NAMES.len()],
    done: [u64; NAMES.len()],
}

impl Hooks {
    /// Rates from never to often, as the seed picks.
    pub fn of_seed(random: &mut Random) -> Self {
        let often = std::array::from_fn(|_| *random.pick(&[0, 0, 4, 30, 300]));
        Self { often, done: Default::default() }
    }

    /// Counts of those that happened.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let all = NAMES.into_iter().zip(self.done);
        all.filter(|(_, done)| *done > 0).collect()
    }
}

/// Decides if it happens this time; never for the process of the observer.
pub(super) fn fires(hook: Hook) -> bool {
    if !inside() {
        return false;
    }
    let world = world();
    let often = world.hooks.often[hook as usize];
    if often == 0 || world.schedule.process_of_me() == 0 || !world.random.one_in(often) {
        return false;
    }
    world.hooks.done[hook as usize] += 1;
    true
}

/// As [`fires`], where no thread is at work: on the way between machines.
pub(super) fn fires_in_transit(hook: Hook) -> bool {
    let world = world();
    let fired = world.random.one_in(world.hooks.often[hook as usize]);
    world.hooks.done[hook as usize] += u64::from(fired);
    fired
}

/// A part of `len` bytes at `at`, or all of them. Multiples of whole sectors stay multiples: direct
/// I/O has no others.
pub(super) fn part_of(hook: Hook, at: u64, len: usize) -> usize {
    let unit = if at % 512 == 0 && len % 512 == 0 { 512 } else { 1 };
    let units = (len / unit) as u64;
    if units < 2 || !fires(hook) {
        return len;
    }
    // A byte is as good a part as any other.
    let most = if world().random.one_in(2) { 1 } else { units - 1 };
    unit * (1 + world().random.below(most)) as usize
}

/// If the hook fires, the thread stops for up to `most` nanoseconds.
pub(super) fn delay(hook: Hook, most: u64) {
    if fires(hook) {
        let until = world().now + 1 + world().random.below(most);
        while world().now < until {
            park(Some(until));
        }
    }
}

/// Time at which a wait with a deadline ends spuriously.
pub(super) fn spurious_end(deadline: Option<u64>) -> Option<u64> {
    if !fires(Hook::SpuriousWake) {
        return None;
    }
    let at = world().now + world().random.below(SECOND / 50);
    deadline.is_none_or(|deadline| at < deadline).then_some(at)
}
