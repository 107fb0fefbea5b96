//! Publishing an arrived container.
//!
//! Its folder moves to its place with a marker file in it, its rows are made durable, the marker is
//! removed: in this order, so that after a crash there is either a marker, and all of it is
//! removed, or all of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Arc;

use metastore::{Batch, Durability};

use super::Arrival;
use super::folder::MARKER;
use crate::containers::{ARRIVED, Container, Fixed};
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, DELETE_TXNS, SEGMENTS};

impl Arrival {
    /// Makes the container visible. The source sent the given numbers of blocks and bytes. Blocks.
    ///
    /// # Errors
    /// When not all has arrived, the container is here meanwhile, or the disk fails. Then the
    /// received data is removed.
    pub fn publish(mut self, store: &ContainerStore, blocks: u64, bytes: u64) -> Result<()> {
        let copying = Arc::clone(&self.copying);
        // Held to the end: meanwhile no other creation of the container runs on this disk.
        let _step = copying.state().step();
        let outcome = match copying.has_ended() {
            true => Err(copying.ended()),
            false => self.publish_in_step(store, blocks, bytes),
        };
        if outcome.is_err()
            && let Err(error) = self.leave_partial().and_then(|()| copying.discard_in_step())
        {
            tracing::warn!(container = %self.id, %error, "cannot remove a failed copy");
        }
        outcome
    }

    fn publish_in_step(&mut self, store: &ContainerStore, blocks: u64, bytes: u64) -> Result<()> {
        let here = self.totals();
        if here != (blocks, bytes) {
            let reason =
                format!("received {here:?} blocks and bytes, {:?} were sent", (blocks, bytes));
            return Err(self.odd(&reason));
        }
        self.complete(&[(ARRIVED, "")])?;
        let (id, index, copying) = (self.id, self.manifest.replica_index, self.copying());
        store.publish(copying.state(), id, index, || self.move_in())?;
        tracing::info!(container = %id, blocks, bytes, "container arrived");
        Ok(())
    }

    /// Makes all received data durable, with these files next to it. It stays invisible.
    pub(crate) fn complete(&mut self, beside: &[(&str, &str)]) -> Result<()> {
        self.leave_partial()?;
        self.end_segment()?;
        let metadata = self.dir.join("metadata");
        for (name, text) in [(MARKER, "")].iter().chain(beside) {
            let path = metadata.join(name);
            let fail = |e: io::Error| StorageError::file(&path, e);
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
        // Also if it has none: the rows of the sums prove that a container was here.
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
