//! Disks: file I/O outside of the async workers, with limits and metrics.
//!
//! A [`Disk`] is an executor for the files of one disk: a bounded queue, worker threads, a cache of
//! open files, a pool of aligned buffers, metrics per kind of operation. It handles paths and
//! bytes, independent of their meaning.
//!
//! [`durable`] is for operations that need no executor: names that must survive a power loss, small
//! files that are replaced as a whole.
//!
//! # Writes
//! Large writes bypass the page cache (`O_DIRECT`): on many machines dirty throttling makes
//! buffered writes several times slower and costs a copy. Data unsuitable for direct I/O (heads and
//! tails that do not fill a 4 KiB page, small writes) goes through the page cache; the kernel keeps
//! both views of a file coherent, and [`Disk::sync`] makes both durable.
//!
//! # Reads
//! Through the page cache, at once on the calling thread if the bytes are cached (`RWF_NOWAIT`),
//! otherwise by a worker: a warm read costs no thread switch. A reader with another source can
//! limit its wait for a slow disk ([`Disk::read_timely`]); the hanging worker is replaced, up to a
//! limit.
//!
//! # Invariants
//! * A [`Disk::sync`] covers every write of the file that was *begun* before it, and fails if one
//!   of them failed and was not repeated.
//! * A failed sync, or a write that the device refused, is final: it fails the disk, which accepts
//!   no more writes and syncs. No later sync can succeed, whatever the kernel reports.
//! * The handle through which a file was written stays open until a sync: an error of write-back is
//!   reported only to handles that were open when it happened.
//! * Every queue, cache and pool is bounded.
//! * No operation blocks the calling thread, except cached reads.

mod backend;
mod buffers;
pub mod deadline;
mod disk;
pub mod durable;
mod error;
mod files;
mod health;
mod job;
mod metrics;
mod options;
mod range;
mod space;
mod timely;
mod unlink;
mod wait;
mod worker_counts;
mod workers;
mod writers;

pub use backend::faults::{Fault, Faults, FaultyBackend, Hold, Op, Strike};
pub use backend::{Backend, SystemBackend};
pub use buffers::{BufferPool, PAGE, PooledBuffer};
pub use disk::Disk;
pub use error::{IoError, IoErrorKind};
pub use health::{Trouble, Watcher};
pub use job::WriteMode;
pub use metrics::{LATENCY_BOUNDS_US, Metrics, OpKind, OpMetrics};
pub use options::{Clock, DiskOptions, Engine};
pub use space::{FileSystemSpace, file_system_space};
pub use wait::block_on;
