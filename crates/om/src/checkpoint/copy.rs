//! A copy of the tables in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use metastore::OfflineStore;
use namespace::Table;
use namespace::tables::{TRANSACTION_INFO_KEY, parse_transaction_info};

use crate::error::Error;
use crate::ids::now_ms;
use crate::state::CurrentTables;

/// Directory of copies, next to the database.
const DIRECTORY: &str = "db.checkpoints";
/// Prefix of the name of a copy, as in Ozone.
const PREFIX: &str = "om.db_checkpoint_";

/// A copy; removed with this.
#[derive(Debug)]
pub(super) struct TablesCopy {
    path: PathBuf,
    name: String,
    /// Its database's sequence number.
    pub(super) sequence: u64,
    /// Index of the last applied log entry.
    pub(super) index: u64,
    pub(super) files: Vec<CopiedFile>,
}

/// A file of a copy.
#[derive(Debug)]
pub(super) struct CopiedFile {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) modified_s: u64,
    /// The same for hard links of the same file.
    pub(super) id: String,
}

impl TablesCopy {
    /// Makes a copy below `dir`. Blocks on the disk.
    pub(super) fn make(dir: &Path, current: &CurrentTables) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let parent = dir.join(DIRECTORY);
        std::fs::create_dir_all(&parent).map_err(|e| Error::io(&parent, e))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}_{number}", now_ms());
        let path = parent.join(&name);
        // From here on every path removes it.
        let mut copy = Self { path, name, sequence: 0, index: 0, files: Vec::new() };
        let tables = current.get().ok_or(Error::Closed)?;
        tables.store().checkpoint(&copy.path)?;
        {
            let copied = OfflineStore::open_read_only(&copy.path)?;
            let table = Table::TransactionInfoTable.name();
            let position = copied.get(table, TRANSACTION_INFO_KEY)?.unwrap_or_default();
            copy.index = parse_transaction_info(&position).map_or(0, |(_, index)| index);
            copy.sequence = copied.sequence();
        }
        copy.files = files(&copy.path).map_err(|e| Error::io(&copy.path, e))?;
        Ok(copy)
    }

    /// Path of a file of the copy.
    pub(super) fn path_of(&self, file: &CopiedFile) -> PathBuf {
        self.path.join(&file.name)
    }

    /// Name of the directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for TablesCopy {
    fn drop(&mut self) {
        match std::fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(copy = %self.path.display(), error = %e, "cannot remove a copy of the tables; the next start will");
            }
            _ => {}
        }
    }
}

/// The files of a database, small ones that say which belong to it at the end.
fn files(path: &Path) -> std::io::Result<Vec<CopiedFile>> {
    use std::os::unix::fs::MetadataExt;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !entry.file_type()?.is_file() || name == "LOCK" || name.starts_with("LOG") {
            continue;
        }
        let about = entry.metadata()?;
        files.push(CopiedFile {
            id: format!("{}-{}", about.ino(), about.mtime()),
            name,
            size: about.len(),
            modified_s: u64::try_from(about.mtime()).unwrap_or(0),
        });
    }
    files.sort_by_key(|file| (!file.name.ends_with(".sst"), file.name.clone()));
    Ok(files)
}

/// Removes the copies that were being sent when the last run ended. Blocks on the disk.
///
/// # Errors
/// When they cannot be removed.
pub(crate) fn discard(dir: &Path) -> Result<(), Error> {
    let parent = dir.join(DIRECTORY);
    let failed = |e| Error::io(&parent, e);
    let entries = match std::fs::read_dir(&parent) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            std::fs::remove_dir_all(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}
