//! Ages of increasing numbers, such as log indexes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of samples; above it every other one is dropped.
const MOST_SAMPLES: usize = 2_048;
/// Minimum interval between samples.
const RESOLUTION: Duration = Duration::from_secs(1);

/// Samples of the highest number over time.
#[derive(Debug, Default)]
pub struct Ages {
    samples: Mutex<VecDeque<(Instant, u64)>>,
}

/// The age of a number, to about a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// The minimum age.
    pub at_least: Duration,
    /// The number existed at the first sample: it may be older.
    pub since_start: bool,
}

impl Ages {
    /// Records the highest number at this moment.
    pub fn note(&self, highest: u64) {
        self.note_at(highest, Instant::now());
    }

    fn note_at(&self, highest: u64, now: Instant) {
        let mut samples = self.samples.lock();
        let is_news = samples.back().is_none_or(|(at, last)| {
            highest > *last && now.saturating_duration_since(*at) >= RESOLUTION
        });
        if !is_news {
            return;
        }
        samples.push_back((now, highest));
        if samples.len() > MOST_SAMPLES {
            // The first sample contains the state at the start.
            let mut index = 0;
            samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// The highest number of at least this age, as far as known; `None` if there is none.
    pub fn as_old_as(&self, least: Duration) -> Option<u64> {
        self.as_old_as_at(least, Instant::now())
    }

    fn as_old_as_at(&self, least: Duration, now: Instant) -> Option<u64> {
        let samples = self.samples.lock();
        let old = samples.partition_point(|(at, _)| now.saturating_duration_since(*at) >= least);
        let last = samples.get(old.checked_sub(1)?)?;
        Some(last.1)
    }

    /// The age of an existing number.
    pub fn of(&self, number: u64) -> Age {
        self.of_at(number, Instant::now())
    }

    fn of_at(&self, number: u64, now: Instant) -> Age {
        let samples = self.samples.lock();
        let since = |at: Instant| now.saturating_duration_since(at);
        match samples.iter().position(|(_, highest)| *highest >= number) {
            Some(at) => Age {
                at_least: samples.get(at).map_or(Duration::ZERO, |(at, _)| since(*at)),
                since_start: at == 0,
            },
            // It came after the last sample, or there is none.
            None => Age { at_least: Duration::ZERO, since_start: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_as_old_as_the_first_sample_that_has_it() {
        let (ages, began) = (Ages::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        let age = |number, seconds| {
            let age = ages.of_at(number, at(seconds));
            (age.at_least.as_secs(), age.since_start)
        };
        assert_eq!(age(5, 7), (0, false), "there is no sample yet");
        ages.note_at(10, at(10));
        ages.note_at(20, at(20));
        ages.note_at(20, at(30));
        ages.note_at(25, at(40));
        assert_eq!(age(10, 100), (90, true), "it may be older");
        assert_eq!(age(11, 100), (80, false));
        assert_eq!(age(20, 100), (80, false));
        assert_eq!(age(21, 100), (60, false));
        assert_eq!(age(26, 100), (0, false));
        assert_eq!(age(11, 5), (0, false), "a stopped clock");
    }

    #[test]
    fn what_is_old_enough_was_there_long_enough_ago() {
        let (ages, began) = (Ages::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        let old = |seconds| ages.as_old_as_at(Duration::from_secs(60), at(seconds));
        assert_eq!(old(1_000), None, "there is no sample yet");
        ages.note_at(10, at(10));
        ages.note_at(20, at(20));
        ages.note_at(20, at(50));
        ages.note_at(25, at(50));
        let expected =
            [(69, None), (70, Some(10)), (79, Some(10)), (80, Some(20)), (110, Some(25))];
        for (seconds, expected) in expected {
            assert_eq!(old(seconds), expected, "{seconds}");
        }
        assert_eq!(old(5), None, "a stopped clock");
    }

    #[test]
    fn samples_are_bounded_and_the_oldest_ones_stay() {
        let (ages, began) = (Ages::default(), Instant::now());
        for n in 0..20_000 {
            ages.note_at(n, began + Duration::from_secs(n));
            ages.note_at(n, began + Duration::from_millis(1_000 * n + 1));
        }
        assert!(ages.samples.lock().len() <= MOST_SAMPLES);
        let now = began + Duration::from_secs(20_000);
        for number in [1, 5_000, 19_990] {
            let age = ages.of_at(number, now).at_least.as_secs();
            let exact = 20_000 - number;
            assert!(age <= exact && age + exact / 2 + 32 >= exact, "{number}: {age}, not {exact}");
        }
    }
}
