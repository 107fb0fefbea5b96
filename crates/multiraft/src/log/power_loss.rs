//! Simulated power losses for tests: the contents of a log's files afterwards.
//!
//! The disk has everything that a file's last fdatasync covered. Later writes may be there or not,
//! sector by sector, in any order.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

const SECTOR: usize = 512;

/// Watched directories and, for each file below them, its content as of its last fdatasync.
static WATCHED: Mutex<Vec<(PathBuf, HashMap<PathBuf, Vec<u8>>)>> = Mutex::new(Vec::new());

/// Replaces the C library's `fdatasync` in this test binary.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: libc::c_int) -> libc::c_int {
    // SAFETY: the argument is passed on unchanged.
    let done = unsafe { libc::syscall(libc::SYS_fdatasync, fd) } as libc::c_int;
    if done == 0 {
        let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
        for (dir, files) in WATCHED.lock().iter_mut() {
            if path.starts_with(dir) {
                files.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    done
}

/// Starts to record the synced content of the files below `dir`.
pub(crate) fn watch(dir: &Path) {
    WATCHED.lock().push((dir.to_owned(), HashMap::new()));
}

/// The synced content of a file below a watched directory.
pub(crate) fn synced(path: &Path) -> Vec<u8> {
    let watched = WATCHED.lock();
    let known = watched.iter().find_map(|(_, files)| files.get(path));
    known.cloned().unwrap_or_default()
}

/// A file's content after a power loss that lost only the first sector of its unsynced data.
pub(crate) fn without_first_sector(mut now: Vec<u8>, synced: &[u8]) -> Vec<u8> {
    let was = |at: usize| synced.get(at).copied().unwrap_or(0);
    if let Some(first) = (0..now.len()).find(|at| was(*at) != now[*at]) {
        let sector = first / SECTOR * SECTOR;
        for at in sector..(sector + SECTOR).min(now.len()) {
            now[at] = was(at);
        }
    }
    now
}

/// Copies a directory recursively.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn a_file_without_its_first_unsynced_sector_is_what_was_synced_and_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    watch(dir.path());
    let path = dir.path().join("file");
    let mut content = vec![1u8; 1000];
    std::fs::write(&path, &content).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    assert_eq!(fdatasync(file.as_raw_fd()), 0);
    content.resize(2000, 2);
    let after = without_first_sector(content, &synced(&path));
    assert_eq!(after.len(), 2000);
    assert!(after[..1000].iter().all(|b| *b == 1), "it was synced");
    assert!(after[1000..1024].iter().all(|b| *b == 0), "it was lost with its sector");
    assert!(after[1024..].iter().all(|b| *b == 2), "the disk had it");
}
