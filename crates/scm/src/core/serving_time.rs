//! Time since this SCM leads outside safe mode.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The term in which this SCM leads and is out of safe mode, and since when.
#[derive(Default)]
pub(super) struct ServingTime {
    since: Mutex<Option<(i64, Instant)>>,
}

impl ServingTime {
    /// Returns `true` if this SCM has served for `at_least`. `term` is the one in which it leads
    /// outside safe mode now; the time restarts with each term.
    pub(super) fn has_lasted(&self, term: Option<i64>, at_least: Duration) -> bool {
        let mut since = self.since.lock();
        let Some(term) = term else {
            *since = None;
            return false;
        };
        match *since {
            Some((of, since)) if of == term => since.elapsed() >= at_least,
            _ => {
                *since = Some((term, Instant::now()));
                at_least.is_zero()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_again_in_another_term_and_after_safe_mode() {
        let (time, long) = (ServingTime::default(), Duration::from_secs(3_600));
        assert!(!time.has_lasted(None, Duration::ZERO));
        assert!(!time.has_lasted(Some(1), long));
        assert!(time.has_lasted(Some(1), Duration::ZERO));
        assert!(!time.has_lasted(Some(2), Duration::from_nanos(1)));
        assert!(time.has_lasted(Some(2), Duration::ZERO));
        assert!(!time.has_lasted(None, Duration::ZERO));
        assert!(!time.has_lasted(Some(2), Duration::from_nanos(1)));
    }
}
