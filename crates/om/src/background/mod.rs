//! What OM does by itself, each as a [`BackgroundService`](service::BackgroundService):
//!
//! * [`KeyDeletingService`]: blocks of deleted keys go to SCM, then their rows go
//! * [`DirectoryDeletingService`]: deleted directories are taken apart
//! * [`SnapshotDeletingService`]: deleted snapshots are taken apart
//! * [`OpenKeyCleanupService`]: open keys that no client commits are given up
//! * [`MultipartUploadCleanupService`]: the same for multipart uploads
//! * [`TrashEmptier`]: what lies in the trash of file systems long enough goes
//!
//! Each works on the leader only ([`WhileLeading`]); what it finds it proposes like any client, so
//! that all replicas change alike.

mod directory_deleting;
mod error;
mod key_deleting;
mod multipart_cleanup;
mod names;
mod open_key_cleanup;
mod snapshot_deleting;
mod submit;
mod trash;
mod while_leading;

pub(crate) use directory_deleting::{
    DirectoryDeletingOptions, DirectoryDeletingService, NAME as DIRECTORY_DELETING,
};
pub(crate) use error::BackgroundError;
pub(crate) use key_deleting::{KeyDeletingOptions, KeyDeletingService, NAME as KEY_DELETING};
pub(crate) use multipart_cleanup::MultipartUploadCleanupService;
pub(crate) use open_key_cleanup::OpenKeyCleanupService;
pub(crate) use snapshot_deleting::{
    NAME as SNAPSHOT_DELETING, SnapshotDeletingOptions, SnapshotDeletingService,
};
pub(crate) use trash::{TrashEmptier, TrashOptions};
pub(crate) use while_leading::WhileLeading;

use std::time::Duration;

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
