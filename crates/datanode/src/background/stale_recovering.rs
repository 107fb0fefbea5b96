//! Replicas that a coordinator of Ozone's protocol created and did not finish: they are removed
//! after a timeout. (Replicas sent by our own coordinators are in a folder of arrivals, see
//! `push::receive`.) A start removes them, too.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use container::ContainerState;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use service::{BackgroundService, Progress};
use types::ContainerId;

use crate::node::Node;
use crate::service_names;

/// Ozone's `StaleRecoveringContainerScrubbingService`.
pub(crate) struct StaleRecovering {
    node: Weak<Node>,
    interval: Duration,
    timeout: Duration,
    /// Times at which replicas were first seen RECOVERING.
    since: Mutex<FxHashMap<ContainerId, Instant>>,
}

impl StaleRecovering {
    pub fn new(node: &Arc<Node>) -> Self {
        let (settings, since) = (&node.settings, Mutex::default());
        let (interval, timeout) = (settings.recovering_interval, settings.recovering_timeout);
        Self { node: Arc::downgrade(node), interval, timeout, since }
    }

    /// Those that have been RECOVERING for too long.
    fn stale(&self, recovering: &[ContainerId], now: Instant) -> Vec<ContainerId> {
        let mut since = self.since.lock();
        since.retain(|id, _| recovering.contains(id));
        let known = recovering.iter().map(|id| (*id, *since.entry(*id).or_insert(now)));
        let is_stale = |at: Instant| now.saturating_duration_since(at) >= self.timeout;
        known.filter(|(_, at)| is_stale(*at)).map(|(id, _)| id).collect()
    }
}

#[async_trait]
impl BackgroundService for StaleRecovering {
    fn name(&self) -> &str {
        service_names::STALE_RECOVERING
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let is_recovering = |id: &ContainerId| {
            let container = node.store.container(*id);
            container.is_ok_and(|c| c.info().state == ContainerState::Recovering)
        };
        let recovering: Vec<ContainerId> =
            node.store.containers().into_iter().filter(is_recovering).collect();
        let stale = self.stale(&recovering, Instant::now());
        let store = node.store.clone();
        let remove = move || {
            let removed = stale.into_iter().map(|id| store.delete_recovering(id).map(u64::from));
            removed.sum::<Result<u64, _>>()
        };
        match tokio::task::spawn_blocking(remove).await {
            Ok(Ok(removed)) => Progress::done(removed),
            Ok(Err(error)) => Progress::failed(error),
            Err(error) => Progress::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recovering_for_as_long_as_the_timeout_is_stale() {
        let (interval, timeout) = (Duration::from_secs(60), Duration::from_secs(100));
        let service =
            StaleRecovering { node: Weak::new(), interval, timeout, since: Mutex::default() };
        let (one, two) = (ContainerId(1), ContainerId(2));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(service.stale(&[one], at(0)), []);
        assert_eq!(service.stale(&[one, two], at(60)), []);
        assert_eq!(service.stale(&[one, two], at(99)), []);
        assert_eq!(service.stale(&[one, two], at(100)), [one]);
        // The first one disappears, and returns.
        assert_eq!(service.stale(&[two], at(120)), []);
        assert_eq!(service.stale(&[one, two], at(160)), [two]);
        assert_eq!(service.stale(&[one], at(219)), []);
        assert_eq!(service.stale(&[one], at(260)), [one]);
    }
}
