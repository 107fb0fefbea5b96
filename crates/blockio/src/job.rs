//! One operation, as executed by a worker.

use std::io::{self, IoSlice};
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use bytes::Bytes;

use crate::backend::Backend;
use crate::buffers::{BufferPool, PAGE};
use crate::files::{FileCache, OpenFile};
use crate::health::Health;
use crate::metrics::Metrics;
use crate::worker_counts::WorkerCounts;
use crate::writers::Writers;
use crate::{DiskOptions, IoError, IoErrorKind, OpKind};

/// Maximum number of parts of one vectored write; the kernel's limit.
const MAX_PARTS: usize = 1024;

/// Size from which on the file's length is checked before a read.
const MEASURED: usize = 1 << 20;

/// Piece size of a timely read: a device that completes a piece makes progress.
const NOTED: usize = 1 << 20;

/// The path of a write to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Whole pages of long writes by direct I/O.
    Auto,
    /// Through the page cache, to be read again soon; the caller syncs before much is dirty.
    Cached,
}

/// State shared by workers and handles.
pub(crate) struct Shared {
    pub(crate) options: DiskOptions,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) files: FileCache,
    pub(crate) pool: BufferPool,
    pub(crate) metrics: Metrics,
    pub(crate) writers: Writers,
    pub(crate) health: Health,
    pub(crate) workers: WorkerCounts,
    /// Time of the last timely operation that completed in time, in nanoseconds of the clock.
    pub(crate) last_in_time: AtomicU64,
    /// A file's own sync makes its name durable, too.
    pub(crate) names_covered: bool,
}

/// A worker's task.
pub(crate) type Job = Box<dyn FnOnce(&Shared) + Send>;

impl Shared {
    /// Nanoseconds of the clock in the options.
    pub(crate) fn now(&self) -> u64 {
        self.options.clock.now()
    }

    /// Records that a timely operation completed in time.
    pub(crate) fn note_in_time(&self) {
        self.last_in_time.fetch_max(self.now(), Ordering::Relaxed);
    }

    /// The time of the last such operation.
    pub(crate) fn last_in_time(&self) -> u64 {
        self.last_in_time.load(Ordering::Relaxed)
    }

    /// Runs an operation and updates its metrics.
    pub(crate) fn timed<T>(
        &self,
        kind: OpKind,
        bytes: usize,
        work: impl FnOnce() -> Result<T, IoError>,
    ) -> Result<T, IoError> {
        let start = Instant::now();
        let outcome = work();
        self.metrics.count(kind, start.elapsed(), bytes, outcome.is_ok());
        outcome
    }

    /// Opens a file; a missing parent directory is `NotFound` like the file.
    fn open(
        &self,
        op: &'static str,
        path: &Arc<Path>,
        create: bool,
    ) -> Result<Arc<OpenFile>, IoError> {
        let opened = self.files.open(&*self.backend, path, create);
        let (file, fallen) = opened.map_err(|e| self.health.note(IoError::of(op, path, &e)))?;
        // Closing a handle without a sync would lose errors of its write-back.
        if let Some(old) = fallen.filter(|old| old.needs_sync()) {
            // A failure fails the disk, and with it every later sync of that file.
            let _ = self.sync_open(&old);
        }
        Ok(file)
    }

    pub(crate) fn write(
        &self,
        path: &Arc<Path>,
        offset: u64,
        parts: &[Bytes],
        mode: WriteMode,
    ) -> Result<(), IoError> {
        self.health.check("write", path)?;
        let file = self.open("write", path, true)?;
        file.note_write();
        let mut at = offset;
        let written = match parts {
            [part] => self.write_part(&file, at, part, mode),
            parts => parts.chunks(MAX_PARTS).try_for_each(|some| {
                let len: u64 = some.iter().map(|part| part.len() as u64).sum();
                self.write_gathered(&file, at, some)?;
                at += len;
                Ok(())
            }),
        }
        .map_err(|e| self.health.lost(IoError::of("write", path, &e)));
        // Again: a sync that began in the meantime need not cover it.
        file.note_write();
        if !self.files.holds(&file) {
            // It was evicted in the meantime: a later sync uses another handle.
            self.sync_open(&file)?;
        }
        written
    }

    /// Writes one buffer: whole pages by direct I/O, the rest through the cache.
    fn write_part(
        &self,
        file: &OpenFile,
        offset: u64,
        data: &[u8],
        mode: WriteMode,
    ) -> io::Result<()> {
        let whole = data.len() / PAGE * PAGE;
        let direct = mode == WriteMode::Auto
            && offset.is_multiple_of(PAGE as u64)
            && whole >= self.options.direct_min.max(PAGE);
        if !direct || file.direct(&*self.backend).is_none() {
            return self.write_all(&file.cached, file, offset, data);
        }
        let (body, tail) = data.split_at(whole);
        self.write_direct(file, offset, body)?;
        self.metrics.wrote_direct(whole);
        if tail.is_empty() {
            return Ok(());
        }
        self.write_all(&file.cached, file, offset + whole as u64, tail)
    }

    /// `offset` and the length of `body` are multiples of a page.
    fn write_direct(&self, file: &OpenFile, offset: u64, body: &[u8]) -> io::Result<()> {
        let Some(handle) = file.direct(&*self.backend) else {
            return self.write_all(&file.cached, file, offset, body);
        };
        if (body.as_ptr() as usize).is_multiple_of(PAGE) {
            return self.write_pages(handle, file, offset, body);
        }
        // Unaligned memory is copied, in pieces for which the pool has buffers.
        let mut at = offset;
        for piece in body.chunks(4 << 20) {
            let mut buffer = self.pool.acquire(piece.len());
            buffer.copy_from_slice(piece);
            self.write_pages(handle, file, at, &buffer)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Writes whole pages from aligned memory; if the kernel stops inside a page, the rest goes
    /// through the cache.
    fn write_pages(
        &self,
        handle: &std::fs::File,
        file: &OpenFile,
        offset: u64,
        body: &[u8],
    ) -> io::Result<()> {
        let mut done = 0;
        while done < body.len() {
            let rest = &body[done..];
            let at = offset + done as u64;
            if done % PAGE != 0 {
                return self.write_all(&file.cached, file, at, rest);
            }
            match self.backend.write(handle, &file.path, &[IoSlice::new(rest)], at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The file system opens files for direct I/O but does not support it here.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                    return self.write_all(&file.cached, file, at, rest);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn write_all(
        &self,
        handle: &std::fs::File,
        file: &OpenFile,
        offset: u64,
        data: &[u8],
    ) -> io::Result<()> {
        let mut done = 0;
        while done < data.len() {
            let rest = IoSlice::new(&data[done..]);
            match self.backend.write(handle, &file.path, &[rest], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn write_gathered(&self, file: &OpenFile, offset: u64, parts: &[Bytes]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = &mut slices[..];
        let mut at = offset;
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match self.backend.write(&file.cached, &file.path, rest, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    at += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads exactly `len` bytes.
    pub(crate) fn read(&self, path: &Arc<Path>, offset: u64, len: usize) -> Result<Bytes, IoError> {
        self.read_pieces(path, offset, len, usize::MAX, &|| {})
    }

    /// As [`read`](Self::read); calls `note` for each piece that has arrived.
    pub(crate) fn read_noting(
        &self,
        path: &Arc<Path>,
        offset: u64,
        len: usize,
        note: &dyn Fn(),
    ) -> Result<Bytes, IoError> {
        self.read_pieces(path, offset, len, NOTED, note)
    }

    fn read_pieces(
        &self,
        path: &Arc<Path>,
        offset: u64,
        len: usize,
        piece: usize,
        note: &dyn Fn(),
    ) -> Result<Bytes, IoError> {
        let file = self.open("read", path, false)?;
        if len > MEASURED {
            // Avoids allocating memory for bytes that do not exist.
            let there = file.cached.metadata().map_err(|e| IoError::of("read", path, &e))?.len();
            let end = offset + len as u64;
            if there < end {
                let reason = format!("file has {there} bytes, {end} are requested");
                return Err(IoError::new("read", path, IoErrorKind::Short, reason));
            }
        }
        let mut buffer = self.pool.acquire(len);
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let end = len.min(done.saturating_add(piece));
            match self.backend.read(&file.cached, path, &mut buffer[done..end], at, false) {
                Ok(0) => {
                    let reason =
                        format!("file ends {} bytes before {}", len - done, offset + len as u64);
                    return Err(IoError::new("read", path, IoErrorKind::Short, reason));
                }
                Ok(n) => {
                    done += n;
                    note();
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.health.note(IoError::of("read", path, &e))),
            }
        }
        Ok(Bytes::from_owner(buffer))
    }

    /// Reads exactly `len` bytes and drops their pages.
    pub(crate) fn read_once(
        &self,
        path: &Arc<Path>,
        offset: u64,
        len: usize,
    ) -> Result<Bytes, IoError> {
        let bytes = self.read(path, offset, len)?;
        if let (Some(file), Some(len)) = (self.files.peek(path), NonZeroU64::new(len as u64)) {
            // Advice only: dirty pages, or those that the file system keeps, stay.
            let _ =
                rustix::fs::fadvise(&file.cached, offset, Some(len), rustix::fs::Advice::DontNeed);
        }
        Ok(bytes)
    }

    /// Reads exactly `len` bytes if the file is open and all of them are in the page cache.
    pub(crate) fn read_cached(&self, path: &Path, offset: u64, len: usize) -> Option<Bytes> {
        let file = self.files.peek(path)?;
        // Small reads are cheaper from the allocator than from a shared pool.
        if len < PAGE * 4 {
            let mut buffer = vec![0; len];
            let got = self.backend.read(&file.cached, path, &mut buffer, offset, true).ok()?;
            return (got == len).then(|| Bytes::from(buffer));
        }
        let mut buffer = self.pool.acquire(len);
        let got = self.backend.read(&file.cached, path, &mut buffer, offset, true).ok()?;
        (got == len).then(|| Bytes::from_owner(buffer))
    }

    pub(crate) fn sync(&self, path: &Arc<Path>) -> Result<(), IoError> {
        self.health.check("sync", path)?;
        let file = self.open("sync", path, false)?;
        self.sync_open(&file)
    }

    /// Syncs an open file and, if it is new, its name.
    fn sync_open(&self, file: &OpenFile) -> Result<(), IoError> {
        // The kernel reports a lost write to one of two syncs, and success to the other one. The
        // lock makes the second begin after the first one's failure is recorded.
        let _one = file.syncing.lock();
        file.note_sync();
        self.sync_file(&file.cached, &file.path)?;
        if file.name_is_new() {
            if let (false, Some(parent)) = (self.names_covered, file.path.parent()) {
                self.sync_directory(parent)?;
            }
            file.name_is_durable();
        }
        Ok(())
    }

    /// Syncs a file. One failure fails the disk; a failed disk reports no success, not even for an
    /// unaffected file.
    pub(crate) fn sync_file(&self, file: &std::fs::File, path: &Path) -> Result<(), IoError> {
        self.health.check("sync", path)?;
        let synced = self.backend.sync(file, path);
        synced.map_err(|e| self.health.fail(IoError::of("sync", path, &e)))?;
        self.health.check("sync", path)
    }

    /// Syncs a directory; as [`sync_file`](Self::sync_file).
    pub(crate) fn sync_directory(&self, path: &Path) -> Result<(), IoError> {
        self.health.check("sync directory", path)?;
        self.backend.sync_directory(path).map_err(|e| {
            let error = IoError::of("sync directory", path, &e);
            match error.kind {
                // It could not even be opened.
                IoErrorKind::NotFound => error,
                _ => self.health.fail(error),
            }
        })?;
        self.health.check("sync directory", path)
    }

    /// Frees the space of ranges, yielding to other threads as in [`unlink`](Self::unlink).
    pub(crate) fn punch(&self, path: &Arc<Path>, ranges: &[Range<u64>]) -> Result<(), IoError> {
        self.health.check("punch", path)?;
        let file = self.open("punch", path, false)?;
        ranges.iter().filter(|range| range.start < range.end).try_for_each(|range| {
            thread::yield_now();
            self.backend
                .punch(&file.cached, path, range.clone())
                .map_err(|e| self.health.note(IoError::of("punch", path, &e)))
        })
    }

    pub(crate) fn truncate(&self, path: &Arc<Path>, len: u64) -> Result<(), IoError> {
        self.health.check("truncate", path)?;
        let file = self.open("truncate", path, false)?;
        file.note_write();
        self.backend
            .truncate(&file.cached, path, len)
            .map_err(|e| self.health.note(IoError::of("truncate", path, &e)))
    }

    pub(crate) fn length(&self, path: &Arc<Path>) -> Result<u64, IoError> {
        let file = self.open("stat", path, false)?;
        file.cached.metadata().map(|m| m.len()).map_err(|e| IoError::of("stat", path, &e))
    }
}
