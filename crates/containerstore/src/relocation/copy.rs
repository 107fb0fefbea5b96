//! Copying a replica, and what ends that.

use std::path::Path;
use std::sync::Arc;

use container::ContainerState;
use types::{ContainerId, LocalId};

use super::{Passage, Relocated, switch};
use crate::containers::{Container, ContainerInfo};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::StoredBlock;
use crate::transfer::{Arrival, Copying, Export, Part};

/// Bytes read at a time, about.
const STEP: usize = 1 << 20;

/// A replica that is being copied.
pub(super) struct Source {
    pub container: Arc<Container>,
    /// Its state when the copy began.
    pub begun: ContainerInfo,
    /// Blocks that are not copied: they were deleted before.
    pub deleted: Vec<LocalId>,
}

impl ContainerStore {
    /// Returns `true` if a replica may be moved to another disk now: it is closed, its pipeline
    /// replays nothing, and no source of an earlier relocation is left.
    pub fn is_relocatable(&self, id: ContainerId) -> bool {
        let found = self.find(id);
        found.is_some_and(|container| self.check_relocatable(&container).is_ok())
            && !self.relocations().is_under_way(id)
    }

    fn check_relocatable(&self, container: &Container) -> Result<()> {
        let (id, state) = (container.id(), container.state());
        if !matches!(state, ContainerState::Closed | ContainerState::QuasiClosed) {
            return Err(StorageError::NotClosed { id, state });
        }
        if container.is_replaying() {
            return Err(StorageError::not_relocated(id, "its pipeline replays its log"));
        }
        if self.relocations().has_retired(id) {
            let why = "its replica on the previous disk is not removed yet";
            return Err(StorageError::not_relocated(id, why));
        }
        Ok(())
    }

    /// Moves a closed replica to another disk of this node. When this returns an error the replica
    /// is where it was, and nothing of it on the other disk.
    ///
    /// # Errors
    /// When the replica is none that may be moved, or did not stay one, when its bytes are not as
    /// they should be (then it is UNHEALTHY), when the other disk is full, when a disk fails, and
    /// when `passage` gives it up.
    pub async fn relocate(
        &self,
        id: ContainerId,
        to: &Arc<Disk>,
        passage: &dyn Passage,
    ) -> Result<Relocated> {
        let claim = self.relocations().claim(id);
        let _claim = claim.ok_or_else(|| StorageError::not_relocated(id, "it is being moved"))?;
        let (store, disk) = (self.clone(), Arc::clone(to));
        let (mut export, source, arrival) = blocking(to, move || begin(&store, id, &disk)).await?;
        let copying = arrival.copying();
        match self.copy(&mut export, &source, arrival, passage).await {
            Ok((arrival, blocks, bytes)) => {
                let store = self.clone();
                drop(export);
                let replace = move || switch::switch(&store, &source, arrival, (blocks, bytes));
                or_discard(copying, blocking(to, replace).await).await
            }
            Err(error) => or_discard(copying, Err(error)).await,
        }
    }

    /// Copies all blocks. Returns their number, and their bytes.
    async fn copy(
        &self,
        export: &mut Export,
        source: &Source,
        mut arrival: Arrival,
        passage: &dyn Passage,
    ) -> Result<(Arrival, u64, u64)> {
        let id = source.container.id();
        let (mut blocks, mut bytes) = (0u64, 0u64);
        loop {
            source.check(self)?;
            let parts = export.next(STEP).await?;
            if parts.is_empty() {
                return Ok((arrival, blocks, bytes));
            }
            for row in parts.iter().filter_map(|part| part.row.as_ref()) {
                blocks = blocks.saturating_add(1);
                bytes = bytes.saturating_add(StoredBlock::read(id, row)?.length());
            }
            if !passage.pass(length(&parts)).await {
                return Err(StorageError::not_relocated(id, "it was given up"));
            }
            let disk = Arc::clone(&arrival.disk);
            let add = move || {
                parts.iter().try_for_each(|part| arrival.add(part))?;
                Ok(arrival)
            };
            arrival = blocking(&disk, add).await?;
        }
    }
}

/// Removes what was copied when it was for nothing.
async fn or_discard<T>(copying: Arc<Copying>, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() {
        let disk = Arc::clone(copying.disk());
        if let Err(error) = blocking(&disk, move || copying.discard()).await {
            tracing::warn!(disk = disk.id(), %error, "cannot remove an unfinished copy");
        }
    }
    outcome
}

impl Source {
    /// Checks that the replica is still the one that the copy was made of.
    pub fn check(&self, store: &ContainerStore) -> Result<()> {
        let (id, info) = (self.container.id(), self.container.info());
        if !store.is_served(&self.container) {
            return Err(StorageError::not_relocated(id, "it was removed"));
        }
        if info.state != self.begun.state {
            let why = format!("it became {}", info.state);
            return Err(StorageError::not_relocated(id, why));
        }
        if info.bcsid != self.begun.bcsid {
            return Err(StorageError::not_relocated(id, "it was written to"));
        }
        Ok(())
    }
}

/// Prepares the other disk. Blocks.
fn begin(
    store: &ContainerStore,
    id: ContainerId,
    to: &Arc<Disk>,
) -> Result<(Export, Source, Arrival)> {
    let export = Export::begin(store, id)?;
    let container = Arc::clone(export.container());
    store.check_relocatable(&container)?;
    container.disk().check()?;
    let refuse = |why| Err(StorageError::not_relocated(id, why));
    if container.disk().id() == to.id() {
        return refuse("it is on that disk");
    }
    let (place, arriving) = (to.container_dir(id), to.arrivals_dir().join(id.to_string()));
    let is_there = |path: &Path| path.try_exists().map_err(|e| StorageError::disk(path, e));
    if is_there(&place)? || is_there(&arriving)? {
        return refuse("the other disk has something of it");
    }
    let begun = container.info();
    to.check_room(0)?;
    if !to.has_room(begun.used) {
        let why = format!("disk {} has no space for {} bytes", to.id(), begun.used);
        return Err(StorageError::OutOfSpace(why));
    }
    let deleted = export.deleted().collect();
    let arrival = Arrival::begin_beside(store, to, id, export.manifest())?;
    Ok((export, Source { container, begun, deleted }, arrival))
}

fn length(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.data.len() as u64).fold(0, u64::saturating_add)
}

/// Runs disk operations outside of the async workers.
async fn blocking<T: Send + 'static>(
    disk: &Disk,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| StorageError::disk(disk.path(), error))?
}
