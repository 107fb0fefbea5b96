//! Creates missing pipelines, and closes one or two at a time to replace them with better ones.
//! Woken when a node registers or fails and when a pipeline opens or closes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use placement::Change;
use service::{BackgroundService, Progress};
use types::PipelineId;

use crate::core::Core;
use crate::service_names as names;

pub struct PipelineCreator(pub Arc<Core>);

#[async_trait]
impl BackgroundService for PipelineCreator {
    fn name(&self) -> &str {
        names::PIPELINE_CREATOR
    }

    fn interval(&self) -> Duration {
        self.0.options.pipeline_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        if core.check_leader().is_err() {
            return Progress::idle();
        }
        let changes: Vec<_> = {
            let cluster = core.cluster();
            let now = core.clock.now();
            let plans = cluster.plan_pipelines();
            let new = |plan| cluster.build_pipeline(&plan, PipelineId::random(), now);
            let mut changes: Vec<_> =
                plans.into_iter().map(|plan| Change::AddPipeline(new(plan))).collect();
            if changes.is_empty() {
                for id in cluster.plan_rebalance() {
                    tracing::info!(pipeline = %id, "closing pipeline to create better ones");
                    changes.push(Change::ClosePipeline { id, now });
                }
            }
            changes
        };
        if changes.is_empty() {
            return Progress::idle();
        }
        let count = changes.len() as u64;
        match core.propose(changes).await {
            Ok(_) => Progress::done(count),
            Err(error) => Progress::failed(error),
        }
    }
}
