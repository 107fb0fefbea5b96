//! One directory of a cache.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use blockio::{Backend, Disk, DiskOptions, IoError, IoErrorKind, WriteMode};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::chunk_id::{BlockKey, ChunkId};
use crate::error::CacheError;
use crate::figures::{Counters, DirectoryFigures, count};
use crate::index::{Bounds, Index, Origin};
use crate::options::CacheOptions;

/// Number of folders over which files are spread.
const FOLDERS: u64 = 256;

/// Divisor of the capacity for chunks that were written and not read yet.
const WRITTEN_PART: u64 = 4;

/// Consecutive late reads after which a disk counts as hanging.
const MOST_LATE: u32 = 8;

/// Chunks to evict if the file system is full although the capacity is not reached.
const MADE_ROOM: usize = 4;

/// Locked while the directory is in use.
const LOCK: &str = "LOCK";

/// A file system's own directory.
const OF_THE_FILE_SYSTEM: &str = "lost+found";

/// A change of the files. All are made by one task, in order.
enum Job {
    /// Inserts a chunk.
    Put(ChunkId, Bytes, Origin),
    /// Removes a chunk.
    Unlink(ChunkId),
    /// Reports a chunk found when the directory was opened.
    Found(ChunkId),
}

/// One directory.
pub(crate) struct Directory {
    path: PathBuf,
    disk: Disk,
    index: Mutex<Index>,
    counters: Arc<Counters>,
    jobs: UnboundedSender<Job>,
    /// Bytes queued for writing.
    waiting: AtomicUsize,
    most_waiting: usize,
    /// Number of pending jobs. The initial search for files counts as one.
    pending: AtomicUsize,
    late: AtomicU32,
    failure: OnceLock<String>,
    _lock: File,
}

impl Directory {
    /// Opens a directory, creating it if necessary. Its contents are scanned in the background.
    /// Only within a tokio runtime. Blocks.
    pub(crate) fn open(
        path: &Path,
        options: &CacheOptions,
        backend: Box<dyn Backend>,
        counters: Arc<Counters>,
    ) -> Result<Arc<Self>, CacheError> {
        let failed = |source| CacheError::Directory { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(failed)?;
        if let Some(file) = foreign(path).map_err(failed)? {
            return Err(CacheError::Foreign { path: path.to_owned(), file });
        }
        let lock = lock(path).map_err(failed)?;
        for folder in 0..FOLDERS {
            fs::create_dir_all(path.join(folder_name(folder))).map_err(failed)?;
        }
        let disk_options = DiskOptions {
            name: "chunk-cache".to_owned(),
            read_limit: Some(options.read_limit),
            ..DiskOptions::default()
        };
        let (jobs, queue) = unbounded_channel();
        let bounds = Bounds { all: options.capacity, written: options.capacity / WRITTEN_PART };
        let directory = Arc::new(Self {
            path: path.to_owned(),
            disk: Disk::start_on(path, disk_options, backend)?,
            index: Mutex::new(Index::new(bounds)),
            counters,
            jobs,
            waiting: AtomicUsize::new(0),
            most_waiting: options.queue_bytes,
            pending: AtomicUsize::new(1),
            late: AtomicU32::new(0),
            failure: OnceLock::new(),
            _lock: lock,
        });
        tokio::spawn(work(Arc::downgrade(&directory), queue));
        let (path, finder) = (path.to_owned(), Arc::downgrade(&directory));
        tokio::task::spawn_blocking(move || find(&path, &finder));
        Ok(directory)
    }

    /// Returns `true` if the directory is in use.
    pub(crate) fn is_well(&self) -> bool {
        self.failure.get().is_none()
    }

    /// Reads bytes of a chunk, if it is cached and the disk responds in time. Marks it as used.
    pub(crate) async fn load(&self, id: &ChunkId, offset: u64, len: usize) -> Option<Bytes> {
        if !self.index.lock().get(id) {
            return None;
        }
        match self.disk.read_timely(self.file(id), offset, len).await {
            Ok(data) => {
                self.late.store(0, Ordering::Relaxed);
                Some(data)
            }
            Err(error) => {
                count(&self.counters.load_failures);
                self.note(id, &error);
                None
            }
        }
    }

    /// Handles a failed read.
    fn note(&self, id: &ChunkId, error: &IoError) {
        match error.kind {
            // The file was removed or truncated externally.
            IoErrorKind::NotFound | IoErrorKind::Short => self.wrong(*id),
            IoErrorKind::Late => {
                if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_LATE {
                    self.fail(error);
                }
            }
            _ => self.fail(error),
        }
    }

    /// Inserts a chunk, if the queue is not full.
    pub(crate) fn put(&self, id: ChunkId, data: Bytes, origin: Origin) {
        let len = data.len();
        if self.waiting.fetch_add(len, Ordering::Relaxed).saturating_add(len) > self.most_waiting {
            self.waiting.fetch_sub(len, Ordering::Relaxed);
            return count(&self.counters.left_out);
        }
        self.send(Job::Put(id, data, origin));
    }

    /// Removes the chunk of a block.
    pub(crate) fn remove(&self, block: BlockKey) {
        let gone = self.index.lock().remove(&block);
        gone.into_iter().for_each(|id| self.send(Job::Unlink(id)));
    }

    /// Removes a chunk with wrong data.
    pub(crate) fn wrong(&self, id: ChunkId) {
        let mut index = self.index.lock();
        if index.peek(&id.block) == Some(id) {
            index.remove(&id.block);
            self.send(Job::Unlink(id));
        }
    }

    fn send(&self, job: Job) {
        self.pending.fetch_add(1, Ordering::Relaxed);
        // The task ends with this directory.
        let _ = self.jobs.send(job);
    }

    /// Number of pending jobs.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Ordering::Acquire)
    }

    /// Stops using the directory.
    fn fail(&self, error: &IoError) {
        if self.failure.set(error.to_string()).is_ok() {
            tracing::error!(path = %self.path.display(), %error, "cache directory failed and is no longer used");
            self.index.lock().clear();
        }
    }

    /// Number of chunks, and their bytes.
    pub(crate) fn holds(&self) -> (u64, u64) {
        let index = self.index.lock();
        (index.len() as u64, index.bytes())
    }

    pub(crate) fn figures(&self) -> DirectoryFigures {
        let (chunks, bytes) = self.holds();
        let failure = self.failure.get().cloned();
        DirectoryFigures { path: self.path.clone(), failure, chunks, bytes }
    }

    fn file(&self, id: &ChunkId) -> Arc<Path> {
        let folder = folder_name(id.block.local % FOLDERS);
        Arc::from(self.path.join(folder).join(id.file_name()))
    }

    async fn carry_out(&self, job: Job) {
        match job {
            Job::Put(id, data, origin) => {
                let len = data.len();
                self.store(id, data, origin).await;
                self.waiting.fetch_sub(len, Ordering::Relaxed);
            }
            Job::Unlink(id) => {
                // Unless it was inserted again in the meantime.
                if self.index.lock().peek(&id.block) != Some(id) {
                    self.unlink([id]).await;
                }
            }
            Job::Found(id) => self.found(id).await,
        }
    }

    /// Handles a found file, which may have changed in the meantime.
    async fn found(&self, id: ChunkId) {
        if self.index.lock().peek(&id.block) == Some(id) {
            return;
        }
        let length = self.disk.length(self.file(&id)).await;
        let is_whole = length.is_ok_and(|len| len == u64::from(id.len));
        let gone = {
            let mut index = self.index.lock();
            match index.peek(&id.block) {
                None if is_whole => index.insert(id, Origin::Read),
                // Truncated, or replaced in the meantime.
                _ => vec![id],
            }
        };
        self.unlink(gone).await;
    }

    async fn store(&self, id: ChunkId, data: Bytes, origin: Origin) {
        let there = self.index.lock().peek(&id.block);
        if there == Some(id) || !self.is_well() {
            return;
        }
        let file = self.file(&id);
        let written = self.disk.write(Arc::clone(&file), 0, data, WriteMode::Auto).await;
        // Not synced: after a power loss its data may be wrong, which reads detect.
        self.disk.forget(&file);
        match written {
            Ok(()) => {}
            Err(error) if error.kind == IoErrorKind::NoSpace => {
                count(&self.counters.left_out);
                let oldest = self.index.lock().pop_oldest(MADE_ROOM);
                self.evict(oldest).await;
                return self.unlink([id]).await;
            }
            Err(error) => return self.fail(&error),
        }
        let came = match origin {
            Origin::Read => &self.counters.from_reads,
            Origin::Written => &self.counters.from_writes,
        };
        count(came);
        let mut gone = self.index.lock().insert(id, origin);
        let replaced: Vec<ChunkId> = gone.extract_if(.., |gone| gone.block == id.block).collect();
        self.unlink(replaced).await;
        self.evict(gone).await;
    }

    async fn evict(&self, chunks: Vec<ChunkId>) {
        self.counters.evictions.fetch_add(chunks.len() as u64, Ordering::Relaxed);
        self.unlink(chunks).await;
    }

    async fn unlink(&self, chunks: impl IntoIterator<Item = ChunkId>) {
        let files: Vec<PathBuf> =
            chunks.into_iter().map(|id| self.file(&id).to_path_buf()).collect();
        if files.is_empty() {
            return;
        }
        if let Err(error) = self.disk.unlink(files).await {
            self.fail(&error);
        }
    }
}

/// Runs jobs until the directory is dropped.
async fn work(directory: Weak<Directory>, mut queue: UnboundedReceiver<Job>) {
    while let Some(job) = queue.recv().await {
        let Some(directory) = directory.upgrade() else { return };
        directory.carry_out(job).await;
        directory.pending.fetch_sub(1, Ordering::Release);
    }
}

fn folder_name(folder: u64) -> String {
    format!("{folder:02x}")
}

fn lock(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(io::Error::other("another process uses it")),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The first name in a directory that does not belong to a cache.
fn foreign(path: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_folder = (0..FOLDERS).any(|folder| folder_name(folder) == name);
        if !is_folder && name != LOCK && name != OF_THE_FILE_SYSTEM {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Finds existing chunks, the oldest first. Changes nothing, because others may be inserted in the
/// meantime. A directory that cannot be listed counts as empty.
fn find(path: &Path, directory: &Weak<Directory>) {
    let mut found: Vec<(SystemTime, ChunkId)> = Vec::new();
    for folder in 0..FOLDERS {
        let folder = path.join(folder_name(folder));
        if let Err(error) = find_in(&folder, &mut found) {
            tracing::warn!(path = %folder.display(), %error, "cannot list chunks in a cache directory");
        }
    }
    found.sort_by_key(|(written, _)| *written);
    tracing::info!(path = %path.display(), chunks = found.len(), "cached chunks found");
    // Fails if the directory was dropped, which makes them useless.
    let Some(directory) = directory.upgrade() else { return };
    for (_, id) in found {
        directory.send(Job::Found(id));
    }
    directory.pending.fetch_sub(1, Ordering::Release);
}

fn find_in(folder: &Path, found: &mut Vec<(SystemTime, ChunkId)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let id = entry.file_name().to_str().and_then(ChunkId::parse);
        // It may have been removed just now.
        if let (Some(id), Ok(metadata)) = (id, entry.metadata()) {
            found.push((metadata.modified()?, id));
        }
    }
    Ok(())
}
