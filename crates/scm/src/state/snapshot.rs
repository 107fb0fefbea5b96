//! The whole state for a replica that lags behind the trimmed log: a checkpoint of the store.
//!
//! **A restore may stop at any point.** Its rows are written table by table, and RocksDB may make
//! some of them durable before the others. So the checkpoint first gets a name next to the store;
//! while that exists, a start copies all of it again ([`resume`]), and so does a group that
//! restarts after a restore that failed. No entry is applied before: the rows would be of two
//! states, and the next start would revert the log's changes since.

use std::fs;
use std::path::{Path, PathBuf};

use blockio::durable;
use metastore::{Batch, Durability, IterRange, Store, StoreOptions, Table};
use multiraft::{LogPosition, MachineError, SnapshotSource};

use crate::state::tables::{self, PositionRow, TRANSACTION_INFO, TRANSACTION_INFO_KEY};

/// The end of the name of a checkpoint that is about to be copied.
const NEW: &str = "restore.new";
/// The same of one that is copied, until it is removed.
const DONE: &str = "restore.done";
/// The beginning of the name of a checkpoint that is sent to another SCM.
const SENT: &str = "scm-snapshot-";
/// Bytes of rows copied per write batch.
const COPY_BATCH: usize = 4 << 20;

/// A checkpoint in a directory next to the store; the receiver of the source removes it.
pub fn create(store: &Store) -> Result<SnapshotSource, MachineError> {
    let name = format!("{SENT}{}", uuid::Uuid::new_v4());
    let dir = store.path().with_file_name(name);
    store.flush()?;
    store.checkpoint(&dir)?;
    Ok(SnapshotSource::Dir(dir))
}

/// Removes the checkpoints that were being sent when the last run ended: the receiver asks for a
/// new one.
///
/// # Errors
/// When the directory next to the store cannot be read, or one cannot be removed.
pub fn discard_sent(store: &Path) -> Result<(), MachineError> {
    let Some(beside) = store.parent() else { return Ok(()) };
    for entry in fs::read_dir(beside)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SENT) {
            tracing::info!(path = %entry.path().display(), "removing a checkpoint of the last run");
            discard(&entry.path())?;
        }
    }
    Ok(())
}

/// Replaces every row of the store by those of the checkpoint, durably.
pub fn restore(store: &Store, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
    let SnapshotSource::Dir(dir) = source else {
        return Err("an SCM snapshot is a directory".into());
    };
    keep(&dir, store.path(), at)?;
    resume(store)
}

/// Continues an interrupted restore. Does nothing if there is none.
pub fn resume(store: &Store) -> Result<(), MachineError> {
    let kept = kept(store.path());
    let new = store.path().with_extension(NEW);
    discard(&store.path().with_extension(DONE))?;
    // A checkpoint gets its name only when it is complete.
    if !kept.exists() && new.exists() {
        fs::rename(&new, &kept)?;
    }
    if !kept.exists() {
        return Ok(());
    }
    let from = Store::open(&kept, &tables::ALL, &StoreOptions::default())?;
    for spec in &tables::ALL {
        let table = Table::named(spec.name);
        clear(store, table)?;
        copy(&from, store, table)?;
    }
    store.flush()?;
    drop(from);
    put_away(store.path())
}

/// Removed by one rename: a start must never load half of a checkpoint.
fn put_away(store: &Path) -> Result<(), MachineError> {
    let (kept, done) = (kept(store), store.with_extension(DONE));
    discard(&done)?;
    if kept.exists() {
        fs::rename(&kept, &done)?;
        sync_names(&done)?;
    }
    discard(&done)
}

fn discard(dir: &Path) -> Result<(), MachineError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn sync_names(path: &Path) -> Result<(), MachineError> {
    Ok(durable::sync_name(path)?)
}

/// Gives the checkpoint, with its position, the name under which a start finds it; durably.
pub(super) fn keep(checkpoint: &Path, store: &Path, at: LogPosition) -> Result<(), MachineError> {
    let (kept, new) = (kept(store), store.with_extension(NEW));
    discard(&new)?;
    let from = Store::open(checkpoint, &tables::ALL, &StoreOptions::default())?;
    let mut batch = Batch::new();
    TRANSACTION_INFO.put(&mut batch, &TRANSACTION_INFO_KEY.to_owned(), &PositionRow(at));
    from.write(batch, Durability::NoWal)?;
    from.flush()?;
    from.checkpoint(&new)?;
    put_away(store)?;
    fs::rename(&new, &kept)?;
    sync_names(&kept)
}

fn kept(store: &Path) -> PathBuf {
    store.with_extension("restore")
}

fn clear(store: &Store, table: Table) -> Result<(), MachineError> {
    let mut batch = Batch::new();
    let mut cursor = store.iter(table, IterRange::all())?;
    cursor.first();
    cursor.for_each(|key, _| {
        batch.delete(table, key);
        true
    })?;
    drop(cursor);
    Ok(store.write(batch, Durability::NoWal)?)
}

fn copy(from: &Store, to: &Store, table: Table) -> Result<(), MachineError> {
    let mut cursor = from.iter(table, IterRange::all().background(COPY_BATCH))?;
    cursor.first();
    loop {
        let mut batch = Batch::new();
        cursor.for_each(|key, value| {
            batch.put(table, key, value);
            batch.bytes() < COPY_BATCH
        })?;
        if batch.is_empty() {
            return Ok(());
        }
        to.write(batch, Durability::NoWal)?;
        // The row that filled the batch is where the cursor stopped.
        cursor.next();
    }
}
