//! DeleteContainerCommand: deletes a replica.

use proto::scm_datanode as wire;
use types::{ContainerId, WireError};

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::DeleteContainerCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(self.container_id.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let id = ContainerId::from_wire(self.container_id);
        let (node, order, force) = (context.node, context.order, self.force);
        let index = self.replica_index.unwrap_or(0);
        let store = node.store.clone();
        // The order may have waited for a thread.
        let delete = move || order.check().map(|()| store.delete_replica(id, index, force));
        let done = tokio::task::spawn_blocking(delete).await;
        node.pending_reports.container_changed(id);
        match done?? {
            Err(error) if node.store.container(id).is_err() => {
                tracing::debug!(container = %id, %error, "container to delete does not exist here");
                Ok(None)
            }
            deleted => Ok(deleted.map(|()| None)?),
        }
    }
}
