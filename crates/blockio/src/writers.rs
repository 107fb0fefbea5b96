//! Which writes a sync has to wait for.
//!
//! Writes of a file are counted from the moment they are begun. A sync waits until none is under
//! way, and fails when one failed and was not repeated: "synced" must never be said of a file that
//! lacks bytes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use crate::{IoError, IoErrorKind};

#[derive(Default)]
struct FileWrites {
    under_way: usize,
    lost: Vec<(Range<u64>, IoError)>,
    waiting: Vec<oneshot::Sender<()>>,
}

/// Writes under way or lost, per file. Files without either have no entry.
#[derive(Clone, Default)]
pub(crate) struct Writers {
    files: Arc<Mutex<FxHashMap<Arc<Path>, FileWrites>>>,
}

/// A write under way; it counts as lost unless [`WriteGuard::done`] is told otherwise.
pub(crate) struct WriteGuard {
    writers: Writers,
    path: Arc<Path>,
    range: Range<u64>,
    outcome: Option<Result<(), IoError>>,
}

impl Writers {
    /// Begins a write.
    pub(crate) fn begin(&self, path: Arc<Path>, range: Range<u64>) -> WriteGuard {
        self.files.lock().entry(Arc::clone(&path)).or_default().under_way += 1;
        WriteGuard { writers: self.clone(), path, range, outcome: None }
    }

    /// Waits until no write of the file is under way.
    ///
    /// # Errors
    /// When a write was lost.
    pub(crate) async fn wait_for_writes(&self, path: &Path) -> Result<(), IoError> {
        loop {
            let wait = {
                let mut files = self.files.lock();
                let Some(file) = files.get_mut(path) else { return Ok(()) };
                if file.under_way == 0 {
                    let Some((range, error)) = file.lost.first() else { return Ok(()) };
                    let (kind, why) = match error.kind {
                        IoErrorKind::NoSpace => (IoErrorKind::NoSpace, &error.reason),
                        _ => (IoErrorKind::WriteLost, &error.reason),
                    };
                    let reason =
                        format!("bytes {}..{} were not written: {why}", range.start, range.end);
                    return Err(IoError::new("sync", path, kind, reason));
                }
                let (done, wait) = oneshot::channel();
                file.waiting.push(done);
                wait
            };
            // An error means that the entry is gone, so that there is nothing to wait for.
            let _ = wait.await;
        }
    }

    /// Forgets lost writes of a file that is removed.
    pub(crate) fn forget(&self, path: &Path) {
        let mut files = self.files.lock();
        if let Some(file) = files.get_mut(path) {
            file.lost.clear();
            if file.under_way == 0 {
                files.remove(path);
            }
        }
    }
}

impl WriteGuard {
    /// Ends the write.
    pub(crate) fn done(mut self, outcome: Result<(), IoError>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut files = self.writers.files.lock();
        let Some(file) = files.get_mut(&self.path) else { return };
        file.under_way = file.under_way.saturating_sub(1);
        match self.outcome.take() {
            Some(Ok(())) => {
                let range = &self.range;
                file.lost.retain(|(lost, _)| lost.start < range.start || lost.end > range.end);
            }
            Some(Err(error)) => file.lost.push((self.range.clone(), error)),
            None => {
                let error =
                    IoError::new("write", &self.path, IoErrorKind::Stopped, "it was given up");
                file.lost.push((self.range.clone(), error));
            }
        }
        if file.under_way == 0 {
            for waiting in file.waiting.drain(..) {
                // A sync that was given up does not care.
                let _ = waiting.send(());
            }
            if file.lost.is_empty() {
                files.remove(&self.path);
            }
        }
    }
}
