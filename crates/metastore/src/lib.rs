//! Tables over RocksDB: the one place that knows the store.
//!
//! * [`Store`]: an open database with named tables (column families); reads, batches, flush,
//!   checkpoints, range deletion
//! * [`compaction`]: which key ranges tombstones slow down, and their compaction
//! * [`TableSpec`], [`Preset`]: how a table is laid out on disk
//! * [`Batch`]: changes that become visible, and durable, together
//! * [`Ingest`]: many rows at once, as files
//! * [`Cursor`], [`Snapshot`]: ordered reads
//! * [`OfflineStore`]: any database by its path, for tools
//! * [`TypedTable`], [`KeyCodec`], [`ValueCodec`]: tables of typed keys and values
//!
//! # Invariants
//! * **Batches are atomic over tables, with or without the write-ahead log.** Flushes are atomic
//!   over all tables (`atomic_flush`), so that a replicated state machine can write without the
//!   log ([`Durability::NoWal`]), keep its applied index in the same batch, and find both in step
//!   after a crash: the Raft log is the write-ahead log.
//! * **A write or flush that failed is final**, unless for want of room: from then on the database
//!   can only be read. The first answer of a disk that fails is the true one.
//! * **A compaction that failed stops nothing**: the files that it read stay, and RocksDB tries
//!   again. What it found damaged is an error.
//! * Keys are compared bytewise.
//! * Nothing outside this crate links RocksDB.

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
