//! All data of a DataNode on its disks, except the Raft log.
//!
//! A [`ContainerStore`] spans the [`Disk`]s. A disk has one RocksDB with the records of all its
//! containers (Ozone's schema V3), one I/O executor, and a directory per container with its
//! `.container` file, a file per large block, and segment files that small blocks are packed into.
//!
//! A module uses those below it, and none that uses it:
//!
//! | module | subject |
//! | --- | --- |
//! | [`open`] | opening the disks, and loading their contents |
//! | [`reconcile`] | completing and repairing a replica from others |
//! | [`relocation`] | containers that move to another disk of this node |
//! | [`transfer`] | containers that move to another node |
//! | [`pipeline`] | the apply side: batches, positions, flush |
//! | [`deletion`] | deletion transactions and freeing space |
//! | [`scan`] | scanning replicas for damage |
//! | [`merkle`] | Merkle trees of replicas |
//! | [`block`] | chunks and blocks: write, sync, read, list |
//! | [`report`] | reports of replicas and disks for SCM |
//! | [`lifecycle`] | creation, state changes and removal of replicas |
//! | [`store`] | the replicas, and the pending work on them |
//! | [`segments`] | small blocks: append, write lazily, read, recover, compact |
//! | [`containers`] | a replica: its files, rows, sums and locks |
//! | [`disk`] | data directories: VERSION, lock, database, space, choice, flush |
//! | [`creation_lock`], [`ec_replica_journal`], [`lock_order`], [`position`], [`scan_history`], [`tables`], [`tracker`] | one idea each |
//!
//! # Invariants
//! * **The Raft log is the write-ahead log.** Applying writes to RocksDB without its log, one batch
//!   per round with the pipeline's applied position in it. A second, *durable* position moves only
//!   at a flush, after segments, block files and tables are all on disk; replay starts there, and
//!   the log may be trimmed up to there.
//! * **Replay is idempotent.** Entries up to the position that the tables already have restore
//!   packed bytes that a crash lost, at their old place, and change nothing else.
//! * **Files are removed after their rows.** A block's file or record is removed only when the
//!   removal of its row is durable; leftovers of a crash are found again through the deletion
//!   transaction.
//! * **Bytes are never trusted.** Packed records carry checksums that are checked at every read;
//!   large blocks are checked by the reader against the client's own checksums.

pub mod block;
pub mod containers;
mod creation_lock;
pub mod deletion;
pub mod disk;
mod ec_replica_journal;
mod error;
mod lifecycle;
mod lock_order;
mod merkle;
mod open;
mod options;
pub mod pipeline;
mod position;
mod read_timeout;
mod reconcile;
pub mod relocation;
mod report;
pub mod scan;
mod scan_history;
pub mod segments;
mod store;
mod tables;
#[cfg(test)]
mod tests;
pub mod tracker;
pub mod transfer;

pub use block::{Committed, Piece};
pub use containers::bcsid_of;
pub use containers::{Container, ContainerInfo, InitialState, NewContainer};
pub use deletion::{DeletionResult, Reclaimed};
pub use disk::CheckFault;
pub use disk::{Disk, Space};
pub use ec_replica_journal::FILE as EC_REPLICA_JOURNAL;
pub use error::{Result, StorageError};
pub use options::{ChoosingPolicy, DataDirectory, Floor, StorageOptions};
pub use pipeline::{ApplyBatch, PipelineStore};
pub use position::Position;
pub use read_timeout::ReadTimeout;
pub use reconcile::{Compared, Reconcile, Reconciled};
pub use relocation::{Passage, Relocated};
pub use scan::{Pace, Verdict};
pub use scan_history::ScanKind;
pub use store::{ContainerStore, SecondReplica, Unopened};
pub use tables::TABLES_WITH_DELETIONS;
