//! Location of the database, and of its replacements.
//!
//! The order of a replacement, each step durable before the next:
//!
//! 1. [`stage`](Places::stage): the snapshot is moved next to the database, opened, and given its
//!    position. One that does not open has no effect.
//! 2. [`set_aside`](Places::set_aside): the old database gets another name.
//! 3. [`put_in_place`](Places::put_in_place): the new one gets its name.
//! 4. The new one is opened. If that fails the old one is [`put_back`](Places::put_back).
//! 5. [`retire`](Places::retire): the old one gets a name under which no start searches for it,
//!    since half of a database must never be taken for one.
//! 6. [`clear`](Places::clear): it is removed.
//!
//! After a crash following 1 or 2 a start has the old database, following 3 or later the new one.
//! The Raft log, which follows a snapshot only when the tables hold it, matches both.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blockio::durable;
use metastore::{Batch, Durability, Store, StoreOptions};
use multiraft::LogPosition;
use namespace::Table;
use namespace::tables::{TRANSACTION_INFO_KEY, parse_transaction_info, transaction_info};

use crate::error::Error;
use crate::state::column_families::{self, stored};

/// Name of the database within OM's directory.
pub(super) const DATABASE: &str = "om.db";
/// A snapshot that is not in place. A start discards one.
const STAGED: &str = "om.db.partial";
/// The same of earlier releases.
const INCOMING: &str = "om.db.incoming";
/// The database that a snapshot replaces, until that one has opened.
const OUTGOING: &str = "om.db.outgoing";
/// The same when it is being removed.
const RETIRED: &str = "om.db.retired";
/// A snapshot that did not open in its place.
const UNOPENED: &str = "om.db.unopened";
/// Time for an unused database to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Names in OM's directory.
pub(super) struct Places {
    dir: PathBuf,
}

impl Places {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    /// The database.
    pub(super) fn database(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// Takes over a snapshot at `at`, and stores this position in its rows.
    ///
    /// # Errors
    /// When it cannot be moved or opened, or holds more than that.
    pub(super) fn stage(
        &self,
        source: &Path,
        at: LogPosition,
        options: &StoreOptions,
    ) -> Result<(), Error> {
        let staged = self.dir.join(STAGED);
        self.remove(STAGED)?;
        // A new one follows: the failure of the last one is in the log.
        if let Err(error) = self.remove_all(UNOPENED) {
            tracing::warn!(%error, "cannot remove a snapshot that did not open; the next installation will");
        }
        if fs::rename(source, &staged).is_err() {
            // Another file system.
            copy_files(source, &staged).map_err(|e| Error::io(&staged, e))?;
        }
        // Without it the snapshot would be opened as a new database, without a row.
        if !staged.join("CURRENT").is_file() {
            return Err(Error::SnapshotKind);
        }
        let store = Store::open(&staged, &column_families::specs(), options)?;
        let held = position(&store)?;
        if held > at {
            return Err(Error::SnapshotBeyond { held, at });
        }
        // Entries that Raft itself makes, such as the first one of a leader, never reach the
        // tables. The log begins after `at` from now on, so the tables must have the position `at`.
        let mut batch = Batch::new();
        let row = transaction_info(at.term, at.index);
        batch.put(stored(Table::TransactionInfoTable), TRANSACTION_INFO_KEY, row);
        store.write(batch, Durability::NoWal)?;
        store.flush()?;
        close(store)?;
        durable::sync_tree(&staged).map_err(|e| Error::io(&staged, e))?;
        self.sync()
    }

    /// Removes the staged snapshot.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn discard_staged(&self) -> Result<(), Error> {
        self.remove(STAGED)
    }

    /// Gives the old database another name.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn set_aside(&self) -> Result<(), Error> {
        self.rename(DATABASE, OUTGOING)
    }

    /// Gives the snapshot the name of the database.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn put_in_place(&self) -> Result<(), Error> {
        self.rename(STAGED, DATABASE)
    }

    /// Returns `true` if the old database still exists, next to the one in its place.
    pub(super) fn has_old(&self) -> bool {
        self.dir.join(OUTGOING).join("CURRENT").exists()
    }

    /// Puts the old database back in the place of one that does not open because of `error`.
    ///
    /// # Errors
    /// When the old one does not open either, or the file system fails.
    pub(super) fn put_back(&self, options: &StoreOptions, error: &Error) -> Result<(), Error> {
        let old = self.dir.join(OUTGOING);
        // One that an earlier release had begun to remove does not.
        close(Store::open(&old, &column_families::specs(), options)?)?;
        let name = self.free_name(UNOPENED);
        let unopened = self.dir.join(&name);
        tracing::error!(
            %error, kept = %unopened.display(),
            "cannot open the snapshot of the leader; restored the previous database and kept the snapshot for inspection"
        );
        self.rename(DATABASE, &name)?;
        self.rename(OUTGOING, DATABASE)
    }

    /// Gives the old database, if there is one, a name under which no start searches for it.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn retire(&self) -> Result<(), Error> {
        if !self.dir.join(OUTGOING).exists() {
            return Ok(());
        }
        self.rename(OUTGOING, &self.free_name(RETIRED))
    }

    /// Removes the remains of a finished replacement.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn clear(&self) -> Result<(), Error> {
        self.remove_all(RETIRED)
    }

    /// Brings the names in order before the database is opened: the old one is put back if there is
    /// none in its place, and snapshots that were not put in place are removed.
    ///
    /// # Errors
    /// When the file system fails.
    pub(super) fn recover(&self) -> Result<(), Error> {
        if !self.database().exists() && self.dir.join(OUTGOING).exists() {
            self.rename(OUTGOING, DATABASE)?;
        }
        for left in [STAGED, INCOMING] {
            let path = self.dir.join(left);
            if path.exists() {
                tracing::warn!(path = %path.display(), "removing a snapshot of the leader that was not installed");
                self.remove(left)?;
            }
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let from = self.dir.join(from);
        fs::rename(&from, self.dir.join(to)).map_err(|e| Error::io(&from, e))?;
        self.sync()
    }

    /// An unused name, after the removal of its file, or with a number if that cannot be removed.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| {
            self.remove(name).is_ok() && !self.dir.join(name).try_exists().unwrap_or(true)
        };
        let numbered = (1..1_000).map(|n| format!("{name}-{n}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(is_free).unwrap_or_else(|| name.to_owned())
    }

    /// Removes files with a name from [`free_name`](Self::free_name).
    fn remove_all(&self, name: &str) -> Result<(), Error> {
        let failed = |error| Error::io(&self.dir, error);
        let mut left = Ok(());
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let found = entry.map_err(failed)?.file_name();
            let Some(found) = found.to_str() else { continue };
            let rest = found.strip_prefix(name);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
                left = self.remove(found).and(left);
            }
        }
        left
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&path, e)),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<(), Error> {
        durable::sync_directory(&self.dir).map_err(|e| Error::io(&self.dir, e))
    }
}

/// Up to where in the log a database holds everything, by its own row.
pub(super) fn position(store: &Store) -> Result<LogPosition, Error> {
    let row = store.get(stored(Table::TransactionInfoTable), TRANSACTION_INFO_KEY)?;
    let Some(row) = row else { return Ok(LogPosition::default()) };
    let (term, index) = parse_transaction_info(&row)
        .ok_or_else(|| Error::Position(String::from_utf8_lossy(&row).into_owned()))?;
    Ok(LogPosition { term, index })
}

/// Closes a database; its directory can be renamed then.
fn close(store: Store) -> Result<(), Error> {
    let closing = store.closing();
    drop(store);
    if closing.wait(CLOSE_TIMEOUT) { Ok(()) } else { Err(Error::Busy(CLOSE_TIMEOUT)) }
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
