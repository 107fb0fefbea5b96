//! Health of a disk.
//!
//! A failed sync is final. The kernel may have dropped the pages that it could not write, and
//! report success for the next sync: only the first result is reliable. The first failed sync of
//! any file or directory, and the first write that the device refused, therefore fail the whole
//! disk, for the life of the process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{IoError, IoErrorKind};

/// An error of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The device refused an operation. The disk continues.
    Error(IoError),
    /// The disk has failed: it accepts no more writes and syncs.
    Failed(IoError),
}

/// Receives a disk's errors, on the thread of the operation. Must not block.
pub type Watcher = Arc<dyn Fn(&Trouble) + Send + Sync>;

/// Health of a disk, and the watchers of its errors.
#[derive(Default)]
pub(crate) struct Health {
    failed: OnceLock<IoError>,
    watchers: Mutex<Vec<Watcher>>,
}

impl Health {
    /// The reason of the disk's failure, if any.
    pub(crate) fn failure(&self) -> Option<&IoError> {
        self.failed.get()
    }

    /// Rejects an operation of a failed disk.
    pub(crate) fn check(&self, op: &'static str, path: &Path) -> Result<(), IoError> {
        match self.failed.get() {
            None => Ok(()),
            Some(first) => {
                let reason = format!("the disk has failed: {first}");
                Err(IoError::new(op, path, IoErrorKind::Failed, reason))
            }
        }
    }

    /// Fails the disk; the first reason is kept. Returns the error.
    pub(crate) fn fail(&self, error: IoError) -> IoError {
        if self.failed.set(error.clone()).is_ok() {
            self.notify(&Trouble::Failed(error.clone()));
        }
        error
    }

    /// Records a failed write, which fails the disk if the device caused it. Returns the error.
    pub(crate) fn lost(&self, error: IoError) -> IoError {
        if error.kind == IoErrorKind::Device { self.fail(error) } else { error }
    }

    /// Reports an error of the device; others are the caller's own. Returns the error.
    pub(crate) fn note(&self, error: IoError) -> IoError {
        if error.kind == IoErrorKind::Device {
            self.notify(&Trouble::Error(error.clone()));
        }
        error
    }

    /// Reports later errors to `watcher`, and an earlier failure.
    pub(crate) fn watch(&self, watcher: Watcher) {
        self.watchers.lock().push(Arc::clone(&watcher));
        if let Some(error) = self.failed.get() {
            watcher(&Trouble::Failed(error.clone()));
        }
    }

    fn notify(&self, trouble: &Trouble) {
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|watcher| watcher(trouble));
    }
}
