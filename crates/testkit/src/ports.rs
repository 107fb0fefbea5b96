//! Ports for servers whose addresses must be in a file before they listen.
//!
//! A port that was found free and released could be given to two callers at the same moment. So the
//! ports of tests are in blocks, and a process locks a file for each block that it uses: the system
//! releases the lock when the process ends, in any way. Concurrent test runs on one machine share
//! the files.

use std::fs::{File, OpenOptions, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Ports of tests: they include neither the free ports that `o3 server` chooses (10,000 and above),
/// nor those of outgoing connections, nor a default of Ozone's (the lowest is 8,981).
const PORTS: Range<u16> = 2_000..8_900;
/// Number of ports per lock.
const BLOCK: u16 = 60;

/// Reserves `count` unused loopback ports for the life of this process.
///
/// # Panics
/// If there are not enough.
pub fn free_ports(count: usize) -> Vec<u16> {
    static OURS: OnceLock<Mutex<Blocks>> = OnceLock::new();
    let blocks = OURS.get_or_init(|| {
        Mutex::new(Blocks::new(std::env::temp_dir().join("trioxide-test-ports"), PORTS))
    });
    let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
    (0..count)
        .map(|had| match blocks.next_free() {
            Some(port) => port,
            None => panic!("{count} free ports: only {had} of {PORTS:?} are left"),
        })
        .collect()
}

/// The same as addresses.
///
/// # Panics
/// As [`free_ports`] does.
pub fn free_addresses(count: usize) -> Vec<SocketAddr> {
    free_ports(count)
        .into_iter()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .collect()
}

/// The blocks locked by this process, and the unused rest of the last one.
struct Blocks {
    /// Directory of the lock files.
    dir: PathBuf,
    /// The range that is divided into blocks.
    ports: Range<u16>,
    /// Held for the life of the process.
    locks: Vec<File>,
    /// The first port of each block that was tried.
    tried: Vec<u16>,
    /// The rest of the last block.
    left: Range<u16>,
}

impl Blocks {
    fn new(dir: PathBuf, ports: Range<u16>) -> Self {
        Self { dir, ports, locks: Vec::new(), tried: Vec::new(), left: 0..0 }
    }

    /// A port without a listener, not returned before; `None` if there is no further one.
    fn next_free(&mut self) -> Option<u16> {
        loop {
            let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
            if let Some(port) = self.left.find(free) {
                return Some(port);
            }
            self.left = self.lock_another()?;
        }
    }

    /// Locks a block that no process has; `None` if all are locked.
    fn lock_another(&mut self) -> Option<Range<u16>> {
        // Processes that start together try different blocks first, only to save calls.
        let count = self.ports.len() / usize::from(BLOCK);
        let begin = std::process::id() as usize % count.max(1);
        for index in (0..count).cycle().skip(begin).take(count) {
            let first = self.ports.start + u16::try_from(index).ok()? * BLOCK;
            if self.tried.contains(&first) {
                continue;
            }
            self.tried.push(first);
            if let Some(lock) = locked(&self.dir, first) {
                self.locks.push(lock);
                return Some(first..first + BLOCK);
            }
        }
        None
    }
}

/// The lock of a block; `None` if another process has it.
fn locked(dir: &Path, first: u16) -> Option<File> {
    // Without the files two processes could get one port; so the test fails with the reason. All
    // users of the machine share them; their creator may have restricted their permissions.
    std::fs::create_dir_all(dir).unwrap_or_else(|e| panic!("cannot make {}: {e}", dir.display()));
    let _ = std::fs::set_permissions(dir, Permissions::from_mode(0o777));
    let path = dir.join(first.to_string());
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.unwrap_or_else(|e| panic!("cannot open {}: {e}", path.display()));
    let _ = file.set_permissions(Permissions::from_mode(0o666));
    file.try_lock().is_ok().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_out_twice() {
        let dir = tempfile::tempdir().expect("a directory");
        // Two instances that lock the same files behave like two processes: locks belong to open
        // files.
        let range = 40_000..40_000 + 4 * BLOCK;
        let mut one = Blocks::new(dir.path().to_owned(), range.clone());
        let mut other = Blocks::new(dir.path().to_owned(), range.clone());
        let mut given = Vec::new();
        while let (Some(a), Some(b)) = (one.next_free(), other.next_free()) {
            given.extend([a, b]);
        }
        assert!(given.len() > usize::from(2 * BLOCK), "only {} were given out", given.len());
        assert!(given.iter().all(|port| range.contains(port)), "{given:?}");
        given.sort_unstable();
        let all = given.len();
        given.dedup();
        assert_eq!(given.len(), all, "none is given out twice");
    }

    #[test]
    fn the_ports_of_a_process_that_ended_are_given_out_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut first = Blocks::new(dir.path().to_owned(), 41_000..41_000 + BLOCK);
        assert!(first.next_free().is_some());
        let mut second = Blocks::new(dir.path().to_owned(), 41_000..41_000 + BLOCK);
        assert_eq!(second.next_free(), None, "the only block is locked");
        drop(first);
        let mut third = Blocks::new(dir.path().to_owned(), 41_000..41_000 + BLOCK);
        assert!(third.next_free().is_some());
    }

    #[test]
    fn a_port_at_which_somebody_listens_is_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut blocks = Blocks::new(dir.path().to_owned(), 42_000..42_000 + BLOCK);
        let first = blocks.next_free().expect("a port");
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 1));
        assert!(blocks.next_free().is_some_and(|port| port > first + 1));
    }
}
