//! The deletion log, as administrators see it.

use proto::container_location::*;
use proto::hdds::{DeletedBlocksTransactionInfo, DeletedBlocksTransactionSummary};

use crate::core::Core;

/// GetDeletedBlocksTransactionSummary.
pub fn summary(core: &Core) -> GetDeletedBlocksTxnSummaryResponseProto {
    let s = core.cluster().deletions.summary();
    GetDeletedBlocksTxnSummaryResponseProto {
        summary: Some(DeletedBlocksTransactionSummary {
            total_transaction_count: Some(s.transactions),
            total_block_count: Some(s.blocks),
            total_block_size: Some(s.size),
            total_block_replicated_size: Some(s.replicated_size),
        }),
    }
}

/// GetFailedDeletedBlocksTransaction: those put aside after too many rounds.
pub fn failed(
    core: &Core,
    r: &GetFailedDeletedBlocksTxnRequestProto,
) -> GetFailedDeletedBlocksTxnResponseProto {
    let cluster = core.cluster();
    let limit = cluster.settings.deletion.max_retries;
    let start = r.start_tx_id().max(0) as u64;
    // As in Ozone, a count that is not positive asks for all.
    let count = usize::try_from(r.count).ok().filter(|n| *n > 0).unwrap_or(usize::MAX);
    let failed = cluster.deletions.from(start).filter(|t| cluster.deletions.retries(t.id) > limit);
    let info = |t: &placement::Transaction| DeletedBlocksTransactionInfo {
        tx_id: Some(t.id as i64),
        container_id: Some(t.container.to_wire()),
        local_id: t.blocks.iter().map(|b| b.to_wire()).collect(),
        count: Some(-1),
    };
    GetFailedDeletedBlocksTxnResponseProto {
        deleted_blocks_transactions: failed.take(count).map(info).collect(),
    }
}

/// ResetDeletedBlockRetryCount.
pub fn reset(
    core: &Core,
    r: &ResetDeletedBlockRetryCountRequestProto,
) -> ResetDeletedBlockRetryCountResponseProto {
    let mut cluster = core.cluster();
    let limit = cluster.settings.deletion.max_retries;
    let ids: Vec<u64> = r.transaction_id.iter().map(|id| *id as u64).collect();
    let reset = cluster.deletions.reset_retries(&ids, limit);
    ResetDeletedBlockRetryCountResponseProto { reset_count: reset as i32 }
}
