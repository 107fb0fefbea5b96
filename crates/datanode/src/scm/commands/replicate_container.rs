//! ReplicateContainerCommand: a container is sent to the node that SCM names.

use proto::scm_datanode as wire;
use types::{ContainerId, DatanodeDetails, StorageType, WireError};

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::ReplicateContainerCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(format!("{} {}", self.container_id, target(self)?.id))
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        context.order.check()?;
        let (node, id) = (context.node, ContainerId::from_wire(self.container_id));
        let storage_type = self.storage_type.map(StorageType::from_wire).transpose()?;
        let to = (&target(&self)?, storage_type);
        let pushed = node.pusher.push(&node.store, id, to, context.order.left()).await;
        if pushed.is_err() {
            // The replica here may have turned out damaged.
            node.pending_reports.container_changed(id);
        }
        pushed?;
        Ok(None)
    }
}

fn target(copy: &wire::ReplicateContainerCommandProto) -> Result<DatanodeDetails, WireError> {
    const MISSING: WireError =
        WireError::Missing { message: "ReplicateContainerCommandProto", field: "target" };
    DatanodeDetails::from_wire(copy.target.as_ref().ok_or(MISSING)?)
}
