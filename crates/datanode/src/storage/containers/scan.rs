//! Reading a whole replica, because something is suspicious about it.

use std::sync::Arc;

use container::ContainerState;
use container::checksum;
use metastore::IterRange;
use types::{BlockId, ContainerId, LocalId};

use super::Container;
use crate::storage::error::{Result, StorageError};
use crate::storage::store::ContainerStore;
use crate::storage::tables::{self, BLOCK_DATA, StoredBlock};

/// Rows read at a time.
const PAGE: usize = 500;

/// What was found of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All its bytes have their checksums.
    Sound,
    /// It is damaged, and marked UNHEALTHY. The reason says where.
    Damaged(String),
    /// It is not here any more, or was UNHEALTHY already.
    Moot,
}

impl ContainerStore {
    /// Has a replica looked through soon: somebody had bytes of it that are not as they should be,
    /// or the device did not give them. One that is not here needs none.
    pub fn suspect(&self, id: ContainerId, why: &str) {
        if self.find(id).is_some() && self.note_suspect(id) {
            tracing::warn!(container = %id, why, "a replica is suspicious and will be read whole");
        }
    }

    /// Reads all committed blocks of a replica. One that is damaged, or that the device does not
    /// give, is marked UNHEALTHY.
    ///
    /// # Errors
    /// When its state cannot be changed.
    pub async fn scan(&self, id: ContainerId) -> Result<Verdict> {
        let Ok(container) = self.container(id) else { return Ok(Verdict::Moot) };
        if matches!(container.state(), ContainerState::Unhealthy | ContainerState::Deleted) {
            return Ok(Verdict::Moot);
        }
        let damage = self.first_damage(&container).await;
        self.count_scan(damage.is_some());
        let Some(reason) = damage else { return Ok(Verdict::Sound) };
        if container.disk().failure().is_some() {
            return Ok(Verdict::Moot);
        }
        let (store, why) = (self.clone(), reason.clone());
        let marked = tokio::task::spawn_blocking(move || store.mark_unhealthy(id, &why)).await;
        marked.map_err(|e| StorageError::disk(container.path(), e))??;
        Ok(Verdict::Damaged(reason))
    }

    /// The first thing that is wrong with a replica.
    async fn first_damage(&self, container: &Arc<Container>) -> Option<String> {
        let mut last = None;
        loop {
            let (from, at) = (Arc::clone(container), last);
            let page = match tokio::task::spawn_blocking(move || page(&from, at)).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return Some(error.to_string()),
                Err(error) => return Some(error.to_string()),
            };
            last = Some(page.last()?.0);
            for (local, row) in page {
                if let Some(reason) = self.damage_of(container, local, &row).await {
                    return Some(reason);
                }
            }
        }
    }

    /// What is wrong with a block, unless it was deleted or written on meanwhile.
    async fn damage_of(
        &self,
        container: &Arc<Container>,
        local: LocalId,
        row: &StoredBlock,
    ) -> Option<String> {
        let block = BlockId { container: container.id(), local, bcsid: row.bcsid() };
        for chunk in &row.chunks {
            let read = self.read_range(container, row, block, chunk.offset, chunk.len).await;
            let error = match read {
                Ok(data) => checksum::verify(&chunk.checksum_data, &data)
                    .err()
                    .map(|error| StorageError::Checksum { block, error }),
                Err(StorageError::Recovering(_)) => None,
                Err(error) => Some(error),
            };
            let Some(error) = error else { continue };
            return match container.block_row(local) {
                Ok(Some(now)) if now == *row => Some(error.to_string()),
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
        }
        None
    }
}

/// Rows behind a block.
fn page(container: &Container, after: Option<LocalId>) -> Result<Vec<(LocalId, StoredBlock)>> {
    let id = container.id();
    let range = IterRange::prefix(tables::prefix(id)).background(1 << 20);
    let mut cursor = container.disk().db.iter(BLOCK_DATA, range)?;
    match after {
        None => cursor.first(),
        Some(after) => {
            let mut behind = tables::block_key(id, after);
            behind.push(0);
            cursor.seek(&behind);
        }
    }
    let mut rows = Vec::new();
    while rows.len() < PAGE {
        let Some((key, value)) = cursor.row()? else { break };
        let local = tables::block_of(key)
            .ok_or_else(|| StorageError::row(id, "block_data", "malformed key"))?;
        rows.push((local, StoredBlock::read(id, value)?));
        cursor.next();
    }
    Ok(rows)
}
