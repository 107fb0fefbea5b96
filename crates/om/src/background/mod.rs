//! What OM does by itself, each as a [`BackgroundService`](service::BackgroundService):
//!
//! * [`KeyDeletingService`]: blocks of deleted keys go to SCM, then their rows go
//! * [`DirectoryDeletingService`]: deleted directories are taken apart
//! * [`SnapshotDeletingService`]: deleted snapshots are taken apart
//! * [`OpenKeyCleanupService`]: open keys that no client commits are given up
//! * [`MultipartUploadCleanupService`]: the same for multipart uploads
//! * [`TrashEmptier`]: what lies in the trash of file systems long enough goes
//! * [`TombstoneService`]: lists go over what all of these leave in the database
//! * [`RangeCompactionService`], [`CompactionService`]: that goes, too
//!
//! [`crate::status::deletion`] says what the first ones have left to do. [`prepared`] and
//! [`pressure`] watch the dispatcher until the shutdown.
//!
//! Each but the last ones works on the leader only ([`WhileLeading`]); what it finds it proposes
//! like any client, so that all replicas change alike. Compaction is every OM's own affair.

mod directory_deleting;
mod error;
mod key_deleting;
mod multipart_cleanup;
mod names;
mod on_thread;
mod open_key_cleanup;
pub(crate) mod prepared;
pub(crate) mod pressure;
mod range_compaction;
mod snapshot_deleting;
mod submit;
mod table_compaction;
mod tombstones;
mod trash;
mod while_leading;

pub(crate) use directory_deleting::{DirectoryDeletingService, NAME as DIRECTORY_DELETING};
pub(crate) use error::BackgroundError;
pub(crate) use key_deleting::{KeyDeletingService, NAME as KEY_DELETING};
pub(crate) use multipart_cleanup::MultipartUploadCleanupService;
pub(crate) use open_key_cleanup::OpenKeyCleanupService;
pub(crate) use range_compaction::RangeCompactionService;
pub(crate) use snapshot_deleting::{NAME as SNAPSHOT_DELETING, SnapshotDeletingService};
pub(crate) use table_compaction::{CompactionService, FullCompactionOptions};
pub(crate) use tombstones::TombstoneService;
pub(crate) use trash::{TrashEmptier, TrashOptions};
pub(crate) use while_leading::WhileLeading;

use std::sync::Arc;
use std::time::Duration;

/// Where a cleanup that takes several runs goes on: behind the last row that it has seen.
#[derive(Debug, Default)]
pub(crate) struct Resume(parking_lot::Mutex<Option<Vec<u8>>>);

impl Resume {
    /// The first key of the next run. Taken, so that a run that fails leaves the next one to begin
    /// anew.
    fn start(&self) -> Vec<u8> {
        self.0.lock().take().map_or_else(Vec::new, |last| [last.as_slice(), b"\0"].concat())
    }

    /// A run ended at its bound, at this row.
    fn stopped_at(&self, last: Option<Vec<u8>>) {
        *self.0.lock() = last;
    }
}

/// How long a write of a service that takes apart what was deleted should take while there are
/// requests of clients: they may have to wait for it, or for the processor.
const SHORT: Duration = Duration::from_millis(2);
/// The same while there are none.
const LONG: Duration = Duration::from_millis(200);

/// How a service works that takes apart what was deleted.
#[derive(Debug, Clone)]
pub(crate) struct DeletingOptions {
    /// How often it looks without being woken.
    pub(crate) interval: Duration,
    /// Most rows taken in one run.
    pub(crate) limit: usize,
}

/// Held while rows of the deletedTable are handed over and purged, and while a snapshot's versions
/// are added to such rows: a version that came to a row between the two would be purged with it,
/// and its blocks would never be freed.
pub(crate) type DeletedRows = Arc<tokio::sync::Mutex<()>>;

/// How a cleanup by age works.
#[derive(Debug, Clone)]
pub(crate) struct CleanupOptions {
    /// How often it looks.
    pub(crate) interval: Duration,
    /// Age from which on something counts as abandoned.
    pub(crate) expire: Duration,
    /// Most things given up in one run.
    pub(crate) limit: usize,
}
