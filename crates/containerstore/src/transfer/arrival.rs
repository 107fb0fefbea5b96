//! Taking a container block by block, and putting it aside until all is here.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockio::{IoError, WriteMode, block_on};
use container::checksum;
use container::chunks;
use container::segment::{RecordHeader, SegmentHeader, SegmentInfo, padding, record_len};
use futures::future::BoxFuture;
use metastore::{Batch, Durability};
use prost::Message;
use proto::datanode::ChunkInfo;
use types::{BlockId, ContainerId, LocalId};

use super::copying::Copying;
use super::folder::{is_unfinished, set_aside_copy};
use super::writeback::Writeback;
use super::{Manifest, Part};
use crate::containers::{Sums, drop_rows, may_hold_replica, remove_folder, segment_file_name};
use crate::disk::{Disk, types_for};
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;
use crate::tables::{self, BLOCK_DATA, Packed, StoredBlock};

/// Limit of concurrent writes of a block.
const AT_ONCE: usize = 4;

/// A container that is arriving. Its methods block on the disk.
pub struct Arrival {
    pub(super) id: ContainerId,
    pub(super) manifest: Manifest,
    pub(crate) disk: Arc<Disk>,
    /// Prevents others from creating the container meanwhile.
    pub(super) copying: Arc<Copying>,
    /// Its directory until it is complete.
    pub(crate) dir: PathBuf,
    pub(super) infos: BTreeMap<u32, SegmentInfo>,
    pub(crate) sums: Sums,
    segment: Option<(u32, File, Writeback)>,
    segment_size: u64,
    /// Received bytes, including those of blocks that were removed again.
    received: u64,
    /// Bytes that may come.
    most: u64,
    /// The block that is arriving chunk by chunk.
    block: Option<Partial>,
    last: Option<LocalId>,
    /// Its deletion transactions: keys and rows of `delete_txns`.
    pub(crate) transactions: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A block of which some chunks have come.
struct Partial {
    local: LocalId,
    path: Arc<Path>,
    /// Writes in flight.
    begun: VecDeque<BoxFuture<'static, std::result::Result<(), IoError>>>,
    /// Received chunks, in order.
    chunks: Vec<ChunkInfo>,
}

impl Arrival {
    /// Prepares the arrival of a container that is not here.
    ///
    /// # Errors
    /// When it is here or being created here, no disk has space for it, or the disk may hold a
    /// replica of it that could not be read.
    pub fn begin(store: &ContainerStore, id: ContainerId, manifest: Manifest) -> Result<Self> {
        let types = types_for(manifest.storage_type);
        let mut disk = store.choose_disk(&types, manifest.used)?;
        let is_free = |disk: &Disk| refuse_beside_a_replica(disk, id).is_ok();
        // No other disk is checked for the usual copy: one of them may hang.
        if !is_free(&disk)
            && let Ok(other) = store.choose_disk_that(&types, manifest.used, is_free)
        {
            disk = other;
        }
        let copying = {
            let lock = store.creation_locks().lock(id);
            // SCM has no report of this container when it orders a copy: it receives one of the
            // existing replica instead.
            let is_here = store.find(id).is_some() || store.serve_duplicate(id);
            if is_here || store.relocations().is_under_way(id) {
                return Err(StorageError::AlreadyHere(id));
            }
            Copying::begin(store, &lock, id, &disk)?
        };
        Self::begin_on(store, copying, id, manifest)
    }

    /// Prepares a disk for a copy of a replica that is served from another one.
    ///
    /// # Errors
    /// When it is being created here already, or the disk fails.
    pub(crate) fn begin_beside(
        store: &ContainerStore,
        disk: &Arc<Disk>,
        id: ContainerId,
        manifest: Manifest,
    ) -> Result<Self> {
        let copying = {
            let lock = store.creation_locks().lock(id);
            Copying::begin(store, &lock, id, disk)?
        };
        Self::begin_on(store, copying, id, manifest)
    }

    fn begin_on(
        store: &ContainerStore,
        copying: Arc<Copying>,
        id: ContainerId,
        manifest: Manifest,
    ) -> Result<Self> {
        let disk = Arc::clone(copying.disk());
        let dir = disk.arrivals_dir().join(id.to_string());
        {
            let _step = copying.step()?;
            refuse_beside_a_replica(&disk, id)?;
            if let Err(error) = make_room(&disk, id, &dir) {
                // The disk may have had space for a part of the folder.
                if let Err(error) = copying.discard_in_step() {
                    tracing::warn!(container = %id, %error, "cannot remove the folder of a copy");
                }
                return Err(error);
            }
        }
        let sums = Sums { bcsid: manifest.bcsid, delete_tx: manifest.delete_tx, ..Sums::default() };
        Ok(Self {
            id,
            manifest,
            disk,
            copying,
            dir,
            infos: BTreeMap::new(),
            sums,
            segment: None,
            segment_size: store.options().segment_size,
            received: 0,
            most: store.options().most_in_container(),
            block: None,
            last: None,
            transactions: Vec::new(),
        })
    }

    /// The container.
    pub fn id(&self) -> ContainerId {
        self.id
    }

    /// Returns the manifest of the container.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the last block that is here whole: an interrupted copy resumes after it.
    pub fn last(&self) -> Option<LocalId> {
        self.last
    }

    /// Returns the block after that one of which some chunks are here, and their number.
    pub fn partial(&self) -> Option<(LocalId, usize)> {
        self.block.as_ref().map(|b| (b.local, b.chunks.len()))
    }

    /// Blocks and bytes that are here.
    pub fn totals(&self) -> (u64, u64) {
        (self.sums.blocks, self.sums.used)
    }

    /// Returns `true` if the container's pipeline has created it here meanwhile: nothing more can
    /// be added.
    pub fn has_ended(&self) -> bool {
        self.copying.has_ended()
    }

    /// Returns the guard that prevents others from creating the container, and can discard the
    /// copy.
    pub(crate) fn copying(&self) -> Arc<Copying> {
        Arc::clone(&self.copying)
    }

    /// Adds a part: the parts of a block come one after the other.
    ///
    /// # Errors
    /// When the bytes do not match their checksums, the container's pipeline has created it here
    /// meanwhile, or the disk fails.
    pub fn add(&mut self, part: &Part) -> Result<()> {
        let copying = Arc::clone(&self.copying);
        let _step = copying.step()?;
        let came = part.data.len() as u64;
        self.received = self.received.saturating_add(came);
        if self.received > self.most {
            return Err(self.odd(&format!("received more than {} bytes", self.most)));
        }
        // A copy leaves others the space reserved for them.
        self.disk.check_room(came)?;
        if part.packed { self.add_packed(part) } else { self.add_chunk(part) }
    }

    fn add_packed(&mut self, part: &Part) -> Result<()> {
        let row = self.row(part)?.ok_or_else(|| self.odd("a packed block without its row"))?;
        let block = self.block_id(&row, part.local);
        if row.length() != part.data.len() as u64 {
            return Err(self.odd(&format!(
                "block {} has {} bytes, {} came",
                part.local,
                row.length(),
                part.data.len()
            )));
        }
        for chunk in &row.chunks {
            let range = usize::try_from(chunk.offset)
                .ok()
                .zip(usize::try_from(chunk.offset.saturating_add(chunk.len)).ok());
            let bytes = range.and_then(|(from, to)| part.data.get(from..to));
            let bytes = bytes.ok_or_else(|| self.odd("a chunk lies outside of its block"))?;
            checksum::verify(&chunk.checksum_data, bytes)
                .map_err(|error| StorageError::Checksum { block, error })?;
        }
        self.leave_other(part.local)?;
        let packed = self.append(part.local, row.bcsid(), &part.data)?;
        self.put(part.local, row, Some(packed))
    }

    fn add_chunk(&mut self, part: &Part) -> Result<()> {
        let row = self.row(part)?;
        self.leave_other(part.local)?;
        if let Some(chunk) = &part.chunk {
            let block = BlockId { container: self.id, local: part.local, bcsid: 0 };
            if chunk.len != part.data.len() as u64 {
                let (wants, came) = (chunk.len, part.data.len());
                return Err(self.odd(&format!("received {came} bytes of a chunk of {wants}")));
            }
            if chunk.offset.checked_add(chunk.len).is_none_or(|end| end > self.most) {
                return Err(self.odd(&format!("a chunk lies at {}", chunk.offset)));
            }
            checksum::verify(&chunk.checksum_data, &part.data)
                .map_err(|error| StorageError::Checksum { block, error })?;
            let mut partial = match self.block.take() {
                Some(partial) if partial.chunks.first() != Some(chunk) => partial,
                // The sender restarts this block.
                Some(before) => {
                    self.remove_partial(before)?;
                    self.begin_block(part.local)?
                }
                None => self.begin_block(part.local)?,
            };
            let (path, data) = (Arc::clone(&partial.path), part.data.clone());
            // Past the page cache, so that the sync in the end is short, and those of others are.
            let write = self.disk.io().write(path, chunk.offset, data, WriteMode::Auto);
            partial.begun.push_back(Box::pin(write));
            let waited = self.wait_for(&mut partial, AT_ONCE);
            partial.chunks.push(chunk.clone());
            self.block = Some(partial);
            waited?;
        }
        let Some(row) = row else { return Ok(()) };
        let block = self.block_id(&row, part.local);
        let expected = chunks::validate_list(&row.clone().into_wire())
            .map_err(|error| StorageError::Chunks { block, error })?;
        let found = match self.block.take() {
            Some(partial) if partial.chunks != row.chunks => {
                return Err(
                    self.odd(&format!("block {} was received with other chunks", part.local))
                );
            }
            Some(mut partial) => {
                self.wait_for(&mut partial, 0)?;
                let (io, path) = (self.disk.io(), Arc::clone(&partial.path));
                block_on(io.sync(path)).map_err(StorageError::io(self.id))?;
                io.forget(&partial.path);
                fs::metadata(&partial.path).map_err(|e| self.failed(e))?.len()
            }
            None => 0,
        };
        if found < expected {
            return Err(StorageError::FileInconsistent { block, expected, found });
        }
        self.put(part.local, row, None)
    }

    fn block_path(&self, local: LocalId) -> PathBuf {
        self.dir.join("chunks").join(format!("{local}.block"))
    }

    fn begin_block(&self, local: LocalId) -> Result<Partial> {
        self.remove_file(local)?;
        let path = Arc::from(self.block_path(local));
        Ok(Partial { local, path, begun: VecDeque::new(), chunks: Vec::new() })
    }

    /// Waits until at most `at_most` writes of a block are in flight; when one fails, until none
    /// is: it would be made while another attempt writes the same file.
    fn wait_for(&self, partial: &mut Partial, at_most: usize) -> Result<()> {
        let mut outcome = Ok(());
        while (partial.begun.len() > at_most || outcome.is_err())
            && let Some(write) = partial.begun.pop_front()
        {
            outcome = outcome.and(block_on(write).map_err(StorageError::io(self.id)));
        }
        outcome
    }

    /// Removes a block that arrived whole: it was deleted at its sources meanwhile. One that is not
    /// here is ignored.
    ///
    /// # Errors
    /// When the disk fails, or the container's pipeline has created it here meanwhile.
    pub fn leave_out(&mut self, local: LocalId) -> Result<()> {
        let copying = Arc::clone(&self.copying);
        let _step = copying.step()?;
        let key = tables::block_key(self.id, local);
        let Some(row) = self.disk.db.get(BLOCK_DATA, &key)? else { return Ok(()) };
        let row = StoredBlock::read(self.id, &row)?;
        match row.packed {
            Some(packed) => {
                if let Some(info) = self.infos.get_mut(&packed.segment) {
                    let length = record_len(packed.len);
                    info.live_bytes = info.live_bytes.saturating_sub(length);
                    info.live_records = info.live_records.saturating_sub(1);
                }
            }
            None => self.remove_file(local)?,
        }
        self.sums.blocks = self.sums.blocks.saturating_sub(1);
        self.sums.used = self.sums.used.saturating_sub(row.length());
        let mut batch = Batch::new();
        batch.delete(BLOCK_DATA, key);
        self.disk.db.write(batch, Durability::NoWal)?;
        Ok(())
    }

    /// Removes a block's own file, if it has one, and the record of its failed writes.
    fn remove_file(&self, local: LocalId) -> Result<()> {
        let removed = block_on(self.disk.io().unlink(vec![self.block_path(local)]));
        removed.map_err(StorageError::io(self.id))
    }

    /// Removes the file of a block of which some chunks came.
    fn remove_partial(&self, mut partial: Partial) -> Result<()> {
        // The error of a failed write is no longer relevant.
        let _ = self.wait_for(&mut partial, 0);
        self.remove_file(partial.local)
    }

    /// A block of which only some chunks came was deleted at the source: nothing of it stays.
    pub(super) fn leave_partial(&mut self) -> Result<()> {
        match self.block.take() {
            Some(left) => self.remove_partial(left),
            None => Ok(()),
        }
    }

    /// Another block comes than the one of which there are some chunks: that one was deleted at the
    /// source.
    fn leave_other(&mut self, local: LocalId) -> Result<()> {
        match self.block.take() {
            Some(left) if left.local != local => self.remove_partial(left),
            same => {
                self.block = same;
                Ok(())
            }
        }
    }

    /// Gives a packed block its place in this replica's own segments.
    fn append(&mut self, local: LocalId, bcsid: u64, data: &[u8]) -> Result<Packed> {
        let full = |info: &SegmentInfo| info.end >= self.segment_size;
        if self.infos.last_key_value().is_none_or(|(_, info)| full(info)) {
            self.begin_segment()?;
        }
        let Some((number, file, writeback)) = &mut self.segment else {
            return Err(StorageError::NotArrived { id: self.id, reason: "no segment".to_owned() });
        };
        let Some(info) = self.infos.get_mut(number) else {
            return Err(StorageError::NotArrived { id: self.id, reason: "no segment".to_owned() });
        };
        let header = RecordHeader::new(local, bcsid, data);
        let mut record = Vec::with_capacity(record_len(header.len) as usize);
        record.extend_from_slice(&header.encode(self.id, info.end));
        record.extend_from_slice(data);
        record.extend_from_slice(padding(header.len));
        file.write_all_at(&record, info.end).map_err(|e| StorageError::file(&self.dir, e))?;
        let packed = Packed { segment: *number, offset: info.end, len: header.len };
        info.end += record.len() as u64;
        writeback.wrote(&self.disk, file, &self.dir, info.end);
        info.live_bytes += record.len() as u64;
        info.live_records += 1;
        Ok(packed)
    }

    fn begin_segment(&mut self) -> Result<()> {
        self.end_segment()?;
        let number = self.infos.last_key_value().map_or(1, |(last, _)| last + 1);
        let path = self.dir.join("chunks").join(segment_file_name(number));
        let open = OpenOptions::new().create(true).truncate(true).write(true).open(&path);
        let file = open.map_err(|e| self.failed(e))?;
        let header = SegmentHeader { container: self.id, number }.encode();
        file.write_all_at(&header, 0).map_err(|e| self.failed(e))?;
        self.infos.insert(number, SegmentInfo::empty());
        self.segment = Some((number, file, Writeback::default()));
        Ok(())
    }

    /// Makes the segment that takes records durable, and seals it.
    pub(super) fn end_segment(&mut self) -> Result<()> {
        let Some((number, file, _)) = self.segment.take() else { return Ok(()) };
        let path = self.dir.join("chunks").join(segment_file_name(number));
        self.disk.sync_file(&file, &path)?;
        if let Some(info) = self.infos.get_mut(&number) {
            (info.durable, info.sealed) = (info.end, true);
        }
        Ok(())
    }

    fn put(&mut self, local: LocalId, row: StoredBlock, packed: Option<Packed>) -> Result<()> {
        self.sums.blocks += 1;
        self.sums.used += row.length();
        let mut batch = Batch::new();
        let value = StoredBlock { packed, ..row }.encode_to_vec();
        batch.put(BLOCK_DATA, tables::block_key(self.id, local), value);
        self.disk.db.write(batch, Durability::NoWal)?;
        self.last = Some(local);
        Ok(())
    }

    fn row(&self, part: &Part) -> Result<Option<StoredBlock>> {
        let Some(bytes) = &part.row else { return Ok(None) };
        let row = StoredBlock::read(self.id, bytes)?;
        let names = |id: &proto::datanode::DatanodeBlockId| {
            ContainerId::from_wire(id.container_id) == self.id && id.local_id as u64 == part.local.0
        };
        if !names(&row.block_id) {
            return Err(self.odd(&format!("received the row of another block with {}", part.local)));
        }
        if row.bcsid() > self.manifest.bcsid {
            return Err(self.odd(&format!("block {} is newer than its container", part.local)));
        }
        Ok(Some(row))
    }

    fn block_id(&self, row: &StoredBlock, local: LocalId) -> BlockId {
        BlockId { container: self.id, local, bcsid: row.bcsid() }
    }

    pub(super) fn odd(&self, reason: &str) -> StorageError {
        StorageError::NotArrived { id: self.id, reason: reason.to_owned() }
    }

    pub(super) fn failed(&self, error: io::Error) -> StorageError {
        StorageError::file(&self.dir, error)
    }

    /// Gives up: received data is removed.
    pub fn discard(mut self) {
        if let Err(error) = self.leave_partial() {
            tracing::warn!(container = %self.id, %error, "cannot remove a block of an unfinished copy");
        }
        if let Err(error) = self.copying.discard() {
            tracing::warn!(container = %self.id, %error, "cannot remove an unfinished copy");
        }
    }
}

/// Refuses a copy on a disk whose folder of the container may hold a replica that could not be read
/// at the start: its rows would be those of the copy, and it may be another index, or have more.
fn refuse_beside_a_replica(disk: &Disk, id: ContainerId) -> Result<()> {
    let place = disk.container_dir(id);
    if is_unfinished(&place)? || !may_hold_replica(disk, id) {
        return Ok(());
    }
    let reason = format!(
        "{} may hold a replica that could not be read at the start: start the DataNode again, or remove the folder",
        place.display()
    );
    Err(StorageError::NotArrived { id, reason })
}

/// Removes leftovers of an earlier copy, and a folder in the place of the container that could not
/// be loaded: because of it the next start would attribute the rows of the copy to that folder.
fn make_room(disk: &Disk, id: ContainerId, dir: &Path) -> Result<()> {
    let place = disk.container_dir(id);
    if place.try_exists().map_err(|e| StorageError::disk(&place, e))? {
        tracing::warn!(container = %id, path = %place.display(), "removing an unreadable replica for a copy");
        set_aside_copy(disk, id, &place)?;
    }
    drop_rows(disk, id)?;
    remove_folder(&disk.deleted_dir().join(id.to_string()))?;
    remove_folder(dir)?;
    let fail = |e: io::Error| StorageError::file(dir, e);
    fs::create_dir_all(dir.join("metadata")).map_err(fail)?;
    fs::create_dir_all(dir.join("chunks")).map_err(fail)
}
