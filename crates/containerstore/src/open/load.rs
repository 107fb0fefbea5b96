//! Finding a disk's containers at start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use blockio::durable;
use container::ContainerState;
use container::segment::SegmentInfo;
use metastore::IterRange;
use prost::Message;
use proto::scm_datanode::DeletedBlocksTransaction;
use rustc_hash::{FxHashMap, FxHashSet};
use types::{ContainerId, LocalId};

use super::arrivals::{Whole, discard_unfinished};
use crate::containers::{
    Container, ContainerFile, DeletedBeforeWrite, Sealed, Segments, Sums, closed_row, drop_ended,
    drop_rows, is_there,
};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::segments::{Recovered, recover};
use crate::tables::{
    self, BLOCK_DATA, ClosedRow, DELETE_TXNS, DELETED_EARLY, METADATA, SEGMENTS, StoredBlock,
};

/// Contents of a disk.
#[derive(Default)]
pub(super) struct LoadedDisk {
    pub(super) containers: Vec<Arc<Container>>,
    /// Containers with rows but without a directory, and those with a directory that cannot be
    /// read: a replica was here, and none is recreated.
    pub(super) missing: Vec<ContainerId>,
    /// Containers that turned out bad, and why.
    pub(super) damaged: Vec<(ContainerId, String)>,
    /// Number of containers that were loaded without checking their files.
    pub(super) from_rows: usize,
}

/// All rows about containers, read once.
#[derive(Default)]
struct Rows {
    sums: FxHashMap<ContainerId, Sums>,
    /// Containers of which there is a row of the sums.
    counted: FxHashSet<ContainerId>,
    segments: FxHashMap<ContainerId, BTreeMap<u32, SegmentInfo>>,
    deleted_early: FxHashMap<ContainerId, FxHashMap<LocalId, DeletedBeforeWrite>>,
    /// Times at which containers were last read as a whole.
    scanned: FxHashMap<ContainerId, u64>,
}

/// Loads every container of a disk; closed ones `from_rows` if their rows are complete.
///
/// # Errors
/// When the disk cannot be read at all; a bad container is not an error.
pub(super) fn load_all(disk: &Arc<Disk>, from_rows: bool) -> Result<LoadedDisk> {
    finish_deletions(disk)?;
    let closed = if from_rows { closed_row::read(disk)? } else { FxHashMap::default() };
    // A copy has its row when it is whole.
    let (known, others): (Vec<_>, Vec<_>) =
        directories(disk)?.into_iter().partition(|(id, _)| closed.contains_key(id));
    let known_ids = known.iter().map(|(id, _)| *id).collect();
    let Whole { places: others, unreadable } = discard_unfinished(disk, &known_ids, others)?;
    let mut rows = Rows::read(disk)?;
    let mut loaded = LoadedDisk::default();
    let mut seen = BTreeSet::from_iter(unreadable.iter().copied());
    loaded.missing = unreadable;
    for (id, dir) in known.into_iter().chain(others) {
        seen.insert(id);
        let read = match closed.get(&id).and_then(|row| load_closed(disk, id, row, &mut rows)) {
            Some(read) => {
                loaded.from_rows += 1;
                Found::Replica(read.0, read.1)
            }
            None => load(disk, id, &dir, &mut rows)?,
        };
        match read {
            Found::Replica(container, damage) => {
                loaded.damaged.extend(damage.map(|why| (id, why)));
                loaded.containers.push(container);
            }
            Found::Unreadable => loaded.missing.push(id),
            Found::Nothing => {}
        }
    }
    loaded.missing.extend(rows.sums.keys().copied().filter(|id| !seen.contains(id)));
    Ok(loaded)
}

/// Finishes deletions of containers that were set aside for removal when the last run ended. A
/// container that has come into the place of one since was added after the removal of its rows: the
/// rows that exist are its own.
fn finish_deletions(disk: &Disk) -> Result<()> {
    let dir = disk.deleted_dir();
    let entries = fs::read_dir(&dir).map_err(|e| StorageError::disk(&dir, e))?;
    let id_of = |name: &OsStr| -> Option<ContainerId> { name.to_str()?.parse().ok() };
    let mut undecided = BTreeSet::new();
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let Some(id) = id_of(&name) else { continue };
        let place = disk.container_dir(id);
        match place.try_exists() {
            Ok(false) => drop_rows(disk, id)?,
            Ok(true) => {}
            Err(error) => {
                tracing::error!(container = %id, %error, "cannot read the directory of a removed container: leaving its rows to the next start");
                undecided.insert(name);
            }
        }
    }
    crate::disk::sweep(&dir, |name| undecided.contains(name))
}

fn directories(disk: &Disk) -> Result<Vec<(ContainerId, PathBuf)>> {
    let mut found = Vec::new();
    for group in list(&disk.containers_dir())? {
        for dir in list(&group)? {
            let id = dir.file_name().and_then(|name| name.to_str()?.parse().ok());
            found.extend(id.map(|id| (id, dir)));
        }
    }
    Ok(found)
}

/// Returns the directories in a directory, without a system call per entry: there may be hundreds
/// of thousands.
fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| StorageError::disk(dir, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        // A link that leads to what cannot be read is not taken for one that leads to no directory.
        let leads_to_dir =
            || fs::metadata(entry.path()).map_or_else(|error| is_there(&error), |to| to.is_dir());
        if kind.is_dir() || kind.is_symlink() && leads_to_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Loads a closed one from its rows; `None` if they are incomplete.
fn load_closed(
    disk: &Arc<Disk>,
    id: ContainerId,
    row: &ClosedRow,
    rows: &mut Rows,
) -> Option<(Arc<Container>, Option<String>)> {
    let file = closed_row::to_file(id, row)?;
    let segments = rows.segments.get(&id);
    if !closed_row::are_whole(segments.into_iter().flat_map(BTreeMap::values)) {
        return None;
    }
    let infos = rows.segments.remove(&id).unwrap_or_default();
    let highest = infos.last_key_value().map_or(0, |(number, _)| *number);
    let segments = Segments { infos, highest, ..Segments::default() };
    let sums = rows.sums.remove(&id).unwrap_or_default();
    drop_ended(disk, id, &rows.deleted_early.remove(&id).unwrap_or_default());
    let early = FxHashMap::default();
    let (sealed, counted) = (file.sealed, rows.counted.remove(&id));
    let container = Container::assemble(Arc::clone(disk), file, sums, segments, early);
    container.scanned.set_data(rows.scanned.remove(&id).unwrap_or_default());
    container.unseen.store(true, Ordering::Relaxed);
    let damage = sealed.and_then(|sealed| lost_rows(sealed, counted, &sums));
    Some((container, damage))
}

/// State of a container's folder.
enum Found {
    /// A replica, and its damage.
    Replica(Arc<Container>, Option<String>),
    /// A replica that cannot be loaded.
    Unreadable,
    /// A folder that was never finished.
    Nothing,
}

/// Returns `true` if a folder with these two in it was never finished: one of them certainly does
/// not exist.
fn is_unfinished(file: &Path, chunks: &Path) -> bool {
    let has_file = fs::metadata(file).map_or_else(|error| is_there(&error), |_| true);
    let has_chunks =
        fs::metadata(chunks).map_or_else(|error| is_there(&error), |chunks| chunks.is_dir());
    !has_file || !has_chunks
}

/// Removes a folder without a replica. The next start checks the ones that stay.
fn remove_folder(id: ContainerId, dir: &Path) -> Found {
    if let Err(error) = fs::remove_dir_all(dir) {
        tracing::error!(container = %id, path = %dir.display(), %error, "cannot remove a folder without a replica");
    }
    Found::Nothing
}

/// One container.
fn load(disk: &Arc<Disk>, id: ContainerId, dir: &Path, rows: &mut Rows) -> Result<Found> {
    let path = dir.join("metadata").join(format!("{id}.container"));
    let chunks = dir.join("chunks");
    let known = rows.sums.contains_key(&id);
    if !known && is_unfinished(&path, &chunks) {
        // Its creation was interrupted; nothing was ever written to it.
        return Ok(remove_folder(id, dir));
    }
    let file = match ContainerFile::read(&path) {
        Ok(file) if file.id == id => file,
        Ok(file) => {
            tracing::error!(container = %id, says = %file.id, "container file in the wrong place");
            return Ok(Found::Unreadable);
        }
        Err(error) => {
            tracing::error!(container = %id, %error, "cannot load container");
            return Ok(Found::Unreadable);
        }
    };
    if file.state == ContainerState::Recovering {
        // Its copy was interrupted, and is repeated here or elsewhere: it is not a replica.
        tracing::info!(container = %id, "removing an abandoned RECOVERING replica");
        rows.forget(id);
        drop_rows(disk, id)?;
        return Ok(remove_folder(id, dir));
    }
    let mut unread = None;
    if file.state.is_live() {
        // Those of other containers were synced before they took no more writes.
        let read = durable::read_from_device(&chunks);
        unread = read.err().map(|e| format!("{} cannot be read: {e}", chunks.display()));
    }
    let sums = rows.sums.remove(&id).unwrap_or_default();
    let infos = rows.segments.remove(&id).unwrap_or_default();
    let mut early = rows.deleted_early.remove(&id).unwrap_or_default();
    if !file.state.is_live() {
        drop_ended(disk, id, &std::mem::take(&mut early));
    }
    let Recovered { segments, mut damage } = match recover(disk, &chunks, id, infos) {
        Ok(recovered) => recovered,
        Err(error) => {
            let damage = Some(format!("segments of container {id}: {error}"));
            Recovered { segments: Segments::default(), damage }
        }
    };
    let live = file.state.is_live();
    let sealed = file.sealed;
    let counted = rows.counted.remove(&id);
    let to_write = !segments.queue.is_empty();
    let container = Container::assemble(Arc::clone(disk), file, sums, segments, early);
    container.scanned.set_data(rows.scanned.remove(&id).unwrap_or_default());
    if to_write {
        disk.mark_dirty(&container);
    }
    damage = unread.or(damage);
    if damage.is_none() {
        damage = match (live, sealed) {
            (true, _) => missing_bytes(&container)?,
            (false, Some(sealed)) => lost_rows(sealed, counted, &container.sums()),
            (false, None) => None,
        };
    }
    if damage.is_none() {
        container.note_closed();
    }
    Ok(Found::Replica(container, damage))
}

/// Returns the loss of rows since a container was sealed, if any.
fn lost_rows(sealed: Sealed, counted: bool, sums: &Sums) -> Option<String> {
    let Sealed { bcsid, delete_tx } = sealed;
    if !counted {
        return Some("its rows are missing, which were durable when it was closed".to_owned());
    }
    let fell = |name, was: u64, is: u64| {
        (is < was).then(|| format!("its row {name} is {is}, and was {was} when it was closed"))
    };
    fell(tables::BCSID, bcsid, sums.bcsid)
        .or_else(|| fell(tables::DELETE_TX, delete_tx, sums.delete_tx))
}

/// Searches for blocks whose files lack bytes. Only containers that could be written when the last
/// run ended are checked; closed ones are left to the scanner.
fn missing_bytes(container: &Container) -> Result<Option<String>> {
    let (id, mut damage) = (container.id(), None);
    let range = IterRange::prefix(tables::prefix(id)).background(1 << 20);
    let mut cursor = container.disk().db.iter(BLOCK_DATA, range)?;
    cursor.first();
    cursor.for_each(|key, value| {
        damage = match (tables::block_of(key), StoredBlock::read(id, value)) {
            (Some(local), Ok(row)) if row.packed.is_none() => {
                let found = container.file_length(local).unwrap_or(0);
                let expected = row.length();
                (found < expected)
                    .then(|| format!("block {local} has {found} bytes on disk, not {expected}"))
            }
            (Some(_), Ok(_)) => None,
            (None, _) => Some("a row of block_data has a bad key".into()),
            (_, Err(error)) => Some(error.to_string()),
        };
        damage.is_none()
    })?;
    Ok(damage)
}

impl Rows {
    /// Rows of a deleted replica.
    fn forget(&mut self, id: ContainerId) {
        self.sums.remove(&id);
        self.counted.remove(&id);
        self.segments.remove(&id);
        self.deleted_early.remove(&id);
        self.scanned.remove(&id);
    }

    fn read(disk: &Disk) -> Result<Self> {
        let mut rows = Self::default();
        let mut failed = None;
        let mut visit = |table, visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>| -> Result<()> {
            let mut cursor = disk.db.iter(table, IterRange::all())?;
            cursor.first();
            cursor.for_each(|key, value| match visit(key, value) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            })?;
            failed.take().map_or(Ok(()), Err)
        };
        visit(METADATA, &mut |key, value| {
            let Some(id) = tables::container_of(key) else { return Ok(()) };
            let sums = rows.sums.entry(id).or_default();
            let field = match key.get(9..).and_then(|name| std::str::from_utf8(name).ok()) {
                Some(tables::BCSID) => &mut sums.bcsid,
                Some(tables::BLOCK_COUNT) => &mut sums.blocks,
                Some(tables::BYTES_USED) => &mut sums.used,
                Some(tables::DELETE_TX) => &mut sums.delete_tx,
                Some(tables::DATA_CHECKSUM) => &mut sums.checksum,
                Some(tables::SCANNED) => rows.scanned.entry(id).or_default(),
                _ => return Ok(()),
            };
            *field = tables::read_number(id, value)?;
            if !key.ends_with(tables::SCANNED.as_bytes()) {
                rows.counted.insert(id);
            }
            Ok(())
        })?;
        visit(SEGMENTS, &mut |key, value| {
            let (id, number, info) = tables::read_segment(key, value)?;
            rows.segments.entry(id).or_default().insert(number, info);
            Ok(())
        })?;
        // Counted again: the transactions are durable at once, the sums with the next flush.
        visit(DELETE_TXNS, &mut |key, value| {
            let Some(id) = tables::container_of(key) else { return Ok(()) };
            let tx = DeletedBlocksTransaction::decode(value)
                .map_err(|e| StorageError::row(id, "delete_txns", e))?;
            rows.sums.entry(id).or_default().pending_delete += tx.local_id.len() as u64;
            Ok(())
        })?;
        visit(DELETED_EARLY, &mut |key, value| {
            if let (Some(id), Some(local)) = (tables::container_of(key), tables::block_of(key)) {
                let early = DeletedBeforeWrite::decode(value)
                    .ok_or_else(|| StorageError::row(id, "deleted_early", "not an index"))?;
                rows.deleted_early.entry(id).or_default().insert(local, early);
            }
            Ok(())
        })?;
        Ok(rows)
    }
}
