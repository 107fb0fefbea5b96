//! What of deletions is left to do.

use metastore::IterRange;
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use types::ContainerId;

use crate::storage::disk::Disk;
use crate::storage::error::Result;
use crate::storage::store::ContainerStore;
use crate::storage::tables::{self, DELETE_TXNS};

/// Transactions that are recorded and not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingDeletions {
    /// Transactions.
    pub transactions: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Bytes of the blocks, as SCM says.
    pub bytes: u64,
    /// The lowest transaction number, and its container.
    pub oldest: Option<(u64, ContainerId)>,
    /// Whether counting stopped before the end.
    pub more: bool,
}

impl ContainerStore {
    /// Counts what is pending, up to `limit` transactions. Rows that do not decode are counted as
    /// transactions without blocks. Blocks.
    ///
    /// # Errors
    /// When a disk cannot be read; one that has failed is left out.
    pub fn pending_deletions(&self, limit: u64) -> Result<PendingDeletions> {
        let mut sum = PendingDeletions::default();
        for disk in self.disks().iter().filter(|disk| disk.failure().is_none()) {
            let ids: Vec<ContainerId> = disk.deleting.lock().iter().copied().collect();
            for id in ids {
                if sum.transactions >= limit {
                    sum.more = true;
                    return Ok(sum);
                }
                add(disk, id, limit, &mut sum)?;
            }
        }
        Ok(sum)
    }
}

fn add(disk: &Disk, id: ContainerId, limit: u64, sum: &mut PendingDeletions) -> Result<()> {
    let mut cursor = disk.db.iter(DELETE_TXNS, IterRange::prefix(tables::prefix(id)))?;
    cursor.first();
    while let Some((key, value)) = cursor.row()? {
        if sum.transactions >= limit {
            sum.more = true;
            break;
        }
        sum.transactions += 1;
        if let Ok(tx) = DeletedBlocksTransaction::decode(value) {
            let blocks = u64::try_from(tx.local_id.len()).unwrap_or(u64::MAX);
            sum.blocks = sum.blocks.saturating_add(blocks);
            sum.bytes = sum.bytes.saturating_add(tx.total_size_per_replica());
        }
        let number = key.get(9..).and_then(|number| <[u8; 8]>::try_from(number).ok());
        if let Some(number) = number.map(u64::from_be_bytes)
            && sum.oldest.is_none_or(|(oldest, _)| number < oldest)
        {
            sum.oldest = Some((number, id));
        }
        cursor.next();
    }
    Ok(())
}
