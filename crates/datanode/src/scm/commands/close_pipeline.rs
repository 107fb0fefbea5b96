//! ClosePipelineCommand: a pipeline ends, its log is erased.

use proto::scm_datanode as wire;
use types::{PipelineId, WireError};

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::ClosePipelineCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(PipelineId::from_wire(&self.pipeline_id)?.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let id = PipelineId::from_wire(&self.pipeline_id)?;
        context.node.pipelines.close(id).await?;
        Ok(None)
    }
}
