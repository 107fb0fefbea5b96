//! Reads that fail with EIO.
//!
//! A test binary that uses [`fail_read`] has `pread` of this module instead of the C library's: the
//! Raft log's engine reads its files with it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_int, c_void, off64_t, size_t, ssize_t};

struct Fault {
    number: usize,
    path: String,
    /// Reads that still go well.
    before: usize,
    struck: bool,
}

static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A read that fails, unless it is dropped before.
#[derive(Debug)]
pub struct FailingRead {
    number: usize,
}

/// Of the next reads of files whose path contains `path` the first `before` go well; the one after
/// them fails with EIO.
#[must_use = "reads fail only as long as it lives"]
pub fn fail_read(path: &str, before: usize) -> FailingRead {
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    faults().push(Fault { number, path: path.to_owned(), before, struck: false });
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    FailingRead { number }
}

impl FailingRead {
    /// Whether a read has failed.
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
    // SAFETY: what the C library's function of that name does.
    unsafe { libc::syscall(libc::SYS_pread64, fd, data, len, at) as ssize_t }
}

/// See `pread(2)`.
///
/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(fd: c_int, data: *mut c_void, len: size_t, at: off64_t) -> ssize_t {
    // SAFETY: passed on as it came.
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
}
