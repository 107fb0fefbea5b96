//! Making an arrived container one of the store's.
//!
//! Its folder moves to its place with a marker file in it, its rows are made durable, the marker
//! goes: in this order, so that after a crash there is either a marker, and all of it is removed,
//! or all of it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metastore::{Batch, Durability};
use types::ContainerId;

use super::Arrival;
use super::arrival::failed;
use super::folder::{MARKER, is_unfinished, set_aside};
use crate::containers::{Container, Fixed, drop_rows, remove_folder};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::reconcile::BLOCKS_OF;
use crate::store::ContainerStore;
use crate::tables::{self, DELETE_TXNS, SEGMENTS};

/// Name of the file that says that a container came from another node, beside the marker; it stays.
pub(crate) const ARRIVED: &str = "arrived";

impl Container {
    /// Whether it came from another node, or that cannot be told: then its state says nothing about
    /// its pipeline's log.
    pub fn has_arrived(&self) -> bool {
        self.path().join("metadata").join(ARRIVED).try_exists().unwrap_or(true)
    }

    /// Has it count as one that came from another node: what it has does not come from its
    /// pipeline's log alone. Blocks.
    pub(crate) fn note_arrived(&self) -> Result<()> {
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
    /// When not all has come, the container is here meanwhile, or the disk fails. Then what has
    /// come is removed.
    pub fn publish(mut self, store: &ContainerStore, blocks: u64, bytes: u64) -> Result<()> {
        let copying = Arc::clone(&self.copying);
        // To the end of it: meanwhile nothing else makes the container on this disk.
        let _step = copying.state().step();
        let outcome = match copying.has_ended() {
            true => Err(copying.ended()),
            false => self.publish_in_step(store, blocks, bytes),
        };
        if outcome.is_err()
            && let Err(error) = self.leave_partial().and_then(|()| copying.discard_in_step())
        {
            tracing::warn!(container = %self.id, %error, "a copy that failed was not removed");
        }
        outcome
    }

    fn publish_in_step(&mut self, store: &ContainerStore, blocks: u64, bytes: u64) -> Result<()> {
        let here = self.totals();
        if here != (blocks, bytes) {
            let reason = format!("{here:?} blocks and bytes came, {:?} were sent", (blocks, bytes));
            return Err(self.odd(&reason));
        }
        self.complete(&[(ARRIVED, "")])?;
        let (id, index, copying) = (self.id, self.manifest.replica_index, self.copying());
        store.publish(copying.state(), id, index, || self.move_in())?;
        tracing::info!(container = %id, blocks, bytes, "container arrived");
        Ok(())
    }

    /// Makes all that has come durable, with these files beside it. It stays invisible.
    pub(crate) fn complete(&mut self, beside: &[(&str, &str)]) -> Result<()> {
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

    /// Moves it to its place, durably. The disk has it from then on. The caller is in a step of the
    /// copy.
    pub(crate) fn move_in(&mut self) -> Result<Arc<Container>> {
        let place = self.disk.container_dir(self.id);
        let parent = place.parent().unwrap_or(&place);
        fs::create_dir_all(parent).map_err(|e| StorageError::disk(parent, e))?;
        self.disk.io().forget(&self.dir);
        // Nothing is there, or this fails.
        fs::rename(&self.dir, &place).map_err(|e| StorageError::disk(&place, e))?;
        self.copying.note_in_place();
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
        for (key, row) in std::mem::take(&mut self.transactions) {
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

/// The folders of a disk that count as containers, after a look at what was arriving.
#[derive(Default)]
pub(crate) struct Whole {
    /// Those that are whole.
    pub(crate) places: Vec<(ContainerId, PathBuf)>,
    /// Those of which it cannot be told.
    pub(crate) unreadable: Vec<ContainerId>,
}

/// Removes what was arriving when the last run ended: `known` are containers that are whole, and
/// `places` the folders of others. Gives back the others.
///
/// A container that its pipeline made while a copy of it arrived has rows of its own: those stay.
pub(crate) fn discard_unfinished(
    disk: &Disk,
    known: &BTreeSet<ContainerId>,
    places: Vec<(ContainerId, PathBuf)>,
) -> Result<Whole> {
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
        remove_or_tell(&path);
    }
    let mut whole = Whole::default();
    for (id, place) in places {
        match is_unfinished(&place) {
            Ok(false) => whole.places.push((id, place)),
            Ok(true) => {
                tracing::info!(container = %id, "a copy that did not arrive whole is removed");
                drop_rows(disk, id)?;
                match set_aside(disk, id, &place) {
                    Ok(()) => remove_or_tell(&disk.deleted_dir().join(id.to_string())),
                    // By its marker the next start knows it again.
                    Err(error) => {
                        tracing::error!(container = %id, %error, "a copy that did not arrive whole is not removed");
                    }
                }
            }
            Err(error) => {
                tracing::error!(container = %id, %error, "whether a copy arrived whole cannot be told: it is not served");
                whole.unreadable.push(id);
            }
        }
    }
    let others = whole.places.iter().map(|(id, _)| *id).chain(whole.unreadable.iter().copied());
    let in_place: BTreeSet<ContainerId> = others.chain(known.iter().copied()).collect();
    for (id, path) in arriving {
        let keeps_rows = in_place.contains(&id);
        tracing::info!(container = %id, keeps_rows, "a copy that did not arrive is removed");
        if !keeps_rows {
            drop_rows(disk, id)?;
        }
        remove_or_tell(&path);
    }
    Ok(whole)
}

/// Removes a folder. One that stays is found again by the next start.
fn remove_or_tell(path: &Path) {
    if let Err(error) = remove_folder(path) {
        tracing::error!(%error, "what did not arrive is not removed");
    }
}
