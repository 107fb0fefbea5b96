//! Rates of operations by kind, for the progress line.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Counts of operations by name.
pub(crate) struct Rates<const KINDS: usize> {
    names: [&'static str; KINDS],
    done: [AtomicU64; KINDS],
    shown: Mutex<Shown<KINDS>>,
}

/// The values of the last line.
struct Shown<const KINDS: usize> {
    at: Instant,
    done: [u64; KINDS],
    most: [u64; KINDS],
}

impl<const KINDS: usize> Rates<KINDS> {
    /// Counts of zero.
    pub(crate) fn new(names: [&'static str; KINDS], now: Instant) -> Self {
        let shown = Shown { at: now, done: [0; KINDS], most: [0; KINDS] };
        Self { names, done: std::array::from_fn(|_| AtomicU64::new(0)), shown: Mutex::new(shown) }
    }

    /// Counts one operation of kind number `kind`.
    pub(crate) fn count(&self, kind: usize) {
        if let Some(done) = self.done.get(kind) {
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of operations of kind number `kind`.
    pub(crate) fn done(&self, kind: usize) -> u64 {
        self.done.get(kind).map_or(0, |done| done.load(Ordering::Relaxed))
    }

    /// The current and maximum operations per second since the last call, of every kind with any
    /// operations.
    pub(crate) fn line(&self, now: Instant) -> String {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = now.saturating_duration_since(shown.at).as_secs_f64().max(1e-3);
        let mut line = String::new();
        for kind in 0..KINDS {
            let done = self.done(kind);
            let rate = (done.saturating_sub(shown.done[kind]) as f64 / seconds).round() as u64;
            shown.done[kind] = done;
            shown.most[kind] = shown.most[kind].max(rate);
            if done > 0 {
                let separator = if line.is_empty() { "" } else { " " };
                let (name, most) = (self.names[kind], shown.most[kind]);
                // Writing to a String cannot fail.
                let _ = write!(line, "{separator}{name}: rate {rate} max {most}");
            }
        }
        shown.at = now;
        line
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_is_of_the_time_since_it_was_last_asked() {
        let began = Instant::now();
        let rates = Rates::new(["CREATE", "DELETE", "LIST"], began);
        (0..100).for_each(|_| rates.count(0));
        (0..10).for_each(|_| rates.count(2));
        let line = rates.line(began + Duration::from_secs(2));
        assert_eq!(line, "CREATE: rate 50 max 50 LIST: rate 5 max 5");
        (0..20).for_each(|_| rates.count(0));
        rates.count(1);
        let line = rates.line(began + Duration::from_secs(3));
        assert_eq!(line, "CREATE: rate 20 max 50 DELETE: rate 1 max 1 LIST: rate 0 max 5");
        assert_eq!((rates.done(0), rates.done(1), rates.done(7)), (120, 1, 0));
    }
}
