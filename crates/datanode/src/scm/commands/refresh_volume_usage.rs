//! RefreshVolumeUsageInfo: no action, every heartbeat measures the disks' usage.

use proto::scm_datanode as wire;
use types::WireError;

use super::{Ack, Carry, CommandError, Context};

impl Carry for wire::RefreshVolumeUsageCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(self.cmd_id.to_string())
    }

    async fn carry_out(self, _: Context<'_>) -> Result<Option<Ack>, CommandError> {
        Ok(None)
    }
}
