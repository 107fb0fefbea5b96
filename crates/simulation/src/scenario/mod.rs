//! Simulated systems: each scenario builds its machines, lets clients work while a [`nemesis`]
//! injects faults, lets everything heal, and judges the clients' observations.

pub mod cluster;
pub mod erasure;
pub mod fleet;
pub mod machines;
pub mod nemesis;
pub mod process;
pub mod raft;
pub mod replica;
pub mod s3;
mod safe_mode;
pub mod servers;
pub mod settings;
pub mod storage;

use std::time::Duration;

use self::nemesis::faults::Faults;
use crate::world::clock::SECOND;
use crate::world::world;

/// Parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Seed of every choice.
    pub seed: u64,
    /// Simulated seconds of faults.
    pub seconds: u64,
    /// Faults.
    pub faults: Faults,
    /// True if the seed draws settings ([`settings`]), in scenarios of whole clusters.
    pub draws: bool,
}

/// Outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Violations. Empty: the run succeeded.
    pub violations: Vec<String>,
    /// Calls of clients that were answered.
    pub answered: usize,
    /// Calls whose outcome is not known.
    pub unknown: usize,
    /// Histories whose search was stopped without a result.
    pub undecided: usize,
    /// Counts of the observer's actions besides the faults, and of its observations, by name.
    pub counts: std::collections::BTreeMap<&'static str, u64>,
    /// Settings that the seed has drawn.
    pub settings: Vec<settings::Drawn>,
    /// Faults, by kind.
    pub faults: std::collections::BTreeMap<&'static str, usize>,
}

/// Nanoseconds since the beginning.
pub fn now() -> u64 {
    world().now
}

/// Lets simulated time pass.
pub fn sleep(nanos: u64) {
    std::thread::sleep(Duration::from_nanos(nanos));
}

/// Waits until a condition holds; returns `true` if it did within this many seconds.
pub fn within(seconds: u64, mut holds: impl FnMut() -> bool) -> bool {
    let until = now() + seconds * SECOND;
    while !holds() {
        if now() >= until {
            return false;
        }
        sleep(SECOND / 10);
    }
    true
}
