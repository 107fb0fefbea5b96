//! ReconcileContainerCommand: a replica takes what it lacks from those of other nodes.

use proto::scm_datanode as wire;
use types::WireError;

use super::{Ack, Carry, CommandError, Context};
use crate::repair::reconcile::{Job, Worker};

impl Carry for wire::ReconcileContainerCommandProto {
    fn id(&self) -> i64 {
        // It has no number of its own, and SCM waits for no outcome: reports contain the result.
        0
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(self.container_id.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        context.order.check()?;
        let (node, job) = (context.node, Job::from_wire(&self)?);
        let worker =
            Worker { store: &node.store, pusher: &node.pusher, counts: &node.reconciliations };
        let outcome = worker.run(&job).await;
        node.pending_reports.container_changed(job.container);
        Ok(outcome.map(|_| None)?)
    }
}
