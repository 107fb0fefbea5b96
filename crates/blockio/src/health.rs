//! Whether a disk can still be trusted.
//!
//! A sync that failed is final. The kernel may have dropped the pages that it could not write, and
//! says yes to the next sync: only the first answer is true. The first failed sync of any file or
//! directory, and the first write that the device refused, therefore fail the whole disk, for the
//! life of the process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{IoError, IoErrorKind};

/// What happened to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The device refused an operation. The disk goes on.
    Error(IoError),
    /// The disk has failed: it takes no more writes and syncs.
    Failed(IoError),
}

/// Hears of a disk's troubles, on the thread of the operation. Must not block.
pub type Watcher = Arc<dyn Fn(&Trouble) + Send + Sync>;

/// Whether a disk can still be trusted, and the listeners for when not.
#[derive(Default)]
pub(crate) struct Health {
    failed: OnceLock<IoError>,
    watchers: Mutex<Vec<Watcher>>,
}

impl Health {
    /// Why the disk failed, if it did.
    pub(crate) fn failure(&self) -> Option<&IoError> {
        self.failed.get()
    }

    /// Refuses an operation of a failed disk.
    pub(crate) fn check(&self, op: &'static str, path: &Path) -> Result<(), IoError> {
        match self.failed.get() {
            None => Ok(()),
            Some(first) => {
                let reason = format!("the disk has failed: {first}");
                Err(IoError::new(op, path, IoErrorKind::Failed, reason))
            }
        }
    }

    /// Fails the disk; the first reason stays. Hands the error back.
    pub(crate) fn fail(&self, error: IoError) -> IoError {
        if self.failed.set(error.clone()).is_ok() {
            self.notify(&Trouble::Failed(error.clone()));
        }
        error
    }

    /// A write failed: when it was the device, the disk has failed. Hands the error back.
    pub(crate) fn lost(&self, error: IoError) -> IoError {
        if error.kind == IoErrorKind::Device { self.fail(error) } else { error }
    }

    /// Tells of an error of the device; others are the caller's own. Hands the error back.
    pub(crate) fn note(&self, error: IoError) -> IoError {
        if error.kind == IoErrorKind::Device {
            self.notify(&Trouble::Error(error.clone()));
        }
        error
    }

    /// Tells `watcher` of everything from now on, and of a failure that was.
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
