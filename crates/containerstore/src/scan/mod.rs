//! Scans of replicas, so that damage is found while others are good.
//!
//! | file | subject |
//! | --- | --- |
//! | [`metadata`] | the parts of a container: folders, `.container` file, sums, segment files |
//! | [`rows`] | the rows of its blocks, against its sums |
//! | [`data`] | the bytes of its blocks, against their checksums |
//! | [`judge`] | errors that count against a replica |
//! | [`due`] | the next replica to scan |
//! | [`pace`] | rate of scans |
//!
//! # Invariants
//! * **A healthy replica is never reported.** Blocks are deleted and moved while they are read, and
//!   containers removed: a finding counts only if the row is still the same, and the container
//!   still here. A missing disk is the finding, not its containers.
//! * **A scan changes nothing** but the state of a damaged replica, and the record of its time: an
//!   interrupted one leaves no data.
//! * RECOVERING replicas are not scanned: the node that rebuilds them checks them.

mod data;
mod due;
mod judge;
mod metadata;
mod pace;
mod rows;

use std::sync::Arc;
use std::time::SystemTime;

use container::ContainerState;
use types::ContainerId;

pub(crate) use data::damage_of_blocks;
pub use due::ScanOverview;
pub(crate) use metadata::{damage_beside_file, damage_of_unseen};
pub use pace::{Pace, Unpaced};

pub use crate::scan_history::{DiskScans, FoundDamage, ScanKind, ScanStats, ScanTimes};

use crate::containers::Container;
use crate::disk::CheckFault;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;

/// Result of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No damage was found.
    Sound,
    /// It is damaged, and marked UNHEALTHY. The reason contains the place.
    Damaged(String),
    /// Its disk is missing, with the reason: its containers are not scanned.
    DiskGone(String),
    /// It is not here any more, in a state that is not scanned, or still replayed.
    Moot,
}

/// Finding about a replica, before it counts.
enum Found {
    Nothing,
    Damage(String),
    /// It is not to be judged: replayed, or removed.
    Moot,
}

impl ContainerStore {
    /// Returns the results of one kind of scan, over all disks.
    pub fn scans(&self, kind: ScanKind) -> ScanStats {
        self.disks().iter().fold(ScanStats::default(), |sum, disk| {
            let ScanStats { containers, bytes, damaged } = disk.scans.of(kind);
            ScanStats {
                containers: sum.containers.saturating_add(containers),
                bytes: sum.bytes.saturating_add(bytes),
                damaged: sum.damaged.saturating_add(damaged),
            }
        })
    }

    /// Checks the parts of a replica. A damaged one is marked UNHEALTHY.
    ///
    /// # Errors
    /// When its state cannot be changed.
    pub async fn scan_metadata(&self, id: ContainerId, now: SystemTime) -> Result<Verdict> {
        let Some(container) = self.begin_scan(id, ScanKind::Metadata, now) else {
            return Ok(Verdict::Moot);
        };
        let found = metadata_of(&container).await?;
        self.conclude(&container, ScanKind::Metadata, found, now).await
    }

    /// Reads all committed blocks of a replica, and checks its parts. One that is damaged, or whose
    /// bytes the device does not return, is marked UNHEALTHY.
    ///
    /// # Errors
    /// When its state cannot be changed.
    pub async fn scan_data(
        &self,
        id: ContainerId,
        kind: ScanKind,
        pace: &dyn Pace,
        now: SystemTime,
    ) -> Result<Verdict> {
        let Some(container) = self.begin_scan(id, kind, now) else { return Ok(Verdict::Moot) };
        let found = match metadata_of(&container).await? {
            Found::Nothing => data::first_damage(&container, kind, pace).await?,
            found => found,
        };
        self.conclude(&container, kind, found, now).await
    }

    fn begin_scan(
        &self,
        id: ContainerId,
        kind: ScanKind,
        now: SystemTime,
    ) -> Option<Arc<Container>> {
        let container = self.find(id).filter(|container| kind.covers(container.state()))?;
        // A scan of its metadata proves nothing about its bytes, which are read when they are due.
        if kind != ScanKind::Metadata {
            container.scanned.note_try(now);
        }
        Some(container)
    }

    /// Accepts the finding, unless the replica has changed.
    async fn conclude(
        &self,
        container: &Arc<Container>,
        kind: ScanKind,
        found: Found,
        now: SystemTime,
    ) -> Result<Verdict> {
        let disk = Arc::clone(container.disk());
        if disk.failure().is_some() || !self.is_here(container) {
            return Ok(Verdict::Moot);
        }
        let reason = match found {
            Found::Moot => return Ok(Verdict::Moot),
            Found::Nothing => {
                disk.scans.count(kind, false);
                let of = Arc::clone(container);
                blocking(container, move || due::note(&of, kind, now)).await?;
                return Ok(Verdict::Sound);
            }
            Found::Damage(reason) => reason,
        };
        if let Err(CheckFault::Gone(why)) = disk.test_data(None).await {
            return Ok(Verdict::DiskGone(why));
        }
        let (store, of, why) = (self.clone(), Arc::clone(container), reason.clone());
        match blocking(container, move || store.mark_damaged(&of, &why)).await {
            Ok(true) => {}
            Ok(false) => return Ok(Verdict::Moot),
            Err(_) if disk.failure().is_some() => return Ok(Verdict::Moot),
            Err(error) => return Err(error),
        }
        disk.scans.count(kind, true);
        disk.scans.note_damage(FoundDamage {
            container: container.id(),
            kind,
            at: now,
            reason: reason.clone(),
        });
        Ok(Verdict::Damaged(reason))
    }

    /// Returns `true` if this very replica is still served.
    fn is_here(&self, container: &Arc<Container>) -> bool {
        container.state() != ContainerState::Deleted
            && self.find(container.id()).is_some_and(|there| Arc::ptr_eq(&there, container))
    }
}

async fn metadata_of(container: &Arc<Container>) -> Result<Found> {
    let of = Arc::clone(container);
    blocking(container, move || Ok(metadata::damage_of(&of))).await
}

/// Runs disk operations outside of the async workers.
async fn blocking<T: Send + 'static>(
    container: &Container,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| StorageError::disk(container.path(), error))?
}
