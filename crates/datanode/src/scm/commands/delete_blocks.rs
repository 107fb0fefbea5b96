//! DeleteBlocksCommand, stage two of a deletion: the blocks are durably recorded as deleted, then
//! acknowledged; their space is freed later, in the background.

use proto::scm_datanode as wire;
use scheduling::on_background_thread;
use types::WireError;

use super::{Ack, Carry, CommandError, Context};
use containerstore::DeletionResult;

impl Carry for wire::DeleteBlocksCommandProto {
    fn id(&self) -> i64 {
        self.cmd_id
    }

    fn subject(&self) -> Result<String, WireError> {
        Ok(self.cmd_id.to_string())
    }

    async fn carry_out(self, context: Context<'_>) -> Result<Option<Ack>, CommandError> {
        let node = context.node;
        let (store, transactions) = (node.store.clone(), self.deleted_blocks_transactions);
        let take = move || store.delete_blocks(&transactions);
        let results = on_background_thread(take).await;
        let results = results?
            .into_iter()
            .map(|DeletionResult { tx_id, container, outcome }| {
                if let Err(error) = &outcome {
                    tracing::debug!(tx_id, %container, %error, "blocks cannot be deleted yet");
                }
                wire::container_blocks_deletion_ack_proto::DeleteBlockTransactionResult {
                    tx_id,
                    container_id: container.to_wire(),
                    success: outcome.is_ok(),
                }
            })
            .collect();
        node.reclaim_soon();
        let dn_id = node.details.load().id.to_string();
        Ok(Some(Ack { results, dn_id }))
    }
}
