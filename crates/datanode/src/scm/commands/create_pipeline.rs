//! CreatePipelineCommand: this node is a member of a new pipeline, or its members have moved.

use proto::scm_datanode as wire;
use types::{PipelineId, WireError};

use super::{Ack, Carry, CommandError, Context};
use crate::pipeline::Membership;

impl Carry for wire::CreatePipelineCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(PipelineId::from_wire(&self.pipeline_id)?.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let membership = Membership::from_wire(&self)?;
        let id = membership.id;
        context.node.pipelines.create(membership).await?;
        context.node.pending_reports.pipeline_changed(id);
        Ok(None)
    }
}
