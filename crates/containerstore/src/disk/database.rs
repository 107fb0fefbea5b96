//! The disk's database, whose failures are the disk's.

use std::ops::Deref;

use metastore::{Batch, Durability, Error, Store};

/// The disk's database. A write or flush that fails fails the disk, and a disk that has failed
/// takes no writes into its tables.
pub(crate) struct Database {
    store: Store,
    io: blockio::Disk,
}

impl Database {
    pub(super) fn new(store: Store, io: blockio::Disk) -> Self {
        Self { store, io }
    }

    /// Applies a batch.
    pub(crate) fn write(&self, batch: Batch, durability: Durability) -> metastore::Result<()> {
        self.check("write")?;
        self.store.write(batch, durability).map_err(|error| self.note_failure(error))
    }

    /// Makes everything written so far durable. Blocks.
    pub(crate) fn flush(&self) -> metastore::Result<()> {
        self.check("flush")?;
        self.store.flush().map_err(|error| self.note_failure(error))?;
        self.check("flush")
    }

    fn check(&self, operation: &'static str) -> metastore::Result<()> {
        match self.io.failure() {
            None => Ok(()),
            Some(first) => Err(Error::Broken { operation, reason: first.to_string() }),
        }
    }

    fn note_failure(&self, error: Error) -> Error {
        if let Some(first) = self.store.failure() {
            self.io.fail("write the database", self.store.path(), first.to_string());
        }
        error
    }
}

impl Deref for Database {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}
