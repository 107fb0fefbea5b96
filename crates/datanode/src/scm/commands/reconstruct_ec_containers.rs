//! ReconstructECContainersCommand: rebuilds lost replica indexes from the remaining ones.

use std::time::Instant;

use proto::scm_datanode as wire;
use types::WireError;

use super::{Ack, Carry, CommandError, Context};
use crate::repair::reconstruct::{Coordinator, Job, NotOrdered};

impl Carry for wire::ReconstructEcContainersCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        // Another one of the same container waits for its next order, whatever indexes it names.
        Ok(self.container_id.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let Context { node, order } = context;
        let job = Job::from_wire(&self)?;
        let coordinator = Coordinator {
            pusher: &node.pusher,
            small: node.store.options().small_block_max,
            counts: &node.reconstructions,
            begun: tokio::time::Instant::now(),
            left: order.left(),
        };
        let still_ordered = || order.check().map_err(|error| NotOrdered(error.to_string()));
        let begun = Instant::now();
        let (report, outcome) = coordinator.run(&job, &still_ordered).await;
        node.audit.log(&job, &report, begun.elapsed(), &outcome);
        tracing::info!(
            container = %job.container, indexes = job.indexes(), published = report.published.len(),
            blocks = report.blocks, bytes = report.bytes, skipped = report.skipped,
            millis = begun.elapsed().as_millis() as u64, "replica indexes rebuilt"
        );
        for (block, sources) in &report.named {
            tracing::warn!(
                container = %job.container, %block, sources,
                "too few replicas have a block: it is not rebuilt"
            );
        }
        Ok(outcome.map(|()| None)?)
    }
}
