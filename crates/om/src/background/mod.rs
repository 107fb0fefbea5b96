//! OM's own work, each as a [`BackgroundService`](service::BackgroundService):
//!
//! * [`KeyDeletingService`]: blocks of deleted keys are sent to SCM, then their rows are purged
//! * [`DirectoryDeletingService`]: deleted directories are taken apart
//! * [`SnapshotDeletingService`]: deleted snapshots are taken apart
//! * [`OpenKeyCleanupService`]: abandoned open keys are closed or removed
//! * [`MultipartUploadCleanupService`]: the same for multipart uploads
//! * [`TrashEmptier`]: expired trash of file systems is deleted
//! * [`TombstoneService`]: steps through tombstones of these services before lists do
//! * [`RangeCompactionService`], [`CompactionService`]: remove the tombstones
//!
//! [`crate::status::deletion`] reports the backlog of the first ones. [`prepared`] and
//! [`pressure`] watch the dispatcher until the shutdown.
//!
//! All but the last ones work on the leader only ([`WhileLeading`]); they propose their changes
//! like any client, so that all replicas change alike. Each OM compacts for itself.

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

/// Position of a cleanup that takes several runs: after the last row that it has seen.
#[derive(Debug, Default)]
pub(crate) struct Resume(parking_lot::Mutex<Option<Vec<u8>>>);

impl Resume {
    /// The first key of the next run. Taken, so that a failed run makes the next one start from the
    /// beginning.
    fn start(&self) -> Vec<u8> {
        self.0.lock().take().map_or_else(Vec::new, |last| [last.as_slice(), b"\0"].concat())
    }

    /// A run ended at its bound, at this row.
    fn stopped_at(&self, last: Option<Vec<u8>>) {
        *self.0.lock() = last;
    }
}

/// Target duration of a write of the deleting services while there are requests of clients: they
/// may have to wait for it, or for the processor.
const SHORT: Duration = Duration::from_millis(2);
/// The same while there are none.
const LONG: Duration = Duration::from_millis(200);

/// Settings of a deleting service.
#[derive(Debug, Clone)]
pub(crate) struct DeletingOptions {
    /// Interval of runs in addition to wake-ups.
    pub(crate) interval: Duration,
    /// Most rows taken in one run.
    pub(crate) limit: usize,
}

/// Held while rows of the deletedTable are handed over and purged, and while a snapshot's versions
/// are added to such rows: a version that came to a row between the two would be purged with it,
/// and its blocks would never be freed.
pub(crate) type DeletedRows = Arc<tokio::sync::Mutex<()>>;

/// Settings of a cleanup by age.
#[derive(Debug, Clone)]
pub(crate) struct CleanupOptions {
    /// Interval of runs.
    pub(crate) interval: Duration,
    /// Age from which on something counts as abandoned.
    pub(crate) expire: Duration,
    /// Most abandoned entries removed in one run.
    pub(crate) limit: usize,
}
