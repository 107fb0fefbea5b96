//! A disk: operations in, completions out.

use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use bytes::Bytes;
use crossbeam_channel::{Sender, unbounded};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::backend::{Backend, SystemBackend};
use crate::buffers::BufferPool;
use crate::files::FileCache;
use crate::health::{Health, Watcher};
use crate::job::{Job, Shared, WriteMode};
use crate::metrics::Metrics;
use crate::worker_counts::WorkerCounts;
use crate::workers::Workers;
use crate::writers::{WriteGuard, Writers};
use crate::{DiskOptions, IoError, IoErrorKind, OpKind, range};

/// The executor of one disk. Clones share it; it stops with the last one, after the operations in
/// progress.
#[derive(Clone)]
pub struct Disk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) workers: Arc<Workers>,
    /// Unbounded itself: `slots` limits its length.
    jobs: Arc<Mutex<Option<Sender<Job>>>>,
    pub(crate) slots: Arc<Semaphore>,
}

impl Disk {
    /// Starts the executor of the disk that contains `root`.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn start(root: &Path, options: DiskOptions) -> Result<Self, IoError> {
        Self::start_on(root, options, Box::new(SystemBackend))
    }

    /// Starts an executor with another backend.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn start_on(
        root: &Path,
        options: DiskOptions,
        backend: Box<dyn Backend>,
    ) -> Result<Self, IoError> {
        let slots = Arc::new(Semaphore::new(options.queue.clamp(1, Semaphore::MAX_PERMITS)));
        let (jobs, queue) = unbounded();
        let shared = Arc::new(Shared {
            files: FileCache::new(options.open_files),
            pool: BufferPool::new(options.pool_bytes),
            metrics: Metrics::default(),
            writers: Writers::default(),
            health: Health::default(),
            workers: WorkerCounts::default(),
            last_in_time: AtomicU64::default(),
            names_covered: backend.sync_covers_names(root),
            backend,
            options,
        });
        let workers = Workers::start(Arc::clone(&shared), queue)
            .map_err(|e| IoError::of("start threads for", root, &e))?;
        Ok(Self { shared, workers, jobs: Arc::new(Mutex::new(Some(jobs))), slots })
    }

    /// Writes `data` at `offset`, creating the file if necessary. The write has begun on return: a
    /// later [`sync`](Self::sync) covers it, even before the future is first polled (but it must be
    /// polled to completion). Readable when the future completes.
    pub fn write(
        &self,
        path: Arc<Path>,
        offset: u64,
        data: Bytes,
        mode: WriteMode,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        self.write_parts(path, offset, vec![data], mode)
    }

    /// As [`write`](Self::write), for several consecutive buffers; always through the page cache if
    /// there is more than one.
    ///
    /// # Errors
    /// If the bytes are not written; see [`IoErrorKind`](crate::IoErrorKind).
    pub fn write_parts(
        &self,
        path: Arc<Path>,
        offset: u64,
        parts: Vec<Bytes>,
        mode: WriteMode,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        let len: usize = parts.iter().map(Bytes::len).sum();
        let begun = range::check("write", &path, offset, len).map(|range| {
            let guard = self.shared.writers.begin(Arc::clone(&path), range);
            self.submit("write", Arc::clone(&path), guard, move |shared, guard: WriteGuard| {
                let outcome =
                    shared.timed(OpKind::Write, len, || shared.write(&path, offset, &parts, mode));
                guard.done(outcome.clone());
                outcome
            })
        });
        async move { begun?.await }
    }

    /// Reads exactly `len` bytes. Cached bytes are read at once, on this thread.
    ///
    /// # Errors
    /// If the file does not exist, ends before `len` bytes, or the device fails.
    pub fn read(
        &self,
        path: Arc<Path>,
        offset: u64,
        len: usize,
    ) -> impl Future<Output = Result<Bytes, IoError>> + Send + use<> {
        let checked = range::check("read", &path, offset, len);
        let cached = self.try_read(&path, offset, len);
        let rest = (cached.is_none() && checked.is_ok()).then(|| {
            self.submit("read", Arc::clone(&path), (), move |shared, ()| {
                shared.timed(OpKind::Read, len, || shared.read(&path, offset, len))
            })
        });
        async move {
            checked?;
            match (cached, rest) {
                (Some(data), _) => Ok(data),
                (None, Some(rest)) => rest.await,
                // `rest` is set whenever `cached` is not.
                (None, None) => Ok(Bytes::new()),
            }
        }
    }

    /// As [`read`](Self::read), for a caller that has another source for the bytes: a late read
    /// ([`DiskOptions::read_limit`]) is abandoned and retried once on a new worker. Only within a
    /// tokio runtime, whose clock it uses.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`IoErrorKind::Late`] if it is late twice, or once while no more
    /// workers may be started.
    pub async fn read_timely(
        &self,
        path: Arc<Path>,
        offset: u64,
        len: usize,
    ) -> Result<Bytes, IoError> {
        range::check("read", &path, offset, len)?;
        if let Some(data) = self.try_read(&path, offset, len) {
            return Ok(data);
        }
        self.timely("read", Arc::clone(&path), move |shared, progress| {
            let note = || progress.note(shared.now());
            shared.timed(OpKind::Read, len, || shared.read_noting(&path, offset, len, &note))
        })
        .await
    }

    /// Runs other work that reads the disk on a worker, without a timeout. `path` is for messages.
    ///
    /// # Errors
    /// If the disk is stopped.
    pub async fn run<T: Send + 'static>(
        &self,
        op: &'static str,
        path: Arc<Path>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, IoError> {
        self.submit(op, path, (), move |_, ()| Ok(work())).await
    }

    /// Runs other work that reads the disk, as [`read_timely`](Self::read_timely) does: `path` is
    /// for messages, `work` may run twice.
    ///
    /// # Errors
    /// As [`read_timely`](Self::read_timely).
    pub async fn run_timely<T: Send + 'static>(
        &self,
        op: &'static str,
        path: Arc<Path>,
        work: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<T, IoError> {
        self.timely(op, path, move |_, _| Ok(work())).await
    }

    /// Number of workers that hang in an abandoned read.
    pub fn stuck_workers(&self) -> usize {
        self.shared.workers.stuck()
    }

    /// As [`read`](Self::read), for bytes that are not needed again soon: pages that were not
    /// cached before are dropped from the page cache, so that reading a whole disk does not evict
    /// others.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_once(
        &self,
        path: Arc<Path>,
        offset: u64,
        len: usize,
    ) -> impl Future<Output = Result<Bytes, IoError>> + Send + use<> {
        let checked = range::check("read", &path, offset, len);
        let cached = self.try_read(&path, offset, len);
        let rest = (cached.is_none() && checked.is_ok()).then(|| {
            self.submit("read", Arc::clone(&path), (), move |shared, ()| {
                shared.timed(OpKind::Read, len, || shared.read_once(&path, offset, len))
            })
        });
        async move {
            checked?;
            match (cached, rest) {
                (Some(data), _) => Ok(data),
                (None, Some(rest)) => rest.await,
                // `rest` is set whenever `cached` is not.
                (None, None) => Ok(Bytes::new()),
            }
        }
    }

    /// Reads exactly `len` bytes if that neither blocks nor copies too much.
    pub fn try_read(&self, path: &Path, offset: u64, len: usize) -> Option<Bytes> {
        let too_long = len > self.shared.options.inline_read_max;
        if too_long || range::check("read", path, offset, len).is_err() {
            return None;
        }
        let start = Instant::now();
        let data = self.shared.read_cached(path, offset, len)?;
        self.shared.metrics.count(OpKind::CachedRead, start.elapsed(), len, true);
        Some(data)
    }

    /// Makes the writes to a file durable: waits for the writes begun, then syncs data, length and,
    /// for a new file, its name.
    ///
    /// # Errors
    /// Also if an earlier write failed and was not repeated, and always if the disk has failed. An
    /// error of the sync itself fails the disk.
    pub fn sync(
        &self,
        path: Arc<Path>,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        let disk = self.clone();
        async move {
            disk.shared.writers.wait_for_writes(&path).await?;
            disk.submit("sync", Arc::clone(&path), (), move |shared, ()| {
                shared.timed(OpKind::Sync, 0, || shared.sync(&path))
            })
            .await
        }
    }

    /// Starts to make a file durable, if there is space in the queue. Guarantees nothing: a later
    /// [`sync`](Self::sync) does, and is shorter. A failure fails the disk, and so every later
    /// sync.
    pub fn sync_soon(&self, path: Arc<Path>) {
        drop(self.submit("sync", Arc::clone(&path), (), move |shared, ()| {
            shared.timed(OpKind::Sync, 0, || shared.sync(&path))
        }));
    }

    /// Makes the names in a directory durable.
    pub fn sync_directory(
        &self,
        path: PathBuf,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        self.submit("sync directory", Arc::from(path.as_path()), (), move |shared, ()| {
            shared.timed(OpKind::Sync, 0, || shared.sync_directory(&path))
        })
    }

    /// Syncs an open file of the caller, on the calling thread. Blocks.
    ///
    /// # Errors
    /// Those of the system; the disk has failed then, or had before.
    pub fn sync_file(&self, file: &std::fs::File, path: &Path) -> Result<(), IoError> {
        self.shared.timed(OpKind::Sync, 0, || self.shared.sync_file(file, path))
    }

    /// Starts the write-back of a range that the caller wrote to a file, so that a later sync of
    /// the file is short, and does not delay those of others. Nothing is durable, or has failed,
    /// before that sync returns.
    pub fn start_writeback(&self, file: &std::fs::File, path: &Path, range: Range<u64>) {
        self.shared.backend.start_writeback(file, path, range);
    }

    /// Syncs the names in a directory, on the calling thread. Blocks.
    ///
    /// # Errors
    /// Those of the system; the disk has failed then, or had before.
    pub fn sync_names(&self, directory: &Path) -> Result<(), IoError> {
        self.shared.timed(OpKind::Sync, 0, || self.shared.sync_directory(directory))
    }

    /// The reason of the disk's failure, if any. A failed disk accepts no writes and syncs; it may
    /// still be readable.
    pub fn failure(&self) -> Option<IoError> {
        self.shared.health.failure().cloned()
    }

    /// Fails the disk, for a reason detected elsewhere; the first reason is kept.
    pub fn fail(&self, operation: &'static str, path: &Path, reason: impl Into<String>) {
        self.shared.health.fail(IoError::new(operation, path, IoErrorKind::Device, reason));
    }

    /// Reports the disk's later errors to `watcher`, and its failure if it has failed.
    pub fn watch(&self, watcher: Watcher) {
        self.shared.health.watch(watcher);
    }

    /// Returns ranges of a file to the file system.
    pub fn punch(
        &self,
        path: Arc<Path>,
        ranges: Vec<Range<u64>>,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        let bytes = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum::<u64>();
        self.submit("punch", Arc::clone(&path), (), move |shared, ()| {
            shared.timed(OpKind::Punch, bytes as usize, || shared.punch(&path, &ranges))
        })
    }

    /// Truncates or extends a file.
    pub fn truncate(
        &self,
        path: Arc<Path>,
        len: u64,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        self.submit("truncate", Arc::clone(&path), (), move |shared, ()| {
            shared.timed(OpKind::Remove, 0, || shared.truncate(&path, len))
        })
    }

    /// Removes files; missing ones count as removed.
    pub fn unlink(
        &self,
        paths: Vec<PathBuf>,
    ) -> impl Future<Output = Result<(), IoError>> + Send + use<> {
        let first = Arc::from(paths.first().map_or(Path::new(""), PathBuf::as_path));
        self.submit("unlink", first, (), move |shared, ()| {
            shared.timed(OpKind::Remove, 0, || shared.unlink(&paths))
        })
    }

    /// A file's length.
    pub fn length(
        &self,
        path: Arc<Path>,
    ) -> impl Future<Output = Result<u64, IoError>> + Send + use<> {
        self.submit("stat", Arc::clone(&path), (), move |shared, ()| shared.length(&path))
    }

    /// Closes a file, or every file below a directory that is about to be moved.
    pub fn forget(&self, path: &Path) {
        self.shared.files.forget_below(path);
    }

    /// Live metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The aligned buffers.
    pub fn pool(&self) -> &BufferPool {
        &self.shared.pool
    }

    /// The I/O engine in use, for status pages.
    pub fn engine(&self) -> &'static str {
        "threads"
    }

    /// Name of the disk.
    pub fn name(&self) -> &str {
        &self.shared.options.name
    }

    /// Number of open files.
    pub fn open_files(&self) -> usize {
        self.shared.files.len()
    }

    /// Accepts no more operations; those begun are completed.
    pub fn stop(&self) {
        self.jobs.lock().take();
        self.slots.close();
    }

    /// Queues work: at once if there is space, else once polled. `state` is dropped if the work
    /// never runs, which marks abandoned writes.
    pub(crate) fn submit<S, T, F>(
        &self,
        op: &'static str,
        path: Arc<Path>,
        state: S,
        work: F,
    ) -> impl Future<Output = Result<T, IoError>> + Send + use<S, T, F>
    where
        S: Send + 'static,
        T: Send + 'static,
        F: FnOnce(&Shared, S) -> Result<T, IoError> + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let run = move |permit: OwnedSemaphorePermit| -> Job {
            Box::new(move |shared: &Shared| {
                let outcome = work(shared, state);
                shared.metrics.left();
                // Fails if the caller has stopped waiting.
                let _ = done.send(outcome);
                drop(permit);
            })
        };
        let disk = self.clone();
        let waiting = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => {
                disk.push(run(permit));
                None
            }
            Err(_) => Some(run),
        };
        async move {
            let stopped = || IoError::new(op, &path, IoErrorKind::Stopped, "the disk is stopped");
            if let Some(run) = waiting {
                let permit =
                    Arc::clone(&disk.slots).acquire_owned().await.map_err(|_| stopped())?;
                disk.push(run(permit));
            }
            drop(disk);
            outcome.await.map_err(|_| stopped())?
        }
    }

    pub(crate) fn push(&self, job: Job) {
        if let Some(jobs) = &*self.jobs.lock() {
            self.shared.metrics.entered();
            // Workers live as long as there is a sender, so this cannot fail.
            let _ = jobs.send(job);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::block_on;

    #[test]
    fn an_operation_that_panics_takes_no_worker_away() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::start(dir.path(), DiskOptions::default()).unwrap();
        let path: Arc<Path> = Arc::from(dir.path().join("a"));
        for _ in 0..4 * DiskOptions::default().threads {
            let panics = |_: &Shared, ()| -> Result<(), IoError> { panic!("injected by the test") };
            block_on(disk.submit("test", path.clone(), (), panics)).unwrap_err();
        }
        block_on(disk.write(path.clone(), 0, Bytes::from_static(b"x"), WriteMode::Auto)).unwrap();
        assert_eq!(block_on(disk.read(path, 0, 1)).unwrap(), "x");
        // The last panic may not have been counted yet.
        testkit::until_blocking("all are counted as done", || disk.metrics().queued() == 0);
    }
}
