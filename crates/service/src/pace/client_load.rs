//! Detection of client load on this server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Interval over which requests are counted.
const PERIOD: Duration = Duration::from_millis(200);

/// Requests per second from which on a server counts as used: fewer rarely meet its background
/// work.
const USED: f64 = 10.0;

/// Requests per second from which on it counts as used for a while longer, so that a client with
/// sequential requests does not meet background work each time.
const BUSY: f64 = 100.0;

/// Duration of that extension.
const HELD: Duration = Duration::from_secs(1);

/// Counts client requests.
#[derive(Debug, Default)]
pub struct ClientLoad {
    requests: AtomicU64,
    judged: Mutex<Option<Judged>>,
}

#[derive(Debug, Clone, Copy)]
struct Judged {
    at: Instant,
    requests: u64,
    is_used: bool,
    busy: Option<Instant>,
}

impl ClientLoad {
    /// Records requests of clients, or changes that they sent to another replica.
    pub fn note(&self, requests: usize) {
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
    }

    /// Returns `true` if clients have used the server recently.
    pub fn is_used(&self, now: Instant) -> bool {
        let mut judged = self.judged.lock();
        let requests = self.requests.load(Ordering::Relaxed);
        let first = Judged { at: now, requests, is_used: false, busy: None };
        let judged = judged.get_or_insert(first);
        let past = now.saturating_duration_since(judged.at);
        if past >= PERIOD {
            let rate = (requests - judged.requests) as f64 / past.as_secs_f64();
            let busy = if rate >= BUSY { Some(now) } else { judged.busy };
            *judged = Judged { at: now, requests, is_used: rate >= USED, busy };
        }
        let busy = judged.busy.filter(|busy| now.saturating_duration_since(*busy) < HELD);
        judged.is_used || busy.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_requests_a_second_are_use_and_a_few_are_not() {
        let (load, begin) = (ClientLoad::default(), Instant::now());
        assert!(!load.is_used(begin));
        load.note(2);
        assert!(!load.is_used(begin + PERIOD / 2), "the interval has not ended");
        assert!(load.is_used(begin + PERIOD));
        load.note(1);
        assert!(!load.is_used(begin + PERIOD * 2));
        load.note(1_000);
        assert!(load.is_used(begin + PERIOD * 3));
        assert!(load.is_used(begin + PERIOD * 4), "it was busy a moment ago");
        assert!(!load.is_used(begin + PERIOD * 3 + HELD));
        load.note(1_000);
        assert!(!load.is_used(begin + HELD * 300), "few requests in that time");
    }
}
