//! Disks: where file I/O happens, off the async workers, with bounds and figures.
//!
//! A [`Disk`] is an executor for the files of one disk: a bounded queue, worker threads, a cache
//! of open files, a pool of aligned buffers, metrics per kind of operation. It knows paths and
//! bytes, nothing of what they mean.
//!
//! [`durable`] is for what needs no executor: names that must survive a loss of power, small files
//! that are replaced as a whole.
//!
//! # How bytes are written
//! Large writes go past the page cache (`O_DIRECT`): on many machines dirty throttling makes
//! buffered writes several times slower and costs a copy. What direct I/O cannot take (heads and
//! tails that do not fill a 4 KiB page, small writes) goes through the page cache; the kernel
//! keeps both views of a file coherent, and [`Disk::sync`] makes both durable.
//!
//! # How bytes are read
//! Through the page cache, at once on the calling thread when they are cached
//! (`RWF_NOWAIT`), by a worker when not: a warm read costs no thread switch. A reader that can go
//! elsewhere waits for a sick disk no longer than it says ([`Disk::read_timely`]); the worker that
//! hangs is replaced, up to a bound.
//!
//! # Invariants
//! * A [`Disk::sync`] covers every write of the file that was *begun* before it, and fails when
//!   one of them failed and was not repeated.
//! * A sync that failed, or a write that the device refused, is final: it fails the disk, which
//!   takes no more writes and syncs. No later sync can succeed, whatever the kernel says.
//! * The handle through which a file was written stays open until a sync: an error of write-back is
//!   told to handles that were open when it happened.
//! * Every queue, cache and pool has a bound.
//! * No operation blocks the thread that asks for it, but for cached reads.

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
