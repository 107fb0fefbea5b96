//! Follower reads: the choice of an OM.
//!
//! Each OM is probed every few seconds for its log position; the response time is its latency.
//! Among the OMs that responded and lag the most advanced one by less than the limit, reads use the
//! nearest, or any of several that are about as near. The latency of reads counts, too: an
//! overloaded OM may answer a probe as fast as others. An OM that fails a read is not used until it
//! answers a probe; the read is retried on the next one and finally on the leader.

use std::time::Duration;

use parking_lot::Mutex;
use rand::RngExt;

/// State of an OM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its latency, smoothed.
    pub(crate) latency: Duration,
    /// Its last applied entry.
    pub(crate) applied: u64,
}

/// Consistency of follower reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowerReads {
    /// They include every acknowledged write of every client.
    Linearizable,
    /// They return the OM's local state, which may lag.
    Local {
        /// Maximum number of log entries by which it may lag.
        max_lag: u64,
    },
}

/// The OMs, by their last probes.
pub(crate) struct Nearest {
    max_lag: u64,
    seen: Mutex<Vec<Option<Seen>>>,
}

impl Nearest {
    pub(crate) fn new(count: usize, max_lag: u64) -> Self {
        Self { max_lag, seen: Mutex::new(vec![None; count]) }
    }

    /// Records the result of a probe, which has the same weight as all earlier values.
    pub(crate) fn note(&self, target: usize, outcome: Option<Seen>) {
        let mut seen = self.seen.lock();
        if target >= seen.len() {
            // An OM that was not configured.
            seen.resize(target + 1, None);
        }
        let before = seen[target];
        let latency = |now: Duration| before.map_or(now, |before| (before.latency + now) / 2);
        seen[target] = outcome.map(|seen| Seen { latency: latency(seen.latency), ..seen });
    }

    /// Records the latency of a read, with a small weight, because there are many.
    pub(crate) fn took(&self, target: usize, time: Duration) {
        if let Some(Some(seen)) = self.seen.lock().get_mut(target) {
            seen.latency = (seen.latency * 7 + time) / 8;
        }
    }

    /// Chooses the OM for the next request, none of `tried`.
    pub(crate) fn pick(&self, tried: &[usize]) -> Option<usize> {
        let seen = self.seen.lock();
        let newest = seen.iter().flatten().map(|s| s.applied).max()?;
        let able = |n: &usize| -> Option<Duration> {
            let known = seen.get(*n).copied().flatten()?;
            let near = known.applied.saturating_add(self.max_lag) >= newest;
            (near && !tried.contains(n)).then_some(known.latency)
        };
        let nearest = (0..seen.len()).filter_map(|n| able(&n)).min()?;
        // OMs with similar latency share the load; the measurement varies by as much.
        let reach = nearest * 2 + Duration::from_micros(500);
        let good: Vec<usize> =
            (0..seen.len()).filter(|n| able(n).is_some_and(|l| l <= reach)).collect();
        good.get(rand::rng().random_range(0..good.len().max(1))).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(micros: u64, applied: u64) -> Option<Seen> {
        Some(Seen { latency: Duration::from_micros(micros), applied })
    }

    #[test]
    fn the_nearest_of_those_that_are_not_behind_is_asked() {
        let oms = Nearest::new(3, 100);
        assert_eq!(oms.pick(&[]), None, "no OM answered yet");
        oms.note(0, seen(100, 800));
        oms.note(1, seen(2_000, 1_000));
        oms.note(2, seen(9_000, 950));
        assert_eq!(oms.pick(&[]), Some(1), "0 is behind, 2 is far");
        assert_eq!(oms.pick(&[1]), Some(2));
        assert_eq!(oms.pick(&[1, 2]), None);
        oms.note(0, seen(100, 990));
        assert_eq!(oms.pick(&[]), Some(0));
        oms.note(0, None);
        assert_eq!(oms.pick(&[]), Some(1), "0 does not answer any more");
    }

    #[test]
    fn one_that_takes_long_to_read_is_left_for_those_that_do_not() {
        let oms = Nearest::new(2, 0);
        oms.note(0, seen(100, 5));
        oms.note(1, seen(150, 5));
        for _ in 0..3 {
            oms.took(0, Duration::from_millis(8));
            oms.took(1, Duration::from_micros(150));
        }
        assert!((0..100).all(|_| oms.pick(&[]) == Some(1)));
        oms.note(0, seen(100, 5));
        assert!((0..100).all(|_| oms.pick(&[]) == Some(1)), "one fast answer is not enough");
        (0..5).for_each(|_| oms.note(0, seen(100, 5)));
        assert!((0..100).any(|_| oms.pick(&[]) == Some(0)));
    }

    #[test]
    fn those_that_are_as_near_share_the_reads() {
        let oms = Nearest::new(2, 0);
        oms.note(0, seen(100, 5));
        oms.note(1, seen(150, 5));
        let asked: std::collections::BTreeSet<_> = (0..100).map(|_| oms.pick(&[])).collect();
        assert_eq!(asked.len(), 2);
    }
}
