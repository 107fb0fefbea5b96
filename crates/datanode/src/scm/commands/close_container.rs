//! CloseContainerCommand: a container takes no more writes.

use proto::scm_datanode as wire;
use types::{ContainerId, PipelineId, WireError};

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::CloseContainerCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(format!("{} {}", self.container_id, self.force()))
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let pipeline = PipelineId::from_wire(&self.pipeline_id)?;
        let container = ContainerId::from_wire(self.container_id);
        context.node.close_container(container, pipeline, self.force()).await?;
        Ok(None)
    }
}
