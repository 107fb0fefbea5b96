//! Making an arrived container one of the store's.
//!
//! Its folder moves to its place with a marker file in it, its rows are made durable, the marker
//! goes: in this order, so that after a crash there is either a marker, and all of it is removed,
//! or all of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metastore::{Batch, Durability};
use types::ContainerId;

use super::Arrival;
use super::arrival::failed;
use crate::storage::containers::{Container, Fixed, drop_rows};
use crate::storage::disk::Disk;
use crate::storage::error::{Result, StorageError};
use crate::storage::reconcile::BLOCKS_OF;
use crate::storage::store::ContainerStore;
use crate::storage::tables::{self, DELETE_TXNS, SEGMENTS};

/// Name of the marker, in the folder `metadata` of a container.
const MARKER: &str = "arriving";

/// Name of the file that says that a container came from another node, beside the marker; it stays.
pub(in crate::storage) const ARRIVED: &str = "arrived";

impl Container {
    /// Whether it came from another node: then its state says nothing about its pipeline's log.
    pub(crate) fn has_arrived(&self) -> bool {
        self.path().join("metadata").join(ARRIVED).exists()
    }

    /// Has it count as one that came from another node: what it has does not come from its
    /// pipeline's log alone. Blocks.
    pub(in crate::storage) fn note_arrived(&self) -> Result<()> {
        let metadata = self.path().join("metadata");
        let path = metadata.join(ARRIVED);
        let file = File::create(&path).map_err(|e| failed(&path, e))?;
        self.disk().sync_file(&file, &path)?;
        self.disk().sync_names(&metadata)
    }
}

impl Arrival {
    /// Makes the container visible. The source says how many blocks and bytes it sent. Blocks.
    ///
    /// # Errors
    /// When not all has come, the container is here meanwhile, or the disk fails.
    pub fn publish(mut self, store: &ContainerStore, blocks: u64, bytes: u64) -> Result<()> {
        let here = self.totals();
        if here != (blocks, bytes) {
            let reason = format!("{here:?} blocks and bytes came, {:?} were sent", (blocks, bytes));
            return Err(self.odd(&reason));
        }
        self.complete(&[(ARRIVED, "")])?;
        let (id, index) = (self.id, self.manifest.replica_index);
        store.publish(id, index, || self.move_in())?;
        tracing::info!(container = %id, blocks, bytes, "container arrived");
        Ok(())
    }

    /// Makes all that has come durable, with these files beside it. It stays invisible.
    pub(in crate::storage) fn complete(&mut self, beside: &[(&str, &str)]) -> Result<()> {
        self.leave_partial()?;
        self.end_segment()?;
        let metadata = self.dir.join("metadata");
        for (name, text) in [(MARKER, "")].iter().chain(beside) {
            let path = metadata.join(name);
            let fail = |e: io::Error| failed(&path, e);
            let mut file = File::create(&path).map_err(fail)?;
            file.write_all(text.as_bytes()).map_err(fail)?;
            self.disk.sync_file(&file, &path)?;
        }
        for dir in [&self.dir.join("chunks"), &metadata, &self.dir] {
            self.disk.sync_names(dir)?;
        }
        Ok(())
    }

    /// Moves it to its place, durably. The disk has it from then on.
    pub(in crate::storage) fn move_in(self) -> Result<Arc<Container>> {
        let place = self.disk.container_dir(self.id);
        let parent = place.parent().unwrap_or(&place);
        fs::create_dir_all(parent).map_err(|e| StorageError::disk(parent, e))?;
        if place.exists() {
            // What could not be loaded as a container.
            let aside = self.disk.deleted_dir().join(self.id.to_string());
            let _ = fs::remove_dir_all(&aside);
            fs::rename(&place, &aside).map_err(|e| StorageError::disk(&place, e))?;
            fs::remove_dir_all(&aside).map_err(|e| StorageError::disk(&aside, e))?;
        }
        self.disk.io().forget(&self.dir);
        fs::rename(&self.dir, &place).map_err(|e| StorageError::disk(&place, e))?;
        for path in parent.ancestors().take(2) {
            self.disk.sync_names(path)?;
        }
        let fixed = Fixed {
            pipeline: self.manifest.pipeline,
            origin: self.manifest.origin.clone(),
            replica_index: self.manifest.replica_index,
            max_size: self.manifest.max_size,
        };
        let (state, infos) = (self.manifest.state, self.infos.clone());
        let disk = Arc::clone(&self.disk);
        let container = Container::adopt(disk, self.id, state, fixed, &self.sums, infos)?;
        let mut batch = Batch::new();
        self.sums.put_changed(&container, &mut batch);
        // Also when it has none: the rows of the sums are what says that a container was here.
        let key = tables::metadata_key(self.id, tables::BLOCK_COUNT);
        batch.put(tables::METADATA, key, self.sums.blocks.to_be_bytes());
        for (number, info) in &self.infos {
            batch.put(SEGMENTS, tables::segment_key(self.id, *number), info.encode());
        }
        for (key, row) in self.transactions {
            batch.put(DELETE_TXNS, key, row);
        }
        self.disk.db.write(batch, Durability::NoWal)?;
        self.disk.db.flush()?;
        container.set_sums(self.sums);
        let metadata = place.join("metadata");
        fs::remove_file(metadata.join(MARKER)).map_err(|e| StorageError::disk(&metadata, e))?;
        self.disk.sync_names(&metadata)?;
        container.note_closed();
        Ok(container)
    }
}

/// Whether the container in this folder was being moved in when the last run ended.
fn is_unfinished(dir: &Path) -> bool {
    dir.join("metadata").join(MARKER).exists()
}

/// Removes what was arriving when the last run ended: `places` are the folders of containers. Gives
/// back the others.
pub(crate) fn discard_unfinished(
    disk: &Disk,
    places: Vec<(ContainerId, PathBuf)>,
) -> Result<Vec<(ContainerId, PathBuf)>> {
    let dir = disk.arrivals_dir();
    let entries = fs::read_dir(&dir).map_err(|e| StorageError::disk(&dir, e))?;
    let (mut arriving, mut blocks) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let name = entry.file_name();
        match name.to_str().map(|name| (name.parse(), name.starts_with(BLOCKS_OF))) {
            Some((Ok(id), _)) => arriving.push((id, entry.path())),
            Some((_, true)) => blocks.push(entry.path()),
            _ => {}
        }
    }
    for path in blocks {
        fs::remove_dir_all(&path).map_err(|e| StorageError::disk(&path, e))?;
    }
    let (marked, whole): (Vec<_>, _) = places.into_iter().partition(|(_, dir)| is_unfinished(dir));
    for (id, path) in arriving.into_iter().chain(marked) {
        tracing::info!(container = %id, "a copy that did not arrive whole is removed");
        discard(disk, id, &path)?;
    }
    Ok(whole)
}

/// Removes what there is of a copy that is not published, wherever it lies. Blocks.
pub(in crate::storage) fn discard_one(disk: &Disk, id: ContainerId) -> Result<()> {
    let place = disk.container_dir(id);
    if is_unfinished(&place) {
        discard(disk, id, &place)?;
    }
    let arriving = disk.arrivals_dir().join(id.to_string());
    if arriving.exists() { discard(disk, id, &arriving) } else { Ok(()) }
}

fn discard(disk: &Disk, id: ContainerId, path: &Path) -> Result<()> {
    // The marker goes last: without it the folder would count as a container.
    drop_rows(disk, id)?;
    let aside = disk.deleted_dir().join(id.to_string());
    let _ = fs::remove_dir_all(&aside);
    fs::rename(path, &aside).map_err(|e| StorageError::disk(path, e))?;
    fs::remove_dir_all(&aside).map_err(|e| StorageError::disk(&aside, e))
}
