//! Entries that this replica does not confirm, because it cannot store their bytes.
//!
//! The leader sends such an entry again and again, and the other members may commit it without this
//! one. SCM receives a report, so that it replaces the pipeline: immediately if the reason is
//! permanent, otherwise once it has lasted.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time for which a temporary reason (a full disk, an unreachable member) may last before SCM
/// receives a report.
const REPORT_DELAY: Duration = Duration::from_secs(30);

/// Interval of repeated reports to SCM: it may have lost its leader meanwhile.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Times of refused entries, and of reports to SCM.
#[derive(Debug, Default)]
pub(crate) struct Withheld {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The first and the last refusal of those that follow each other within [`REPORT_INTERVAL`].
    refused: Option<(Instant, Instant)>,
    told: Option<Instant>,
}

impl Withheld {
    /// Records that an entry was refused at `now`. Returns `true` if a report to SCM is due.
    pub fn refused(&self, now: Instant, may_pass: bool) -> bool {
        let mut state = self.state.lock();
        let follows = |last: Instant| now.duration_since(last) < REPORT_INTERVAL;
        let since =
            state.refused.filter(|(_, last)| follows(*last)).map_or(now, |(first, _)| first);
        state.refused = Some((since, now));
        let lasts = !may_pass || now.duration_since(since) >= REPORT_DELAY;
        let due =
            lasts && state.told.is_none_or(|told| now.duration_since(told) >= REPORT_INTERVAL);
        if due {
            state.told = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_pass_is_told_at_once_and_not_too_often() {
        let (withheld, begin) = (Withheld::default(), Instant::now());
        assert!(withheld.refused(begin, false));
        assert!(!withheld.refused(begin + REPORT_INTERVAL / 2, false));
        assert!(withheld.refused(begin + REPORT_INTERVAL, false));
    }

    #[test]
    fn what_may_pass_is_told_when_it_lasts() {
        let (withheld, begin) = (Withheld::default(), Instant::now());
        let step = REPORT_INTERVAL / 2;
        let told: Vec<u32> = (0..8).filter(|n| withheld.refused(begin + step * *n, true)).collect();
        assert_eq!(told, [6]);
        // It was taken in between.
        assert!(!withheld.refused(begin + REPORT_DELAY * 3, true));
    }
}
