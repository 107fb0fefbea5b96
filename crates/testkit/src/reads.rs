//! Reads that fail with EIO, are delayed, or wait for a gate.
//!
//! A test binary that uses [`fail_read`], [`delay_reads`] or [`hold_reads`] has this module's
//! `pread` and `preadv2` instead of the C library's: the Raft log's engine, RocksDB and the disks'
//! executors read their files with them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libc::{c_int, c_void, off64_t, size_t, ssize_t};

use crate::Gate;

struct Fault {
    number: usize,
    path: String,
    /// Number of reads that still succeed.
    before: usize,
    struck: bool,
}

static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static DELAYS: Mutex<Vec<Delay>> = Mutex::new(Vec::new());
static DELAYED: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

struct Delay {
    number: usize,
    path: String,
    wait: Wait,
    met: usize,
}

type Wait = Arc<dyn Fn() + Send + Sync>;

/// Delayed reads, until this is dropped.
#[derive(Debug)]
pub struct DelayedReads {
    number: usize,
}

/// Delays each read of a file whose path contains `path` by `time`; it finds nothing in the page
/// cache.
#[must_use = "reads are delayed only while it lives"]
pub fn delay_reads(path: &str, time: Duration) -> DelayedReads {
    begin(path, Arc::new(move || std::thread::sleep(time)))
}

/// Makes each read of a file whose path contains `path` wait at `gate` first; it finds nothing in
/// the page cache.
#[must_use = "reads wait only while it lives"]
pub fn hold_reads(path: &str, gate: &Gate) -> DelayedReads {
    begin(path, Arc::new(gate.blocking()))
}

fn begin(path: &str, wait: Wait) -> DelayedReads {
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    delays().push(Delay { number, path: path.to_owned(), wait, met: 0 });
    DELAYED.fetch_add(1, Ordering::SeqCst);
    DelayedReads { number }
}

impl DelayedReads {
    /// Number of reads that waited, or are waiting.
    pub fn met(&self) -> usize {
        delays().iter().find(|delay| delay.number == self.number).map_or(0, |delay| delay.met)
    }
}

impl Drop for DelayedReads {
    fn drop(&mut self) {
        DELAYED.fetch_sub(1, Ordering::SeqCst);
        delays().retain(|delay| delay.number != self.number);
    }
}

fn delays() -> std::sync::MutexGuard<'static, Vec<Delay>> {
    DELAYS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Index of the delay for an open file, and its kind.
fn delay_of(fd: c_int) -> Option<(usize, Wait)> {
    if DELAYED.load(Ordering::SeqCst) == 0 {
        return None;
    }
    let path = std::fs::read_link(PathBuf::from(format!("/proc/self/fd/{fd}"))).ok()?;
    let path = path.to_string_lossy();
    let delays = delays();
    let delay = delays.iter().find(|delay| path.contains(&delay.path))?;
    Some((delay.number, delay.wait.clone()))
}

fn wait(fd: c_int) {
    let Some((number, wait)) = delay_of(fd) else { return };
    delays().iter_mut().filter(|delay| delay.number == number).for_each(|delay| delay.met += 1);
    wait();
}

/// A read that fails, unless this is dropped before.
#[derive(Debug)]
pub struct FailingRead {
    number: usize,
}

/// Makes a read of a file whose path contains `path` fail with EIO, after `before` successful ones.
#[must_use = "reads fail only while it lives"]
pub fn fail_read(path: &str, before: usize) -> FailingRead {
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    faults().push(Fault { number, path: path.to_owned(), before, struck: false });
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    FailingRead { number }
}

impl FailingRead {
    /// Returns `true` once a read has failed.
    pub fn struck(&self) -> bool {
        faults().iter().any(|fault| fault.number == self.number && fault.struck)
    }
}

impl Drop for FailingRead {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
        faults().retain(|fault| fault.number != self.number);
    }
}

fn faults() -> std::sync::MutexGuard<'static, Vec<Fault>> {
    FAULTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn strikes(fd: c_int) -> bool {
    if ACTIVE.load(Ordering::SeqCst) == 0 {
        return false;
    }
    let Ok(path) = std::fs::read_link(PathBuf::from(format!("/proc/self/fd/{fd}"))) else {
        return false;
    };
    let path = path.to_string_lossy();
    let mut faults = faults();
    let hit = faults.iter_mut().find(|fault| !fault.struck && path.contains(&fault.path));
    let Some(fault) = hit else { return false };
    match fault.before.checked_sub(1) {
        Some(left) => fault.before = left,
        None => fault.struck = true,
    }
    fault.struck
}

/// See `pread(2)`.
///
/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t {
    if strikes(fd) {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = libc::EIO };
        return -1;
    }
    wait(fd);
    // SAFETY: the same as the C library's function of that name.
    unsafe { libc::syscall(libc::SYS_pread64, fd, data, len, at) as ssize_t }
}

/// See `preadv2(2)`.
///
/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn preadv2(
    fd: c_int,
    parts: *const libc::iovec,
    count: c_int,
    at: off64_t,
    flags: c_int,
) -> ssize_t {
    if flags & libc::RWF_NOWAIT != 0 && delay_of(fd).is_some() {
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = libc::EAGAIN };
        return -1;
    }
    wait(fd);
    // The kernel takes the offset in two halves; the upper one is for 32-bit machines. SAFETY: the
    // same as the C library's function of that name.
    unsafe { libc::syscall(libc::SYS_preadv2, fd, parts, count, at, 0_i64, flags) as ssize_t }
}

/// See `pread(2)`.
///
/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t {
    // SAFETY: the arguments are passed on unchanged.
    unsafe { pread64(fd, data, len, at) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn one_read_of_one_path_fails_when_told() {
        let dir = std::env::temp_dir().join(format!("testkit-reads-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let open = |name: &str| {
            std::fs::write(dir.join(name), "text").expect("a file");
            File::open(dir.join(name)).expect("the file")
        };
        let (struck, other) = (open("struck-read"), open("other"));
        let mut bytes = [0; 4];
        let failing = fail_read("struck-read", 1);
        assert!(struck.read_exact_at(&mut bytes, 0).is_ok());
        assert!(!failing.struck());
        let error = struck.read_exact_at(&mut bytes, 0).expect_err("the second one fails");
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        assert!(failing.struck());
        assert!(other.read_exact_at(&mut bytes, 0).is_ok());
        assert!(struck.read_exact_at(&mut bytes, 0).is_ok());
        assert_eq!(&bytes, b"text");
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn reads_of_one_path_take_longer_while_told() {
        let dir = std::env::temp_dir().join(format!("testkit-slow-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join("slow-read"), "text").expect("a file");
        let file = File::open(dir.join("slow-read")).expect("the file");
        let mut bytes = [0; 4];
        let delayed = delay_reads("slow-read", Duration::from_millis(20));
        let begun = std::time::Instant::now();
        file.read_exact_at(&mut bytes, 0).expect("four bytes");
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!((&bytes, delayed.met()), (b"text", 1));
        drop(delayed);
        let gate = Gate::closed();
        let held = hold_reads("slow-read", &gate);
        let own = file.try_clone().expect("another handle");
        let read = std::thread::spawn(move || own.read_exact_at(&mut [0; 4], 0));
        crate::until_blocking("the read", || gate.waiting() == 1);
        assert!(!read.is_finished());
        gate.open();
        read.join().expect("no panic").expect("four bytes");
        drop(held);
        assert!(delay_of(std::os::fd::AsRawFd::as_raw_fd(&file)).is_none());
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
