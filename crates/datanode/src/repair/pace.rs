//! Rate of copies and reconstructions: unlimited while a DataNode is otherwise idle, slower while
//! clients use it.
//!
//! Each DataNode measures its own part of repairs: bytes that it sends, that it receives, and that
//! it reads for a coordinator of a reconstruction. The slowest participant sets the rate. SCM
//! repeats the order of a late copy, and late bytes are useless: so on any node, bytes sent and
//! read for a copy wait no longer than its [`Schedule`] allows.

use std::time::Duration;

use service::ClientLoad;
use tokio::time::Instant;

use crate::settings::repair_rates::RepairRates;
use crate::throttle::Throttle;

/// Share of an order's time in which all bytes should have passed: the rest is for the work after
/// the last byte.
const IN_TIME: f64 = 0.5;

/// Longest delay of a caller that waits for a response: far less than its timeout.
const LONGEST: Duration = Duration::from_secs(10);

/// Schedule of a copy that must arrive before its order expires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    begun: Instant,
    /// `None` is no end.
    left: Option<Duration>,
    bytes: u64,
}

impl Schedule {
    /// Creates the schedule of a copy of `bytes` bytes, begun at `begun`, whose order expires after
    /// `left`.
    pub(crate) fn new(begun: Instant, left: Option<Duration>, bytes: u64) -> Self {
        Self { begun, left, bytes }
    }

    /// Returns how long the work after `passed` bytes may wait without missing the schedule; `None`
    /// is without a limit.
    pub(crate) fn patience(&self, passed: u64, now: Instant) -> Option<Duration> {
        let share = passed.min(self.bytes) as f64 / self.bytes.max(1) as f64;
        let due = self.left?.mul_f64(IN_TIME).mul_f64(share);
        Some(due.saturating_sub(now.saturating_duration_since(self.begun)))
    }
}

/// Throttle of repairs.
#[derive(Debug, Default)]
pub(crate) struct RepairPace {
    rates: RepairRates,
    /// Load of clients.
    pub(crate) clients: ClientLoad,
    /// All sent bytes, at any time.
    most: Throttle,
    sent: Throttle,
    received: Throttle,
    read: Throttle,
}

impl RepairPace {
    pub(crate) fn new(rates: RepairRates) -> Self {
        Self { rates, ..Self::default() }
    }

    /// Bytes per second that may be sent now; 0 is no limit.
    pub(crate) fn rate(&self, now: Instant) -> u64 {
        self.rates.at(self.clients.is_used(now.into_std()))
    }

    /// Waits until `bytes` bytes may be sent; for clients no longer than `patience`.
    pub(crate) async fn send(&self, bytes: u64, patience: Option<Duration>) {
        if self.rates.most > 0 {
            let at = self.most.next(bytes, self.rates.most, Instant::now());
            tokio::time::sleep_until(at).await;
        }
        self.step_back(&self.sent, bytes, patience).await;
    }

    /// Waits until the response may confirm `bytes` received bytes, no longer than the sender's
    /// patience.
    pub(crate) async fn receive(&self, bytes: u64, patience_ms: Option<u64>) {
        self.step_back(&self.received, bytes, Some(told(patience_ms))).await;
    }

    /// Waits until `bytes` bytes may be read for another DataNode, no longer than its patience.
    pub(crate) async fn read(&self, bytes: u64, patience_ms: Option<u64>) {
        self.step_back(&self.read, bytes, Some(told(patience_ms))).await;
    }

    async fn step_back(&self, throttle: &Throttle, bytes: u64, longest: Option<Duration>) {
        let (now, rate) = (Instant::now(), self.rates.with_clients);
        if bytes == 0 || rate == 0 || !self.clients.is_used(now.into_std()) {
            return;
        }
        let at = throttle.next(bytes, rate, now);
        let latest = longest.and_then(|longest| now.checked_add(longest));
        let at = latest.map_or(at, |latest| at.min(latest));
        if at > now {
            tokio::time::sleep_until(at).await;
        }
    }
}

/// Returns another DataNode's patience, which may be absurd, within bounds.
fn told(patience_ms: Option<u64>) -> Duration {
    patience_ms.map_or(LONGEST, |ms| Duration::from_millis(ms).min(LONGEST))
}

/// Returns the patience in the form of a request.
pub(crate) fn to_tell(patience: Option<Duration>) -> Option<u64> {
    Some(u64::try_from(patience?.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_limit_counts_while_clients_use_the_node() {
        let rates = |most, with_clients| RepairRates { most, with_clients };
        for (rates, alone, used) in [
            (rates(0, 0), 0, 0),
            (rates(0, 16), 0, 16),
            (rates(100, 0), 100, 100),
            (rates(100, 16), 100, 16),
            (rates(10, 16), 10, 10),
        ] {
            assert_eq!((rates.at(false), rates.at(true)), (alone, used), "{rates:?}");
        }
    }

    #[test]
    fn a_copy_waits_as_long_as_it_comes_in_time() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let schedule = Schedule::new(begun, Some(second * 200), 1_000);
        for (passed, after, seconds) in
            [(0, 0, 0), (100, 0, 10), (100, 4, 6), (100, 11, 0), (1_000, 0, 100), (2_000, 0, 100)]
        {
            let patience = schedule.patience(passed, begun + second * after);
            assert_eq!(patience, Some(second * seconds), "{passed} bytes after {after} s");
        }
        let late = Schedule::new(begun, Some(Duration::ZERO), 1_000);
        assert_eq!(late.patience(500, begun), Some(Duration::ZERO));
        assert_eq!(Schedule::new(begun, None, 1_000).patience(0, begun + second), None);
    }

    #[tokio::test]
    async fn bytes_pass_at_the_rate_while_clients_use_the_node_and_at_once_when_not() {
        let pace = RepairPace::new(RepairRates { most: 0, with_clients: 1_000_000 });
        let begin = Instant::now();
        pace.send(u64::MAX, None).await;
        pace.clients.note(1_000);
        tokio::time::sleep(Duration::from_millis(250)).await;
        for _ in 0..6 {
            pace.send(20_000, None).await;
        }
        assert!(begin.elapsed() >= Duration::from_millis(350), "the first one does not wait");
        // Late bytes do not wait for clients, but for the permanent limit.
        pace.send(u64::MAX / 2, Some(Duration::ZERO)).await;
        pace.receive(u64::MAX / 2, Some(0)).await;
        pace.receive(1, Some(0)).await;
        let pace = RepairPace::new(RepairRates { most: 1_000_000, with_clients: 0 });
        let begin = Instant::now();
        for _ in 0..6 {
            pace.send(20_000, Some(Duration::ZERO)).await;
        }
        assert!(begin.elapsed() >= Duration::from_millis(100), "{:?}", begin.elapsed());
    }
}
