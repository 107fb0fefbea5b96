//! Long work with concurrent clients: sleeps after each short stretch.

use std::thread;
use std::time::{Duration, Instant};

/// Longer stretches make requests wait, however readily the thread yields its core: threads that
/// wake up next to a busy core queue for the other ones.
const STRETCH: Duration = Duration::from_millis(1);

/// Maximum sleep, so that the work can be stopped.
const LONGEST: Duration = Duration::from_secs(1);

/// Sleeps of work that may use only a share of the time.
#[derive(Debug)]
pub struct Rests {
    /// Ratio of sleep to work.
    per_work: f64,
    since: Instant,
}

impl Rests {
    /// For work without a limit.
    pub fn none() -> Self {
        Self::with_share(1.0)
    }

    /// For work with this share of the time: above 0 and at most 1, which is all of it.
    pub fn with_share(share: f64) -> Self {
        Self { per_work: 1.0 / share - 1.0, since: Instant::now() }
    }

    /// Sleeps if the work has run for a millisecond. To be called where it holds no lock that a
    /// request needs, at intervals of at most some hundred microseconds.
    pub fn rest(&mut self) {
        if self.per_work <= 0.0 {
            return;
        }
        let worked = self.since.elapsed();
        if worked < STRETCH {
            return;
        }
        thread::sleep(self.rest_after(worked));
        self.since = Instant::now();
    }

    /// Length of the sleep after a stretch of work.
    fn rest_after(&self, worked: Duration) -> Duration {
        let rest = Duration::try_from_secs_f64(worked.as_secs_f64() * self.per_work);
        rest.map_or(LONGEST, |rest| rest.min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works until `until`, resting as often as possible.
    fn work(rests: &mut Rests, until: Duration) -> Duration {
        let (begun, mut worked) = (Instant::now(), Duration::ZERO);
        while worked < until {
            let before = Instant::now();
            while before.elapsed() < STRETCH / 4 {}
            worked += before.elapsed();
            rests.rest();
        }
        begun.elapsed()
    }

    #[test]
    fn work_with_a_share_sleeps_the_rest_of_the_time() {
        let worked = 8 * STRETCH;
        // At least seven stretches are followed by a rest.
        assert!(work(&mut Rests::with_share(0.25), worked) >= worked + 7 * 3 * STRETCH);
    }

    #[test]
    fn a_stretch_too_short_has_no_rest_and_no_rest_is_endless() {
        assert_eq!(Rests::with_share(0.25).rest_after(STRETCH), 3 * STRETCH);
        assert_eq!(Rests::with_share(1e-6).rest_after(2 * STRETCH), LONGEST);
        let mut rests = Rests::with_share(1e-300);
        assert_eq!(rests.rest_after(2 * STRETCH), LONGEST);
        // Not even a moment ago.
        rests.since = Instant::now() + LONGEST;
        let since = rests.since;
        rests.rest();
        assert_eq!(rests.since, since);
    }

    #[test]
    fn work_with_all_the_time_does_not_sleep() {
        let mut rests = Rests::none();
        rests.since = Instant::now().checked_sub(STRETCH * 1000).expect("a second ago");
        let since = rests.since;
        rests.rest();
        assert_eq!(rests.since, since);
    }
}
