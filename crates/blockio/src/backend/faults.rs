//! A backend with injected faults, for tests of all layers above.
//!
//! A sync struck with [`Strike::Eio`] drops the writes to the file since its last successful sync,
//! like a kernel that cannot write its dirty pages back. The next sync of the file succeeds unless
//! it is struck, too: the bytes are lost all the same.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{Backend, SystemBackend};

/// Calls that a fault can strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Opening.
    Open,
    /// Writing.
    Write,
    /// Reading.
    Read,
    /// Syncing a file or a directory.
    Sync,
    /// Punching a hole.
    Punch,
    /// Removing or truncating a file, or listing those to be removed.
    Remove,
}

/// The effect on a call.
#[derive(Debug, Clone)]
pub enum Strike {
    /// It fails with EIO and does nothing; a sync drops the data to be made durable.
    Eio,
    /// A sync drops the data to be made durable, and its caller receives the error later.
    LateEio(Duration),
    /// It fails with ENOSPC and does nothing.
    NoSpace,
    /// A write does only its first bytes, then fails with EIO.
    Torn(usize),
    /// One bit of the data is flipped, at this byte (counted in the call).
    FlipBit(usize),
    /// It is delayed; a read is not served from the page cache.
    Delay(Duration),
    /// As `Delay`, until the function of the test has returned.
    Hold(Hold),
}

/// A function of a test that returns when the call should continue.
#[derive(Clone)]
pub struct Hold(Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hold")
    }
}

impl Strike {
    /// The call continues when `wait` has returned.
    pub fn hold(wait: impl Fn() + Send + Sync + 'static) -> Self {
        Self::Hold(Hold(Arc::new(wait)))
    }
}

/// A fault for matching calls.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The call.
    pub op: Op,
    /// Only paths that contain this.
    pub path: String,
    /// Number of matching calls that pass first.
    pub skip: usize,
    /// Number of calls that are struck after that.
    pub times: usize,
    /// The effect on them.
    pub strike: Strike,
}

/// The faults of a [`FaultyBackend`]; clones share them.
#[derive(Clone, Default)]
pub struct Faults {
    list: Arc<Mutex<Vec<Fault>>>,
}

impl Faults {
    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.list.lock().push(fault);
    }

    /// Strikes every later `op` on paths that contain `path`.
    pub fn always(&self, op: Op, path: &str, strike: Strike) {
        self.add(Fault { op, path: path.into(), skip: 0, times: usize::MAX, strike });
    }

    /// Strikes the next `op` on paths that contain `path`.
    pub fn once(&self, op: Op, path: &str, strike: Strike) {
        self.add(Fault { op, path: path.into(), skip: 0, times: 1, strike });
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.list.lock().clear();
    }

    fn strike(&self, op: Op, path: &Path) -> Option<Strike> {
        let text = path.to_string_lossy();
        let mut list = self.list.lock();
        for fault in list.iter_mut().filter(|f| f.op == op && text.contains(&f.path)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 {
                fault.times -= 1;
                return Some(fault.strike.clone());
            }
        }
        None
    }

    /// Returns `true` if reads of `path` are delayed now. Such a read finds nothing in the page
    /// cache.
    fn delays_reads(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        let list = self.list.lock();
        list.iter().any(|fault| {
            let strikes = fault.op == Op::Read && fault.times > 0 && text.contains(&fault.path);
            strikes && matches!(fault.strike, Strike::Delay(_) | Strike::Hold(_))
        })
    }

    /// Applies effects common to all calls; returns those that need the call's bytes.
    fn before(&self, op: Op, path: &Path) -> io::Result<Option<Strike>> {
        match self.strike(op, path) {
            None => Ok(None),
            Some(Strike::Eio) => Err(io::Error::from(rustix::io::Errno::IO)),
            Some(Strike::NoSpace) => Err(io::Error::from(rustix::io::Errno::NOSPC)),
            Some(Strike::Delay(time)) => {
                std::thread::sleep(time);
                Ok(None)
            }
            Some(Strike::Hold(Hold(wait))) => {
                wait();
                Ok(None)
            }
            Some(other) => Ok(Some(other)),
        }
    }
}

/// The bytes that a write replaced.
struct Before {
    at: u64,
    bytes: Vec<u8>,
    len: u64,
}

/// Writes since the last successful sync, per file, in order.
type Unsynced = Arc<Mutex<FxHashMap<PathBuf, Vec<Before>>>>;

/// The real backend with [`Faults`].
#[derive(Clone, Default)]
pub struct FaultyBackend {
    /// The faults, which can be changed while the disk runs.
    pub faults: Faults,
    inner: SystemBackend,
    unsynced: Unsynced,
}

impl FaultyBackend {
    /// Saves the bytes that a write of `len` bytes is about to replace.
    fn remember(&self, path: &Path, at: u64, len: usize) -> io::Result<()> {
        let (file, _) = self.inner.open(path, true, false)?;
        let file_len = file.metadata()?.len();
        let there = file_len.saturating_sub(at).min(len as u64);
        let mut bytes = vec![0; usize::try_from(there).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, at)?;
        let before = Before { at, bytes, len: file_len };
        self.unsynced.lock().entry(path.to_owned()).or_default().push(before);
        Ok(())
    }

    /// Reverts the writes since the last successful sync.
    fn drop_unsynced(&self, path: &Path) -> io::Result<()> {
        let Some(writes) = self.unsynced.lock().remove(path) else { return Ok(()) };
        let (file, _) = self.inner.open(path, false, false)?;
        for before in writes.iter().rev() {
            file.write_all_at(&before.bytes, before.at)?;
            file.set_len(before.len)?;
        }
        Ok(())
    }
}

impl Backend for FaultyBackend {
    fn open(&self, path: &Path, create: bool, direct: bool) -> io::Result<(File, bool)> {
        self.faults.before(Op::Open, path)?;
        self.inner.open(path, create, direct)
    }

    fn write(
        &self,
        file: &File,
        path: &Path,
        parts: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<usize> {
        let struck = self.faults.before(Op::Write, path)?;
        self.remember(path, offset, parts.iter().map(|part| part.len()).sum())?;
        match struck {
            Some(Strike::Torn(len)) => {
                let all: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
                // Through a buffered handle: a torn write does not end on a page.
                let (plain, _) = self.inner.open(path, true, false)?;
                let part = all.get(..len).unwrap_or(&all);
                self.inner.write(&plain, path, &[IoSlice::new(part)], offset)?;
                Err(io::Error::from(rustix::io::Errno::IO))
            }
            Some(Strike::FlipBit(at)) => {
                let mut all: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
                if let Some(byte) = all.get_mut(at) {
                    *byte ^= 1;
                }
                let (plain, _) = self.inner.open(path, true, false)?;
                self.inner.write(&plain, path, &[IoSlice::new(&all)], offset)
            }
            _ => self.inner.write(file, path, parts, offset),
        }
    }

    fn read(
        &self,
        file: &File,
        path: &Path,
        buffer: &mut [u8],
        offset: u64,
        cached_only: bool,
    ) -> io::Result<usize> {
        if cached_only && self.faults.delays_reads(path) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let strike = self.faults.before(Op::Read, path)?;
        let len = self.inner.read(file, path, buffer, offset, cached_only)?;
        if let Some(Strike::FlipBit(at)) = strike
            && let Some(byte) = buffer.get_mut(at)
        {
            *byte ^= 1;
        }
        Ok(len)
    }

    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        match self.faults.before(Op::Sync, path) {
            Ok(Some(Strike::LateEio(late))) => {
                self.drop_unsynced(path)?;
                std::thread::sleep(late);
                return Err(io::Error::from(rustix::io::Errno::IO));
            }
            Ok(_) => {}
            Err(error) => {
                self.drop_unsynced(path)?;
                return Err(error);
            }
        }
        // Writes during the sync are reverted, too.
        let synced = self.unsynced.lock().remove(path);
        let outcome = self.inner.sync(file, path);
        if let (Err(_), Some(mut synced)) = (&outcome, synced) {
            let mut unsynced = self.unsynced.lock();
            let later = unsynced.remove(path).unwrap_or_default();
            synced.extend(later);
            unsynced.insert(path.to_owned(), synced);
        }
        outcome
    }

    fn start_writeback(&self, file: &File, path: &Path, range: Range<u64>) {
        self.inner.start_writeback(file, path, range);
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.before(Op::Sync, path)?;
        self.inner.sync_directory(path)
    }

    fn sync_covers_names(&self, path: &Path) -> bool {
        self.inner.sync_covers_names(path)
    }

    fn punch(&self, file: &File, path: &Path, range: Range<u64>) -> io::Result<()> {
        self.faults.before(Op::Punch, path)?;
        self.inner.punch(file, path, range)
    }

    fn truncate(&self, file: &File, path: &Path, len: u64) -> io::Result<()> {
        self.faults.before(Op::Remove, path)?;
        self.inner.truncate(file, path, len)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.faults.before(Op::Remove, path)?;
        self.unsynced.lock().remove(path);
        self.inner.unlink(path)
    }

    fn list(&self, directory: &Path, most: usize) -> io::Result<Option<HashSet<OsString>>> {
        self.faults.before(Op::Remove, directory)?;
        self.inner.list(directory, most)
    }
}
