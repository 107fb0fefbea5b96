//! How long nothing succeeded: the time between one success and the next, of any thread.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::timer::Timer;

/// A gap from here on is told with its time, so that it can be laid beside what happened then.
const LONG_GAP: Duration = Duration::from_millis(100);
/// Long gaps told at most.
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
    /// The first gap begins.
    pub(crate) fn begin(now: Instant) -> Self {
        Self { last: now, all: Timer::default(), long: Vec::new() }
    }

    /// A success, or the end: the gap ends and the next begins.
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

    /// Median, longest, and each long one with the time at which it began.
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
