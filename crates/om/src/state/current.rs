//! The database in use. It is replaced as a whole when a snapshot of the leader is installed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use blockio::durable;
use metastore::{Store, StoreOptions};

use super::{CacheSizes, Tables, UpdateFeed};
use crate::error::Error;
use crate::tables;

/// Name of the database within OM's directory.
const DATABASE: &str = "om.db";
/// A snapshot on its way in, complete once it has this name.
const INCOMING: &str = "om.db.incoming";
/// The database that a snapshot replaces.
const OUTGOING: &str = "om.db.outgoing";
/// How long readers of the old database may take to finish.
const READERS_TIMEOUT: Duration = Duration::from_secs(60);
/// How long they may take at a shutdown, which then does not wait for them any longer.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The database in use, none for the moment that a replacement takes.
pub(crate) struct CurrentTables {
    dir: PathBuf,
    options: StoreOptions,
    sizes: CacheSizes,
    tables: ArcSwapOption<Tables>,
    feed: UpdateFeed,
}

impl CurrentTables {
    /// Opens the database in `dir`, finishing a replacement that was cut short.
    pub(crate) fn open(
        dir: &Path,
        options: StoreOptions,
        sizes: CacheSizes,
    ) -> Result<Self, Error> {
        finish_replacement(dir).map_err(|e| Error::io(dir, e))?;
        let tables = ArcSwapOption::empty();
        let feed = UpdateFeed::new(sizes.updates);
        let current = Self { dir: dir.to_path_buf(), options, sizes, tables, feed };
        current.reopen()?;
        Ok(current)
    }

    fn reopen(&self) -> Result<(), Error> {
        let store = Store::open(&self.dir.join(DATABASE), &tables::specs(), &self.options)?;
        self.tables.store(Some(Arc::new(Tables::new(store, self.sizes)?)));
        Ok(())
    }

    /// The tables; `None` while a snapshot replaces them.
    pub(crate) fn get(&self) -> Option<Arc<Tables>> {
        self.tables.load_full()
    }

    /// What was written lately.
    pub(crate) fn feed(&self) -> &UpdateFeed {
        &self.feed
    }

    /// Lets go of the database, for a shutdown, and waits until nothing uses it any more, so that
    /// the next one to open the directory finds it free: work in the background, and requests that
    /// read, go on to the end of what they are at.
    pub(crate) async fn close(&self) {
        let Some(tables) = self.tables.swap(None) else { return };
        let dir = self.dir.clone();
        let close = move || {
            let closing = tables.store().closing();
            tables.store().cancel_compactions();
            drop(tables);
            if !closing.wait(CLOSE_TIMEOUT) {
                tracing::warn!(dir = %dir.display(), "{DATABASE} is still in use");
            }
        };
        if let Err(error) = tokio::task::spawn_blocking(close).await {
            tracing::error!(%error, "{DATABASE} was not closed properly");
        }
    }

    /// Replaces the database by the one in `source`, which is taken over.
    ///
    /// Crash-safe: the incoming files get their name only when complete and durable, and from
    /// then on the next start finishes what this one began.
    pub(crate) fn replace(&self, source: &Path) -> Result<(), Error> {
        let incoming = self.dir.join(INCOMING);
        let fail = |e| Error::io(&self.dir, e);
        remove(&incoming).map_err(fail)?;
        durable::sync_tree(source).map_err(fail)?;
        if std::fs::rename(source, &incoming).is_err() {
            // Another file system: copy under a name that counts for nothing yet.
            let partial = self.dir.join("om.db.partial");
            remove(&partial).map_err(fail)?;
            copy_files(source, &partial).map_err(fail)?;
            durable::sync_tree(&partial).map_err(fail)?;
            std::fs::rename(&partial, &incoming).map_err(fail)?;
        }
        durable::sync_directory(&self.dir).map_err(fail)?;
        self.wait_for_readers()?;
        finish_replacement(&self.dir).map_err(fail)?;
        self.reopen()
    }

    fn wait_for_readers(&self) -> Result<(), Error> {
        let Some(mut old) = self.tables.swap(None) else { return Ok(()) };
        old.store().cancel_compactions();
        let deadline = Instant::now() + READERS_TIMEOUT;
        loop {
            match Arc::try_unwrap(old) {
                Ok(_) => return Ok(()),
                Err(used) if Instant::now() < deadline => {
                    old = used;
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(used) => {
                    self.tables.store(Some(used));
                    return Err(Error::Busy(READERS_TIMEOUT));
                }
            }
        }
    }
}

/// Puts a complete incoming database in the place of the old one.
fn finish_replacement(dir: &Path) -> std::io::Result<()> {
    let (database, incoming, outgoing) =
        (dir.join(DATABASE), dir.join(INCOMING), dir.join(OUTGOING));
    if incoming.exists() {
        remove(&outgoing)?;
        if database.exists() {
            std::fs::rename(&database, &outgoing)?;
        }
        std::fs::rename(&incoming, &database)?;
        durable::sync_directory(dir)?;
    }
    remove(&outgoing)
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_is_closed_can_be_opened_again_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let sizes = CacheSizes { directories: 1 << 20, updates: 1 << 20 };
        let open = || CurrentTables::open(dir.path(), StoreOptions::default(), sizes).unwrap();
        let current = open();
        let used = current.get().unwrap();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(used);
        });
        current.close().await;
        assert!(current.get().is_none());
        open();
        reader.join().unwrap();
    }
}
