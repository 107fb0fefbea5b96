//! Deletions that are still pending.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use metastore::IterRange;
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use scheduling::on_background_thread;
use tokio::time::timeout;
use types::ContainerId;

use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, DELETE_TXNS};

/// Transactions that are recorded and not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingDeletions {
    /// Transactions.
    pub transactions: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Bytes of the blocks, as sent by SCM.
    pub bytes: u64,
    /// The lowest transaction number, and its container.
    pub oldest: Option<(u64, ContainerId)>,
    /// True if counting stopped before the end.
    pub more: bool,
}

impl PendingDeletions {
    /// Adds those of another disk.
    fn add(&mut self, other: &Self) {
        self.transactions = self.transactions.saturating_add(other.transactions);
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.more |= other.more;
        self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
    }
}

impl ContainerStore {
    /// Counts pending deletions, up to `limit` transactions of each disk, and names a disk that
    /// does not respond within `time`. One that hangs holds one thread, however many calls there
    /// are.
    ///
    /// # Errors
    /// When a disk cannot be read; one that has failed is skipped.
    pub async fn pending_deletions(
        &self,
        limit: u64,
        time: Duration,
    ) -> Result<(PendingDeletions, Option<PathBuf>)> {
        let disks = self.disks().iter().filter(|disk| disk.failure().is_none());
        let count = async |disk| (disk, count(disk, limit, time).await);
        let (mut sum, mut silent) = (PendingDeletions::default(), None);
        for (disk, counted) in join_all(disks.map(count)).await {
            match counted {
                Some(counted) => sum.add(&counted?),
                None => {
                    sum.more = true;
                    silent.get_or_insert_with(|| disk.path().to_owned());
                }
            }
        }
        Ok((sum, silent))
    }
}

/// Returns the pending deletions of a disk; `None` if it does not respond in time.
async fn count(disk: &Arc<Disk>, limit: u64, time: Duration) -> Option<Result<PendingDeletions>> {
    let look = timeout(time, Arc::clone(&disk.deletion_look).lock_owned()).await.ok()?;
    let counting = Arc::clone(disk);
    let count = on_background_thread(move || {
        let counted = counting.pending_deletions(limit);
        drop(look);
        counted
    });
    let counted = timeout(time, count).await.ok()?;
    Some(counted.unwrap_or_else(|error| Err(StorageError::disk(disk.path(), error))))
}

impl Disk {
    /// Counts what is pending here, up to `limit` transactions. Rows that do not decode are counted
    /// as transactions without blocks. Blocks.
    ///
    /// # Errors
    /// When it cannot be read.
    fn pending_deletions(&self, limit: u64) -> Result<PendingDeletions> {
        let mut sum = PendingDeletions::default();
        let ids = self.deleting.lock().containers();
        for id in ids {
            if sum.transactions >= limit {
                sum.more = true;
                break;
            }
            add(self, id, limit, &mut sum)?;
        }
        Ok(sum)
    }
}

fn add(disk: &Disk, id: ContainerId, limit: u64, sum: &mut PendingDeletions) -> Result<()> {
    let mut cursor = disk.db.iter(DELETE_TXNS, IterRange::prefix(tables::prefix(id)))?;
    let first = disk.deleting.lock().first_of(id);
    cursor.seek(&tables::tx_key(id, first));
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
