//! Fsyncs that fail with EIO, are delayed, or wait for a gate.
//!
//! A test binary that uses [`fail_syncs`], [`delay_syncs`] or [`hold_syncs`] has this module's
//! `fsync` and `fdatasync` instead of the C library's, so that faults also reach code without fault
//! injection: RocksDB, the Raft log, the standard library.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libc::{c_int, c_long};

use crate::Gate;

#[derive(Clone)]
enum Action {
    Fail,
    Wait(Arc<dyn Fn() + Send + Sync>),
}

struct Fault {
    number: usize,
    path: String,
    action: Action,
    left: usize,
    struck: usize,
}

impl Fault {
    fn is_for(&self, path: &str) -> bool {
        let mut rest = path;
        self.path.split('*').all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Fsyncs that fail, are delayed or wait, until this is dropped.
#[derive(Debug)]
pub struct FailingSyncs {
    number: usize,
}

/// Makes the next `times` fsyncs of files and directories whose path contains `path` fail with EIO.
///
/// A `*` in `path` matches any characters: `directory*.sst` requires both parts, in that order.
/// Tests of one process share its fsyncs: include the test's directory.
#[must_use = "syncs fail only while it lives"]
pub fn fail_syncs(path: &str, times: usize) -> FailingSyncs {
    begin(path, times, Action::Fail)
}

/// Delays every fsync of files and directories whose path contains `path`, as in [`fail_syncs`], by
/// `delay`.
#[must_use = "syncs are delayed only while it lives"]
pub fn delay_syncs(path: &str, delay: Duration) -> FailingSyncs {
    begin(path, usize::MAX, Action::Wait(Arc::new(move || std::thread::sleep(delay))))
}

/// Makes every fsync of files and directories whose path contains `path`, as in [`fail_syncs`],
/// wait at `gate` first.
#[must_use = "syncs wait only while it lives"]
pub fn hold_syncs(path: &str, gate: &Gate) -> FailingSyncs {
    begin(path, usize::MAX, Action::Wait(Arc::new(gate.blocking())))
}

fn begin(path: &str, times: usize, action: Action) -> FailingSyncs {
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    let fault = Fault { number, path: path.to_owned(), action, left: times, struck: 0 };
    faults().push(fault);
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    FailingSyncs { number }
}

impl FailingSyncs {
    /// Number of fsyncs struck so far.
    pub fn struck(&self) -> usize {
        faults().iter().find(|fault| fault.number == self.number).map_or(0, |fault| fault.struck)
    }
}

impl Drop for FailingSyncs {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
        faults().retain(|fault| fault.number != self.number);
    }
}

fn faults() -> std::sync::MutexGuard<'static, Vec<Fault>> {
    FAULTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn strikes(fd: c_int) -> Option<Action> {
    if ACTIVE.load(Ordering::SeqCst) == 0 {
        return None;
    }
    let path = std::fs::read_link(PathBuf::from(format!("/proc/self/fd/{fd}"))).ok()?;
    let path = path.to_string_lossy();
    let mut faults = faults();
    let fault = faults.iter_mut().find(|fault| fault.left > 0 && fault.is_for(&path))?;
    fault.left -= 1;
    fault.struck += 1;
    Some(fault.action.clone())
}

fn sync(fd: c_int, call: c_long) -> c_int {
    match strikes(fd) {
        None => {}
        Some(Action::Wait(wait)) => wait(),
        Some(Action::Fail) => {
            // SAFETY: the calling thread's own errno.
            unsafe { *libc::__errno_location() = libc::EIO };
            return -1;
        }
    }
    // SAFETY: the same as the C library's function of that name.
    unsafe { libc::syscall(call, fd) as c_int }
}

/// See `fsync(2)`.
#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fsync)
}

/// See `fdatasync(2)`.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(fd, libc::SYS_fdatasync)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn syncs_of_one_path_fail_as_often_as_told() {
        let dir = std::env::temp_dir().join(format!("testkit-syncs-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let (struck, other) = (dir.join("struck"), dir.join("other"));
        let open = |path| File::create(path).expect("a file");
        let (struck, other) = (open(struck), open(other));
        let failing = fail_syncs("struck", 2);
        assert!(other.sync_all().is_ok());
        let error = struck.sync_all().expect_err("the first one fails");
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        assert!(struck.sync_data().is_err());
        assert!(struck.sync_data().is_ok());
        assert_eq!(failing.struck(), 2);
        drop(failing);
        let both = [format!("{}*other", dir.display()), format!("other*{}", dir.display())];
        let [in_order, reversed] = both.map(|path| fail_syncs(&path, 1));
        assert!(other.sync_all().is_err());
        assert!(other.sync_all().is_ok());
        assert_eq!((in_order.struck(), reversed.struck()), (1, 0));
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn syncs_of_one_path_wait_at_a_gate() {
        let dir = std::env::temp_dir().join(format!("testkit-held-syncs-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let file = File::create(dir.join("held")).expect("a file");
        let gate = Gate::closed();
        let held = hold_syncs(&dir.display().to_string(), &gate);
        let sync = std::thread::spawn(move || file.sync_all());
        crate::until_blocking("the sync", || gate.waiting() == 1);
        assert!(!sync.is_finished());
        gate.open();
        sync.join().expect("no panic").expect("synced");
        assert_eq!(held.struck(), 1);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
