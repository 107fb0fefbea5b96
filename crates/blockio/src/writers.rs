//! Writes that a sync has to wait for.
//!
//! Writes of a file are recorded when they begin. A sync waits until none that began before it is
//! in progress (later ones might never end), and fails if one failed and was not repeated: a sync
//! must never succeed for a file that lacks bytes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use crate::{IoError, IoErrorKind};

#[derive(Default)]
struct FileWrites {
    /// Numbers of the writes in progress.
    under_way: Vec<u64>,
    lost: Vec<(Range<u64>, IoError)>,
    /// Syncs that wait for the writes with lower numbers.
    waiting: Vec<(u64, oneshot::Sender<()>)>,
}

#[derive(Default)]
struct Files {
    /// Number of the next write. They begin in this order, over all files.
    next: u64,
    by_path: FxHashMap<Arc<Path>, FileWrites>,
}

/// Writes in progress or lost, per file. Files without either have no entry.
#[derive(Clone, Default)]
pub(crate) struct Writers {
    files: Arc<Mutex<Files>>,
}

/// A write in progress; it counts as lost unless [`WriteGuard::done`] is called with success.
pub(crate) struct WriteGuard {
    writers: Writers,
    path: Arc<Path>,
    number: u64,
    range: Range<u64>,
    outcome: Option<Result<(), IoError>>,
}

impl Writers {
    /// Begins a write.
    pub(crate) fn begin(&self, path: Arc<Path>, range: Range<u64>) -> WriteGuard {
        let mut files = self.files.lock();
        let number = files.next;
        files.next += 1;
        files.by_path.entry(Arc::clone(&path)).or_default().under_way.push(number);
        drop(files);
        WriteGuard { writers: self.clone(), path, number, range, outcome: None }
    }

    /// Waits for the writes of the file that are in progress at the call.
    ///
    /// # Errors
    /// If a write was lost.
    pub(crate) async fn wait_for_writes(&self, path: &Path) -> Result<(), IoError> {
        let until = self.files.lock().next;
        loop {
            let wait = {
                let mut files = self.files.lock();
                let Some(file) = files.by_path.get_mut(path) else { return Ok(()) };
                if !file.under_way.iter().any(|number| *number < until) {
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
                file.waiting.push((until, done));
                wait
            };
            // An error means that the entry was removed, so there is nothing to wait for.
            let _ = wait.await;
        }
    }

    /// Drops the lost writes of a removed file.
    pub(crate) fn forget(&self, path: &Path) {
        let mut files = self.files.lock();
        if let Some(file) = files.by_path.get_mut(path) {
            file.lost.clear();
            if file.under_way.is_empty() {
                files.by_path.remove(path);
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
        let Some(file) = files.by_path.get_mut(&self.path) else { return };
        file.under_way.retain(|number| *number != self.number);
        match self.outcome.take() {
            Some(Ok(())) => {
                let range = &self.range;
                file.lost.retain(|(lost, _)| lost.start < range.start || lost.end > range.end);
            }
            Some(Err(error)) => file.lost.push((self.range.clone(), error)),
            None => {
                let error =
                    IoError::new("write", &self.path, IoErrorKind::Stopped, "it was abandoned");
                file.lost.push((self.range.clone(), error));
            }
        }
        let first = file.under_way.iter().min().copied().unwrap_or(u64::MAX);
        for (_, sync) in file.waiting.extract_if(.., |(until, _)| *until <= first) {
            // Fails if the sync was abandoned.
            let _ = sync.send(());
        }
        if file.under_way.is_empty() && file.lost.is_empty() {
            files.by_path.remove(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_sync_waits_for_what_was_begun_before_it_and_not_for_later_writes() {
        let writers = Writers::default();
        let path: Arc<Path> = Arc::from(Path::new("f"));
        let begin = |range| writers.begin(Arc::clone(&path), range);
        let (first, second) = (begin(0..1), begin(1..2));
        let mut sync = Box::pin(writers.wait_for_writes(&path));
        assert!((&mut sync).now_or_never().is_none());
        let mut later = begin(2..3);
        second.done(Ok(()));
        assert!((&mut sync).now_or_never().is_none());
        for at in 3..9 {
            // There is always one under way.
            let next = begin(at..at + 1);
            std::mem::replace(&mut later, next).done(Ok(()));
        }
        assert!((&mut sync).now_or_never().is_none());
        first.done(Ok(()));
        assert_eq!(sync.now_or_never(), Some(Ok(())));
        let sync = writers.wait_for_writes(&path);
        later.done(Err(IoError::new("write", &path, IoErrorKind::Device, "broken".to_owned())));
        assert_eq!(sync.now_or_never().unwrap().unwrap_err().kind, IoErrorKind::WriteLost);
        writers.forget(&path);
        assert!(writers.files.lock().by_path.is_empty());
    }
}
