//! DeleteScmKeyBlocks: blocks of deleted keys enter the deletion log.

use placement::deletion::{DeletedBlock, Draft};
use placement::{Change, Sequence};
use proto::block_location::delete_scm_block_result::Result as Outcome;
use proto::block_location::{
    DeleteKeyBlocksResultProto, DeleteScmBlockResult, DeleteScmKeyBlocksRequestProto,
    DeleteScmKeyBlocksResponseProto, KeyBlocks,
};
use types::BlockId;

use super::ids;
use crate::core::Core;
use crate::error::RequestError;

/// Adds blocks to the deletion log. When this returns, their deletion is durable.
pub async fn delete(
    core: &Core,
    request: DeleteScmKeyBlocksRequestProto,
) -> Result<DeleteScmKeyBlocksResponseProto, RequestError> {
    if core.cluster().safe_mode.is_on() {
        return Ok(respond(request, Outcome::SafeMode));
    }
    let blocks: Vec<_> = request.key_blocks.iter().flat_map(blocks_of).collect();
    let drafts = Draft::group(&blocks);
    if !drafts.is_empty() {
        let transactions = loop {
            let numbered = core.cluster().number_deletions(&drafts);
            match numbered {
                Some(transactions) => break transactions,
                None => ids::reserve(core, Sequence::DelTxnId, drafts.len() as u64).await?,
            }
        };
        core.propose_one(Change::AddDeletions(transactions)).await?;
    }
    core.metrics.blocks_deleted.inc_by(blocks.len() as u64);
    Ok(respond(request, Outcome::Success))
}

fn blocks_of(key: &KeyBlocks) -> impl Iterator<Item = DeletedBlock> + '_ {
    key.blocks.iter().enumerate().map(|(i, block)| {
        let id = BlockId::from_wire(block);
        DeletedBlock {
            container: id.container,
            local: id.local,
            size: key.size.get(i).copied().unwrap_or(0),
            replicated_size: key.replicated_size.get(i).copied().unwrap_or(0),
        }
    })
}

fn respond(
    request: DeleteScmKeyBlocksRequestProto,
    outcome: Outcome,
) -> DeleteScmKeyBlocksResponseProto {
    let result = |key: KeyBlocks| DeleteKeyBlocksResultProto {
        object_key: key.key,
        block_results: key
            .blocks
            .into_iter()
            .map(|block_id| DeleteScmBlockResult { result: outcome as i32, block_id })
            .collect(),
    };
    DeleteScmKeyBlocksResponseProto {
        results: request.key_blocks.into_iter().map(result).collect(),
    }
}
