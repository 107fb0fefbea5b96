//! Completes transitions of containers: repeats orders to close, deletes containers that are empty,
//! and orders copies and deletions until every container has its required replicas.
//!
//! A round over all containers runs in batches, so that no request waits long for the cluster's
//! lock.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use placement::replica::repair::Repairs;
use service::{BackgroundService, Progress};
use types::ContainerId;

use crate::core::Core;
use crate::service_names as names;

/// Containers checked under one lock.
const PORTION: usize = 5_000;

pub struct ReplicationManager {
    core: Arc<Core>,
    /// First container of the round's next batch; `None` when a new round begins.
    next: Mutex<Option<ContainerId>>,
}

impl ReplicationManager {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, next: Mutex::default() }
    }
}

#[async_trait]
impl BackgroundService for ReplicationManager {
    fn name(&self) -> &str {
        names::REPLICATION_MANAGER
    }

    fn interval(&self) -> Duration {
        self.core.options.review_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.core;
        if core.services.is_paused(names::REPLICATION_MANAGER) {
            return Progress::idle();
        }
        let start = *self.next.lock();
        let complete = core.knows_all_replicas();
        let (decision, next) = {
            let mut cluster = core.cluster();
            if core.check_leader().is_err() || cluster.safe_mode.is_on() {
                return Progress::idle();
            }
            let now = core.clock.now();
            let mut decision = placement::Decision::default();
            if start.is_none() {
                decision = cluster.review_containers(now);
                decision.merge(cluster.clean_containers(now));
                if complete {
                    decision.merge(cluster.clear_left_overs(now));
                }
            }
            let repairs = match complete {
                true => cluster.repair_containers(start.unwrap_or(ContainerId(0)), PORTION, now),
                false => Repairs::default(),
            };
            for order in &repairs.decision.orders {
                tracing::info!(node = %order.node, order = ?order.kind, "repairing replicas");
            }
            core.metrics.repairs.inc_by(repairs.decision.orders.len() as u64);
            if complete {
                let start = start.unwrap_or(ContainerId(0));
                decision.merge(cluster.repeat_closes(start, PORTION, now));
            }
            cluster.note_orders(&decision.orders, now);
            decision.merge(repairs.decision);
            (decision, repairs.next)
        };
        let orders = decision.orders.len() as u64;
        *self.next.lock() = next;
        core.commands.push(decision.orders);
        let count = decision.changes.len() as u64;
        if count > 0
            && let Err(error) = core.propose(decision.changes).await
        {
            return Progress::failed(error);
        }
        match next {
            Some(_) => Progress::more(count + orders),
            None => Progress::done(count),
        }
    }
}
