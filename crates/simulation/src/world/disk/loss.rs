//! The unsynced writes of a file, and what a disk keeps of them.
//!
//! Each write is recorded with the overwritten bytes. To keep only some of the writes, all are
//! reverted from the last one on, and the kept ones are repeated.

use libc::{c_int, off64_t};

use super::super::random::Random;
use super::super::real;

/// A torn write is cut at a multiple of this.
const SECTOR: u64 = 512;

/// Effect of a change on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Bytes are written.
    Write,
    /// Bytes become zeros; the length does not change.
    Punch,
    /// The file has another length.
    Resize(u64),
}

/// A change that is not synced.
pub(super) struct Change {
    /// Counts all changes of the world.
    pub(super) number: u64,
    /// Offset.
    pub(super) at: u64,
    /// Number of bytes.
    pub(super) len: u64,
    /// The overwritten bytes, within the file's earlier length.
    pub(super) before: Vec<u8>,
    /// Earlier length of the file.
    pub(super) len_before: u64,
    pub(super) effect: Effect,
}

/// Unsynced changes of a file.
pub(super) struct Unsynced {
    pub(super) machine: usize,
    /// A descriptor of our own.
    pub(super) fd: c_int,
    pub(super) changes: Vec<Change>,
}

/// Written bytes, to be written again.
struct Rewrite {
    change: Change,
    after: Vec<u8>,
}

fn read_at(fd: c_int, at: u64, len: u64) -> Vec<u8> {
    let len = len.min(super::len_of(fd).saturating_sub(at));
    let mut bytes = vec![0; len as usize];
    // SAFETY: the buffer has this length.
    let read = unsafe { real::pread64(fd, bytes.as_mut_ptr().cast(), bytes.len(), at as off64_t) };
    bytes.truncate(read.max(0) as usize);
    bytes
}

fn write_at(fd: c_int, at: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        // SAFETY: a descriptor of our own, a buffer of this length.
        unsafe { real::pwrite64(fd, bytes.as_ptr().cast(), bytes.len(), at as off64_t) };
    }
}

fn resize(fd: c_int, len: u64) {
    // SAFETY: a descriptor of our own.
    unsafe { real::ftruncate64(fd, len as off64_t) };
}

impl Unsynced {
    /// Of a file that a descriptor stands for.
    pub(super) fn new(machine: usize, fd: c_int) -> Self {
        let path = format!("/proc/self/fd/{fd}\0");
        // SAFETY: a C string, and a descriptor that no other code has.
        let own = unsafe { real::open64(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC, 0) };
        Self { machine, fd: own, changes: Vec::new() }
    }

    /// The number of the first of the changes.
    pub(super) fn first(&self) -> u64 {
        self.changes.first().map_or(0, |change| change.number)
    }

    /// Notes a change that is about to be made.
    pub(super) fn note(&mut self, number: u64, at: u64, len: u64, effect: Effect) {
        let len_before = super::len_of(self.fd);
        let before = read_at(self.fd, at, len);
        self.changes.push(Change { number, at, len, before, len_before, effect });
    }

    /// Changes up to this number are durable.
    pub(super) fn synced(&mut self, number: u64) {
        self.changes.retain(|change| change.number > number);
    }

    /// The disk has the first of the writes, none or all of them among the choices; one may be
    /// torn.
    pub(super) fn keep_first(&mut self, random: &mut Random) {
        let changes = std::mem::take(&mut self.changes);
        let kept = random.below(changes.len() as u64 + 1) as usize;
        for (number, change) in changes.iter().enumerate().skip(kept).rev() {
            let torn = number == kept && random.one_in(2);
            let keep = match torn {
                true => random.below(change.len / SECTOR + 1) * SECTOR,
                false => 0,
            };
            undo_write(self.fd, change, keep);
        }
    }

    /// Of the changes up to a number the disk keeps any: whole ones, and sectors of others. Later
    /// ones remain unsynced.
    pub(super) fn keep_any(&mut self, number: u64, random: &mut Random) {
        let mut rewrites = Vec::new();
        for change in std::mem::take(&mut self.changes).into_iter().rev() {
            let after = read_at(self.fd, change.at, change.len);
            undo_write(self.fd, &change, 0);
            rewrites.push(Rewrite { change, after });
        }
        // The share that reached the disk is drawn for all writes, not for each.
        let most = *random.pick(&[0, 1, 2, 3]);
        for Rewrite { change, after } in rewrites.into_iter().rev() {
            let Change { at, len, effect, .. } = change;
            if change.number > number {
                self.note(change.number, at, len, effect);
                redo_write(self.fd, at, &after, effect);
            } else if random.below(4) < most {
                redo_write(self.fd, at, &after, effect);
            } else if effect == Effect::Write && random.one_in(4) {
                for (sector, bytes) in after.chunks(SECTOR as usize).enumerate() {
                    if random.one_in(2) {
                        redo_write(self.fd, at + sector as u64 * SECTOR, bytes, effect);
                    }
                }
            }
        }
    }

    /// Lets the descriptor go.
    pub(super) fn close(self) {
        // SAFETY: a descriptor of our own.
        unsafe { real::close(self.fd) };
    }
}

fn redo_write(fd: c_int, at: u64, after: &[u8], effect: Effect) {
    match effect {
        Effect::Write => write_at(fd, at, after),
        Effect::Resize(len) => resize(fd, len),
        Effect::Punch => {
            let there = read_at(fd, at, after.len() as u64).len();
            write_at(fd, at, &vec![0; there]);
        }
    }
}

/// Takes a write back, all but its first bytes.
fn undo_write(fd: c_int, change: &Change, keep: u64) {
    let skip = keep.min(change.before.len() as u64);
    let rest = &change.before[skip as usize..];
    let len = change.len_before.max(if keep > 0 { change.at + keep } else { 0 });
    resize(fd, len);
    write_at(fd, change.at + skip, rest);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    fn content(file: &mut std::fs::File) -> Vec<u8> {
        let mut all = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut all).unwrap();
        all
    }

    /// A file with one synced byte and three unsynced writes after it.
    fn written(dir: &std::path::Path) -> (std::fs::File, Unsynced) {
        let options = std::fs::OpenOptions::new().read(true).write(true).create(true).clone();
        let mut file = options.open(dir.join("file")).unwrap();
        file.set_len(0).unwrap();
        file.write_all(b"s").unwrap();
        let mut unsynced = Unsynced::new(1, file.as_raw_fd());
        for (number, text) in [(1, b"a"), (2, b"b"), (3, b"c")] {
            unsynced.note(number, number, 1, Effect::Write);
            file.write_all(text).unwrap();
        }
        (file, unsynced)
    }

    fn dir(name: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn in_order_a_disk_keeps_the_first_writes() {
        let dir = dir("loss-order");
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let (mut file, mut unsynced) = written(&dir);
            unsynced.keep_first(&mut Random::new(seed));
            unsynced.close();
            seen.insert(content(&mut file));
        }
        let all: Vec<Vec<u8>> = [&b"s"[..], b"sa", b"sab", b"sabc"].map(<[u8]>::to_vec).into();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn without_order_a_later_write_is_kept_and_an_earlier_one_lost() {
        let dir = dir("loss-any");
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let (mut file, mut unsynced) = written(&dir);
            unsynced.keep_any(u64::MAX, &mut Random::new(seed));
            unsynced.close();
            seen.insert(content(&mut file));
        }
        assert!(seen.contains(&b"s\0\0c"[..]));
        assert!(seen.contains(&b"sa\0c"[..]));
        assert!(seen.iter().all(|kept| kept[0] == b's'));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_comes_after_a_failed_sync_began_stays_unsynced() {
        let dir = dir("loss-sync");
        let (mut file, mut unsynced) = written(&dir);
        unsynced.keep_any(2, &mut Random::new(1));
        assert_eq!(unsynced.changes.len(), 1);
        assert_eq!(content(&mut file).last(), Some(&b'c'));
        unsynced.keep_first(&mut Random::new(3));
        unsynced.close();
        std::fs::remove_dir_all(dir).unwrap();
    }
}
