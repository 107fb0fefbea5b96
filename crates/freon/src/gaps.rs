//! Gaps without success: the time between one success and the next, of any thread.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::timer::Timer;

/// Minimum length of a gap that is reported with its time, for comparison with events of that time.
const LONG_GAP: Duration = Duration::from_millis(100);
/// Maximum number of reported long gaps.
const MOST_LONG: usize = 10_000;

struct Gap {
    began: SystemTime,
    length: Duration,
}

/// Gaps between successes.
pub(crate) struct Gaps {
    last: Instant,
    all: Timer,
    long: Vec<Gap>,
}

impl Gaps {
    /// Starts the first gap.
    pub(crate) fn begin(now: Instant) -> Self {
        Self { last: now, all: Timer::default(), long: Vec::new() }
    }

    /// Records a success or the end: ends a gap and starts the next.
    pub(crate) fn end(&mut self, now: Instant, clock: SystemTime) {
        let length = now.saturating_duration_since(self.last);
        self.last = self.last.max(now);
        self.all.record(length);
        if length >= LONG_GAP && self.long.len() < MOST_LONG {
            let began = clock.checked_sub(length).unwrap_or(clock);
            self.long.push(Gap { began, length });
        }
    }

    pub(crate) fn median(&self) -> Duration {
        self.all.quantile(0.5)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.all.max()
    }

    /// Median and maximum, and each long gap with its start.
    pub(crate) fn json(&self) -> Value {
        let millis = |d: Duration| d.as_secs_f64() * 1e3;
        let long: Vec<Value> = self
            .long
            .iter()
            .map(|gap| {
                let began = gap.began.duration_since(UNIX_EPOCH).unwrap_or_default();
                json!({ "beganUnixMs": millis(began), "ms": millis(gap.length) })
            })
            .collect();
        json!({ "medianMs": millis(self.median()), "longestMs": millis(self.longest()), "long": long })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_longest_and_the_time_of_a_long_gap() {
        let (start, clock) = (Instant::now(), UNIX_EPOCH + Duration::from_secs(100));
        let mut gaps = Gaps::begin(start);
        for ms in [10, 20, 2_020, 2_030, 2_040] {
            let after = Duration::from_millis(ms);
            gaps.end(start + after, clock + after);
        }
        let json = gaps.json();
        assert!((gaps.median().as_secs_f64() - 0.010).abs() < 1e-4);
        assert!((gaps.longest().as_secs_f64() - 2.0).abs() < 0.01);
        assert_eq!(json["long"].as_array().unwrap().len(), 1);
        assert_eq!(json["long"][0]["beganUnixMs"], 100_020.0);
        assert_eq!(json["long"][0]["ms"], 2_000.0);
    }
}
