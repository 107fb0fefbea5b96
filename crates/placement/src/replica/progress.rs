//! Progress of repairs: missing replicas, and the remaining time at the recent rate.

use std::collections::VecDeque;

use types::ContainerId;

use super::Replication;
use crate::state::container::{Container, Containers};
use crate::time::Millis;

/// Window of recent repairs.
pub const WINDOW: Millis = 300_000;

/// Replicas that are remembered at most; of more the last ones.
const MOST: usize = 10_000;

/// Pending replicas that arrived recently.
#[derive(Debug, Default)]
pub struct Repaired {
    /// When, and of how many bytes.
    came: VecDeque<(Millis, u64)>,
}

/// Progress of repairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Replicas to create.
    pub missing: u64,
    /// Their bytes, about.
    pub missing_bytes: u64,
    /// Those of them that were ordered.
    pub under_way: u64,
    /// Closed containers with too few replicas left to copy or decode.
    pub lost: u64,
    /// Replicas that were made within [`WINDOW`].
    pub made: u64,
    /// Their bytes.
    pub made_bytes: u64,
    /// Remaining time at the recent rate; `None` if it is unknown.
    pub left: Option<Millis>,
}

impl Repaired {
    /// A pending replica arrived.
    pub(crate) fn note(&mut self, now: Millis, bytes: u64) {
        self.came.push_back((now, bytes));
        let is_old = |(at, _): &(Millis, u64)| now.saturating_sub(*at) > WINDOW;
        while self.came.len() > MOST || self.came.front().is_some_and(is_old) {
            self.came.pop_front();
        }
    }

    /// Those that arrived within the window.
    fn lately(&self, now: Millis) -> impl Iterator<Item = (Millis, u64)> {
        self.came.iter().copied().filter(move |(at, _)| now.saturating_sub(*at) <= WINDOW)
    }

    /// Time for this number of bytes, and one more replica. The first of the replicas that arrived
    /// began before the window.
    fn time_for(&self, bytes: u64, now: Millis) -> Option<Millis> {
        let mut came = self.lately(now);
        let (first, _) = came.next()?;
        let (mut count, mut sum) = (0_u64, 0_u64);
        for (_, bytes) in came {
            count = count.saturating_add(1);
            sum = sum.saturating_add(bytes);
        }
        if count == 0 {
            return None;
        }
        let took = u128::from(now.saturating_sub(first).max(1));
        let time = took.saturating_mul(u128::from(bytes)).checked_div(u128::from(sum.max(1)))?;
        Some(Millis::try_from(time).unwrap_or(Millis::MAX))
    }
}

/// Returns the progress of repairs.
pub(crate) fn progress(
    on: &Replication<'_>,
    containers: &Containers,
    repaired: &Repaired,
    now: Millis,
) -> Progress {
    let mut progress = Progress::default();
    for container in containers.from(ContainerId(0)).filter(|c| !c.suppressed) {
        let Some((missing, under_way, is_lost)) = missing_of(on, container) else { continue };
        if is_lost {
            progress.lost = progress.lost.saturating_add(1);
            continue;
        }
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut progress.missing, missing);
        add(&mut progress.under_way, under_way.min(missing));
        add(&mut progress.missing_bytes, missing.saturating_mul(container.used_bytes));
    }
    for (_, bytes) in repaired.lately(now) {
        progress.made = progress.made.saturating_add(1);
        progress.made_bytes = progress.made_bytes.saturating_add(bytes);
    }
    progress.left = match progress.missing {
        0 => Some(0),
        _ => repaired.time_for(progress.missing_bytes, now),
    };
    progress
}

/// Missing replicas of a container, the pending ones of them, and true if there is no source for
/// them. `None` when the container is in transition.
fn missing_of(on: &Replication<'_>, c: &Container) -> Option<(u64, u64, bool)> {
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    if let Some(count) = on.ec_replica_count(c) {
        let missing = count.needed(false);
        let coming = missing.iter().filter(|index| count.coming.contains_key(index)).count();
        return Some((wide(missing.len()), wide(coming), count.is_lost() && c.keys > 0));
    }
    let count = on.replica_count(c)?;
    let missing = wide(count.missing(false));
    Some((missing, wide(count.coming.len()), count.is_lost() && c.keys > 0))
}
