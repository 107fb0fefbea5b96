//! Watches nodes that are being decommissioned or enter maintenance, and logs their obstacles.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use placement::node::Obstacles;
use rustc_hash::FxHashMap;
use service::{BackgroundService, Progress};
use types::DatanodeId;

use crate::core::Core;
use crate::service_names as names;

pub struct DatanodeAdminMonitor {
    core: Arc<Core>,
    /// Obstacles of each node in the last round; they are logged when they change.
    told: Mutex<FxHashMap<DatanodeId, Obstacles>>,
}

impl DatanodeAdminMonitor {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, told: Mutex::default() }
    }
}

#[async_trait]
impl BackgroundService for DatanodeAdminMonitor {
    fn name(&self) -> &str {
        names::ADMIN_MONITOR
    }

    fn interval(&self) -> Duration {
        self.core.options.admin_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.core;
        if core.check_leader().is_err() {
            return Progress::idle();
        }
        let (looked_at, decision) = core.cluster().check_leaving_nodes(core.clock.now());
        let changed = !decision.is_empty();
        core.carry_out(decision);
        let count = looked_at.len() as u64;
        let mut told = self.told.lock();
        let mut now = FxHashMap::default();
        for node in looked_at {
            let o = &node.obstacles;
            if told.get(&node.node) != Some(o) {
                tracing::info!(
                    node = %node.node, state = node.state.to_wire().as_str_name(),
                    pipelines = o.pipelines.len(), under_replicated = o.under_replicated.len(),
                    unclosed = o.unclosed.len(), done = o.done, "datanode leaving service"
                );
            }
            now.insert(node.node, node.obstacles);
        }
        *told = now;
        if changed {
            core.progress.notify_waiters();
        }
        Progress::done(count)
    }
}
