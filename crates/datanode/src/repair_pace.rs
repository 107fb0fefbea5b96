//! How fast copies and reconstructions go: as fast as they can where nobody else uses a DataNode,
//! and slower while clients do.
//!
//! Each DataNode judges for itself what of it repairs take: bytes that it sends, that it receives,
//! and that it reads for a coordinator of a reconstruction. The slowest of those that take part
//! sets the rate.

use std::time::Duration;

use config::Configuration;
use config::keys::datanode as dn;
use tokio::time::Instant;

use crate::client_load::ClientLoad;
use crate::throttle::Throttle;

/// How long one that waits for an answer is kept waiting: far less than its time-out.
const LONGEST: Duration = Duration::from_secs(10);

/// Bytes per second; 0 is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepairRates {
    /// At any time.
    pub most: u64,
    /// While clients use the DataNode.
    pub with_clients: u64,
}

impl RepairRates {
    /// Reads them, for a DataNode of so many data directories.
    pub(crate) fn read(conf: &Configuration, directories: usize) -> Self {
        let with_clients = &dn::TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH_WITH_CLIENTS;
        Self {
            most: conf.get(&dn::TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH).bytes(),
            with_clients: conf.get(with_clients).bytes().saturating_mul(directories as u64),
        }
    }

    fn at(&self, is_used: bool) -> u64 {
        match (self.most, self.with_clients) {
            (most, with_clients) if !is_used || with_clients == 0 => most,
            (0, with_clients) => with_clients,
            (most, with_clients) => most.min(with_clients),
        }
    }
}

/// Lets repairs pass.
#[derive(Debug, Default)]
pub(crate) struct RepairPace {
    rates: RepairRates,
    /// What clients ask for.
    pub(crate) clients: ClientLoad,
    sent: Throttle,
    received: Throttle,
    read: Throttle,
}

impl RepairPace {
    pub(crate) fn new(rates: RepairRates) -> Self {
        Self { rates, ..Self::default() }
    }

    /// Bytes per second that may pass now in each direction; 0 is no limit.
    pub(crate) fn rate(&self, now: Instant) -> u64 {
        self.rates.at(self.clients.is_used(now.into_std()))
    }

    /// Waits until so many bytes may be sent.
    pub(crate) async fn send(&self, bytes: u64) {
        self.pass(&self.sent, bytes, None).await;
    }

    /// Waits until the answer may say that so many bytes were received.
    pub(crate) async fn receive(&self, bytes: u64) {
        self.pass(&self.received, bytes, Some(LONGEST)).await;
    }

    /// Waits until so many bytes may be read for another DataNode.
    pub(crate) async fn read(&self, bytes: u64) {
        self.pass(&self.read, bytes, Some(LONGEST)).await;
    }

    async fn pass(&self, throttle: &Throttle, bytes: u64, longest: Option<Duration>) {
        let now = Instant::now();
        let rate = self.rate(now);
        if rate == 0 {
            return;
        }
        let at = throttle.next(bytes, rate, now);
        let at = longest.map_or(at, |longest| at.min(now + longest));
        if at > now {
            tokio::time::sleep_until(at).await;
        }
    }
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

    #[tokio::test]
    async fn bytes_pass_at_the_rate_while_clients_use_the_node_and_at_once_when_not() {
        let pace = RepairPace::new(RepairRates { most: 0, with_clients: 1_000_000 });
        let begin = Instant::now();
        pace.send(u64::MAX).await;
        pace.clients.note(1_000);
        tokio::time::sleep(Duration::from_millis(250)).await;
        for _ in 0..6 {
            pace.send(20_000).await;
        }
        assert!(begin.elapsed() >= Duration::from_millis(350), "the first one does not wait");
    }
}
