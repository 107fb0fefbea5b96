//! ReplicateContainerCommand: a container is sent to the node that SCM names. When that is this one
//! the replica moves to another of its disks.

use proto::scm_datanode as wire;
use types::{ContainerId, DatanodeDetails, StorageType, WireError};

use super::relocate::relocate;
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
        let target = target(&self)?;
        if target.id == node.details.load().id {
            let wanted = storage_type.ok_or(NO_TYPE)?;
            let moved = relocate(node, id, wanted, &context.order).await;
            // It is on another disk, or has turned out damaged.
            node.pending_reports.container_changed(id);
            return moved.map(|()| None);
        }
        let to = (&target, storage_type);
        let pushed = node.pusher.push(&node.store, id, to, context.order.left()).await;
        if pushed.is_err() {
            // The replica here may have turned out damaged.
            node.pending_reports.container_changed(id);
        }
        pushed?;
        Ok(None)
    }
}

const NO_TYPE: WireError =
    WireError::Missing { message: "ReplicateContainerCommandProto", field: "storageType" };

fn target(copy: &wire::ReplicateContainerCommandProto) -> Result<DatanodeDetails, WireError> {
    const MISSING: WireError =
        WireError::Missing { message: "ReplicateContainerCommandProto", field: "target" };
    DatanodeDetails::from_wire(copy.target.as_ref().ok_or(MISSING)?)
}
