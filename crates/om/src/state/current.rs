//! The database in use. It is replaced as a whole when a snapshot of the leader is installed
//! ([`Places`] has the names and the order).

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use metastore::{Store, StoreOptions};
use multiraft::LogPosition;

use super::places::{DATABASE, Places};
use super::{CacheSizes, Tables, UpdateFeed};
use crate::error::Error;
use crate::state::column_families;

/// Time for readers of the old database to finish.
const READERS_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for them at a shutdown, which then continues without them.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The database in use, none for the moment that a replacement takes.
pub(crate) struct CurrentTables {
    places: Places,
    options: StoreOptions,
    sizes: CacheSizes,
    tables: ArcSwapOption<Tables>,
    feed: UpdateFeed,
    /// [`READERS_TIMEOUT`]; a test has less patience.
    pub(super) readers_timeout: Duration,
}

impl CurrentTables {
    /// Opens the database in `dir`. Of a replacement that was cut short, the new database is
    /// used when it has its name and opens, and else the old one.
    pub(crate) fn open(
        dir: &Path,
        options: StoreOptions,
        sizes: CacheSizes,
    ) -> Result<Self, Error> {
        let current = Self {
            places: Places::new(dir),
            options,
            sizes,
            tables: ArcSwapOption::empty(),
            feed: UpdateFeed::new(sizes.updates),
            readers_timeout: READERS_TIMEOUT,
        };
        current.open_what_is_there()?;
        Ok(current)
    }

    /// Opens the database as a replacement left it. Returns why the new one could not be opened
    /// when the old one is back for that reason.
    fn open_what_is_there(&self) -> Result<Option<Error>, Error> {
        self.places.recover()?;
        let unopened = match self.reopen() {
            Ok(()) => None,
            Err(error) if self.places.has_old() => {
                self.places.put_back(&self.options, &error)?;
                self.reopen()?;
                Some(error)
            }
            Err(error) => return Err(error),
        };
        self.places.retire()?;
        if let Err(error) = self.places.clear() {
            tracing::warn!(%error, "cannot remove an old database; the next start or snapshot will");
        }
        Ok(unopened)
    }

    fn reopen(&self) -> Result<(), Error> {
        let store = Store::open(&self.places.database(), &column_families::specs(), &self.options)?;
        self.tables.store(Some(Arc::new(Tables::new(store, self.sizes)?)));
        Ok(())
    }

    /// The tables; `None` while a snapshot replaces them.
    pub(crate) fn get(&self) -> Option<Arc<Tables>> {
        self.tables.load_full()
    }

    /// Recent writes.
    pub(crate) fn feed(&self) -> &UpdateFeed {
        &self.feed
    }

    /// Releases the database, for a shutdown, and waits until nothing uses it any more, so that the
    /// next one to open the directory finds it free: background work and reading requests continue
    /// to their end.
    pub(crate) async fn close(&self) {
        let Some(tables) = self.tables.swap(None) else { return };
        let database = self.places.database();
        let close = move || {
            let closing = tables.store().closing();
            tables.store().cancel_compactions();
            drop(tables);
            if !closing.wait(CLOSE_TIMEOUT) {
                tracing::warn!(path = %database.display(), "{DATABASE} is still in use");
            }
        };
        if let Err(error) = tokio::task::spawn_blocking(close).await {
            tracing::error!(%error, "closing {DATABASE} failed");
        }
    }

    /// Replaces the database by the one in `source`, which is taken over and holds all up to `at`.
    ///
    /// If this fails, or the process stops meanwhile, either the old database stays in use, or the
    /// new one is used from then on. A snapshot that is not put in place now is never put there
    /// later: the old tables continue, and it would set them back.
    pub(crate) fn replace(&self, source: &Path, at: LogPosition) -> Result<(), Error> {
        let staged = self.places.stage(source, at, &self.options);
        if let Err(error) = staged.and_then(|()| self.wait_for_readers()) {
            if let Err(left) = self.places.discard_staged() {
                tracing::warn!(error = %left, "cannot remove a snapshot that was not installed; the next start will");
            }
            return Err(error);
        }
        let swapped = self.places.set_aside().and_then(|()| self.places.put_in_place());
        let unopened = self.open_what_is_there()?;
        swapped?;
        unopened.map_or(Ok(()), Err)
    }

    fn wait_for_readers(&self) -> Result<(), Error> {
        let Some(mut old) = self.tables.swap(None) else { return Ok(()) };
        old.store().cancel_compactions();
        let deadline = Instant::now() + self.readers_timeout;
        loop {
            match Arc::try_unwrap(old) {
                Ok(_) => return Ok(()),
                Err(used) if Instant::now() < deadline => {
                    old = used;
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(used) => {
                    self.tables.store(Some(used));
                    return Err(Error::Busy(self.readers_timeout));
                }
            }
        }
    }
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
