//! SetNodeOperationalStateCommand: the operational state set by the operator.

use proto::scm_datanode as wire;
use types::{OperationalState, WireError};

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::SetNodeOperationalStateCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(self.cmd_id.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let state = OperationalState::from_wire(self.node_operational_state);
        let expiry = self.state_expiry_epoch_seconds;
        context.order.daemon.set_op_state(context.node, state, expiry)?;
        Ok(None)
    }
}
