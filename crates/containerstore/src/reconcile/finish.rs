//! The end of a reconciliation.

use std::fs;
use std::sync::Arc;

use container::ContainerState;
use metastore::{Batch, Durability};

use super::Reconcile;
use crate::containers::{Container, Sums};
use crate::error::{Result, StorageError};
use crate::merkle::RowTotals;
use crate::scan::{Pace, damage_beside_file, damage_of_blocks};

/// Attempts to recount rows that change meanwhile.
const TRIES: usize = 5;

/// Result of a reconciliation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Blocks that were taken from other replicas.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The checksum of the replica's tree; `None` if it is not known.
    pub checksum: Option<u64>,
    /// True if the replica was UNHEALTHY and is good again.
    pub repaired: bool,
    /// Damaged blocks that no other replica gave.
    pub damaged: u64,
}

/// Peers that the replica was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// Others may have what is not here.
    NotWithAll,
    /// All data of the others is here, and all of them are UNHEALTHY.
    WithDamaged,
    /// All data of the others is here, and at least one of them is not UNHEALTHY: the highest
    /// commit sequence id of those, which lack nothing up to there.
    WithSound(u64),
}

impl Reconcile<'_> {
    /// Ends it, durably. An UNHEALTHY replica without remaining damage is read once more, at this
    /// pace, and counts again if all of it is good.
    ///
    /// # Errors
    /// When the disk fails, or the replica is not there any more.
    pub async fn finish(self, compared: Compared, pace: &dyn Pace) -> Result<Reconciled> {
        let Self { store, container, damage, dir, taken, bytes, .. } = self;
        let (of, blocks) = (Arc::clone(&container), taken.len() as u64);
        let settle = move || {
            if let Compared::WithSound(reached) = compared {
                count_anew(&of, reached)?;
            }
            of.disk().flush()?;
            of.disk().io().forget(&dir);
            fs::remove_dir_all(&dir).map_err(|error| StorageError::disk(&dir, error))
        };
        container.blocking(settle).await?;
        let mut repaired = false;
        let is_level = compared != Compared::NotWithAll;
        if container.state() == ContainerState::Unhealthy && is_level && damage.is_empty() {
            match damage_left(&container, pace).await? {
                None => {
                    let (store, of) = (store.clone(), Arc::clone(&container));
                    container.blocking(move || store.note_repaired(&of)).await?;
                    repaired = true;
                }
                Some(reason) => {
                    tracing::warn!(container = %container.id(), reason, "replica stays UNHEALTHY");
                }
            }
        }
        store.checksums().note(&container);
        store.note_changed(container.id());
        let (checksum, damaged) = (container.known_checksum(), damage.len() as u64);
        Ok(Reconciled { blocks, bytes, checksum, repaired, damaged })
    }
}

/// Returns the remaining damage of a replica, all of which is read.
async fn damage_left(container: &Arc<Container>, pace: &dyn Pace) -> Result<Option<String>> {
    let of = Arc::clone(container);
    let found = container.blocking(move || damage_beside_file(&of)).await?;
    if found.is_some() {
        return Ok(found);
    }
    Ok(match damage_of_blocks(container, pace).await? {
        None => Some("it cannot be read now".to_owned()),
        Some(damage) if damage.is_empty() => None,
        Some(damage) => Some(format!("{} blocks of it are damaged", damage.len())),
    })
}

/// Recounts the sums from the rows, if others without missing blocks have come as far: `reached` is
/// their commit sequence id. Blocks.
fn count_anew(container: &Container, reached: u64) -> Result<()> {
    for _ in 0..TRIES {
        let before = container.sums();
        if before.bcsid > reached {
            return Ok(());
        }
        let RowTotals { blocks, used, checksum, bcsid } = RowTotals::of(container)?;
        let bcsid = bcsid.min(reached);
        let _commit = container.commit.lock();
        let now = container.sums();
        if now != before || container.state() == ContainerState::Deleted {
            continue;
        }
        let sums = Sums { blocks, used, checksum, bcsid: now.bcsid.max(bcsid), ..now };
        let mut batch = Batch::new();
        sums.put_changed(container, &mut batch);
        container.disk().db.write(batch, Durability::NoWal)?;
        container.set_sums(sums);
        return Ok(());
    }
    Err(StorageError::not_reconciled(container.id(), "its rows change all the time"))
}
