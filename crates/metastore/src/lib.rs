//! Tables over RocksDB: the only crate that depends on it.
//!
//! * [`Store`]: an open database with named tables (column families); reads, batches, flush,
//!   checkpoints, range deletion
//! * [`compaction`]: compaction of key ranges that tombstones slow down
//! * [`TableSpec`], [`Preset`]: the layout of a table on disk
//! * [`Batch`]: atomic and durable sets of changes
//! * [`Ingest`]: bulk loads, as files
//! * [`Cursor`], [`Snapshot`]: ordered reads
//! * [`OfflineStore`]: any database by its path, for tools
//! * [`TypedTable`], [`KeyCodec`], [`ValueCodec`]: tables of typed keys and values
//!
//! # Invariants
//! * **Batches are atomic over tables, with or without the write-ahead log.** Flushes are atomic
//!   over all tables (`atomic_flush`), so that a replicated state machine can write without the log
//!   ([`Durability::NoWal`]), keep its applied index in the same batch, and find both consistent
//!   after a crash: the Raft log is the write-ahead log.
//! * **A failed write or flush is final**, unless the disk was full: from then on the database is
//!   read-only. Only the first response of a failing disk is reliable.
//! * **A failed compaction stops nothing**: its input files stay, and RocksDB retries. Damage that
//!   it finds is an error.
//! * Keys are compared bytewise.
//! * No other crate links RocksDB.

mod batch;
mod closing;
pub mod compaction;
mod compaction_jobs;
mod cursor;
mod error;
mod file_properties;
mod gaps;
mod ingest;
mod offline;
mod open;
mod store;
mod table;

pub use batch::{Batch, Durability};
pub use closing::Closing;
pub use compaction::RangeStatistics;
pub use cursor::{Cursor, IterRange};
pub use error::{Error, Result};
pub use gaps::Wall;
pub use ingest::Ingest;
pub use offline::{OfflineChange, OfflineStore};
pub use open::{DeletionTrigger, Preset, StoreOptions, TableSpec};
pub use store::{Cached, PinnedValue, Snapshot, Store, StoreMetrics, Table};
pub use table::{KeyCodec, TypedTable, ValueCodec};
