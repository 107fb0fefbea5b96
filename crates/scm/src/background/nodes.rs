//! Watches the age of heartbeats, and wakes the other services while work is pending.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::core::Core;
use crate::service_names as names;

pub struct NodeStateManager(pub Arc<Core>);

#[async_trait]
impl BackgroundService for NodeStateManager {
    fn name(&self) -> &str {
        names::NODE_STATE
    }

    fn interval(&self) -> Duration {
        self.0.options.watch_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        // A follower watches, too, to have current states when it becomes the leader; its decisions
        // are dropped.
        let leads = core.check_leader().is_ok();
        if !leads && !core.is_shared() {
            return Progress::idle();
        }
        let (shifts, decision, pipelines, containers, deletions, leaving) = {
            let mut cluster = core.cluster();
            let now = core.clock.now();
            let (shifts, decision) = cluster.watch_nodes(now);
            let on_their_way = cluster.any_container_on_its_way(now)
                || !cluster.replicas.none_is_empty()
                || cluster.pending.take_changed();
            let leaving = cluster.any_node_leaves();
            let deletions = cluster.deletions.summary().transactions > 0;
            (shifts, decision, cluster.pipelines.any_on_its_way(), on_their_way, deletions, leaving)
        };
        for shift in &shifts {
            tracing::warn!(node = %shift.node, from = %shift.from, to = %shift.to, "no heartbeat from datanode");
        }
        core.carry_out(decision);
        if !leads {
            core.try_leave_safe_mode();
            return Progress::done(shifts.len() as u64);
        }
        if !shifts.is_empty() {
            core.services.wake(names::PIPELINE_CREATOR);
        }
        for (name, wanted) in [
            (names::PIPELINE_SCRUBBER, pipelines),
            (names::REPLICATION_MANAGER, containers),
            (names::ADMIN_MONITOR, leaving && containers),
            (names::BLOCK_DELETION, deletions),
        ] {
            if wanted {
                core.services.wake(name);
            }
        }
        core.try_leave_safe_mode();
        Progress::done(shifts.len() as u64)
    }
}
