//! Tells a torn tail from corruption, and cuts it, before the log engine opens a directory.
//!
//! The engine would cut the newest file at its first broken batch, and at the first read of it that
//! fails. So it is told to cut nothing (`RecoveryMode::AbsoluteConsistency`), and what may go is
//! cut here: a torn tail. Every write, trims included, is synced before the next one begins, so a
//! crash can only damage the last batch, which was not acknowledged. To cut what was synced
//! would silently drop acknowledged entries and votes. Two things tell the difference:
//!
//! * how far the files are known to be synced (`synced.rs`): what is broken before that was
//!   acknowledged;
//! * behind a torn batch nothing valid follows. So we walk the newest file, and when a batch is
//!   broken look for any valid batch behind it; one is enough to refuse. This finds all damage but
//!   that of the last batch, whatever is known of syncs. (It holds for the files that writes go to.
//!   The engine moves old entries in several writes, and syncs them all in the end.)
//!
//! Format of a file (raft-engine, version 2): magic (53 bytes), version, alignment (u64 each), then
//! batches: `len << 8 | compression` and footer offset (u64 big endian), entries and their crc32,
//! footer and its crc32 xor the file's number. A recycled file holds batches of its former life
//! behind the valid ones; the number in the crc makes those invalid. A file of version 1 has
//! neither alignment nor number in the crc: the engine made such a one when it opened a file that
//! was never begun.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crc_fast::{CrcAlgorithm, checksum};

use super::synced::Synced;
use crate::error::LogError;

const MAGIC: &[u8] = b"RAFT-LOG-FILE-HEADER-9986AB3E47F320B394C8E84916EB0ED5";
const FILE_HEADER: usize = MAGIC.len() + 16;
const FILE_HEADER_1: usize = MAGIC.len() + 8;
const BATCH_HEADER: usize = 16;

/// Files that writes go to.
const APPEND: &str = ".raftlog";
/// Files that the engine moves old entries to.
const REWRITE: &str = ".rewrite";

/// The files of a queue, each with its number, oldest first.
fn files(dir: &Path, suffix: &str) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(suffix)) else { continue };
        if let Ok(seq) = stem.parse::<u64>() {
            files.push((seq, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether `dir` has files of a log with anything but a header in them.
pub(super) fn any_data(dir: &Path) -> std::io::Result<bool> {
    for (_, path) in files(dir, APPEND)?.into_iter().chain(files(dir, REWRITE)?) {
        if std::fs::metadata(path)?.len() > FILE_HEADER as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is missing or broken in `dir` of what was synced.
pub(super) fn damage(dir: &Path, synced: &Synced) -> std::io::Result<Option<(PathBuf, String)>> {
    for (suffix, reached) in [(APPEND, synced.append), (REWRITE, synced.rewrite)] {
        if reached.file == 0 {
            continue;
        }
        let files = files(dir, suffix)?;
        if files.last().is_none_or(|(newest, _)| *newest < reached.file) {
            let detail = format!("file {}{suffix} was synced and is missing", reached.file);
            return Ok(Some((dir.to_owned(), detail)));
        }
        // When only newer ones are left nothing of it was needed any more.
        let Some((seq, path)) = files.into_iter().find(|(seq, _)| *seq == reached.file) else {
            continue;
        };
        let good = valid_to(&std::fs::read(&path)?, seq) as u64;
        if good < reached.offset {
            let detail =
                format!("damaged bytes at offset {good}, up to {} was synced", reached.offset);
            return Ok(Some((path, detail)));
        }
    }
    Ok(None)
}

/// Holds a log's directory as the engine does while it is open, so that no other process writes to
/// files that are looked at.
pub(super) fn lock(dir: &Path) -> Result<File, LogError> {
    let path = dir.join("LOCK");
    let io =
        |error: std::io::Error| LogError::Io { path: dir.to_owned(), detail: error.to_string() };
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse { path: dir.to_owned() }),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// So often a log that seems to be in use is looked at again, in a second or more: a machine that
/// stands still shortens no wait.
const LOOKS: u32 = 50;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens something of a log, once more while it seems to be in use. A process that this one begins
/// has a copy of every lock until it runs its own program: a log that was closed meanwhile is free
/// a moment later.
pub(super) fn unless_in_use<T>(open: impl Fn() -> Result<T, LogError>) -> Result<T, LogError> {
    for _ in 0..LOOKS {
        match open() {
            Err(LogError::InUse { .. }) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    open()
}

/// Brings `dir` into the state of a log whose last write was done or not begun. With `fsync`, what
/// a process that was killed had only written is durable afterwards: it counts as synced from now
/// on.
///
/// With `first`, nothing of the log was acknowledged: whatever is damaged in the files that writes
/// go to is what is left of a first write, and is cut.
///
/// Says what is damaged, if anything is; then nothing was cut.
pub(super) fn recover_tail(
    dir: &Path,
    fsync: bool,
    first: bool,
) -> std::io::Result<Option<(PathBuf, String)>> {
    let queues =
        [(APPEND, first), (REWRITE, false)].map(|(suffix, first)| newest(dir, suffix, first));
    let mut ends = Vec::new();
    for newest in queues {
        match newest? {
            Newest::None => {}
            Newest::Damaged(path, detail) => return Ok(Some((path, detail))),
            Newest::Ends(path, end) => ends.push((path, end)),
        }
    }
    for (path, end) in ends {
        let file = OpenOptions::new().write(true).open(&path)?;
        let len = file.metadata()?.len();
        if len > end {
            tracing::info!(file = %path.display(), len, end, "a raft log file ends behind its last whole write");
            file.set_len(end)?;
        }
        if fsync || len > end {
            file.sync_data()?;
        }
    }
    Ok(None)
}

/// The newest file of a queue.
enum Newest {
    None,
    /// It ends here. What follows, if anything does, was never acknowledged.
    Ends(PathBuf, u64),
    /// Which file is damaged, and how.
    Damaged(PathBuf, String),
}

/// Looks at the newest file of a queue.
///
/// A newest file that was never begun goes first: the engine makes the next file, and the process
/// ends, or a full disk keeps the engine from writing the header, and it goes on with the file
/// before once there is room. That one is the newest in truth, and may have a tail.
fn newest(dir: &Path, suffix: &str, first: bool) -> std::io::Result<Newest> {
    let mut files = files(dir, suffix)?;
    while let Some((seq, path)) = files.pop() {
        let data = std::fs::read(&path)?;
        let end = valid_to(&data, seq);
        let begun = header(&data).is_some() || any_batch(&data, 0, seq).is_some();
        // What is found behind the damaged header of a first write was not acknowledged either.
        if begun && (end > 0 || !first) {
            let behind = match suffix == APPEND && !first {
                true => any_batch(&data, end + 1, seq),
                false => None,
            };
            return Ok(match behind {
                _ if end == 0 => Newest::Damaged(path, String::from("damaged header")),
                Some(next) => Newest::Damaged(
                    path,
                    format!(
                        "damaged bytes at offset {end}, with valid data behind them at offset {next}"
                    ),
                ),
                None => Newest::Ends(path, end as u64),
            });
        }
        // The files before a later one go only when that one is in use.
        if files.is_empty() && seq > 1 {
            return Ok(Newest::Damaged(path, String::from("no header")));
        }
        tracing::warn!(file = %path.display(), "a raft log file that was never begun, or only with a first write that was not acknowledged, is removed");
        std::fs::remove_file(&path)?;
    }
    Ok(Newest::None)
}

/// How long a file's header is, and what the checksums of its batches are changed by: its number in
/// version 2 without alignment, the version that we have written; nothing in version 1.
fn header(data: &[u8]) -> Option<(usize, Signature)> {
    let rest = data.strip_prefix(MAGIC)?;
    match u64::from_be_bytes(*rest.first_chunk()?) {
        1 => Some((FILE_HEADER_1, Signature::None)),
        2 if rest.get(8..16)? == [0; 8] => Some((FILE_HEADER, Signature::Number)),
        _ => None,
    }
}

/// What a file's checksums are changed by.
#[derive(Clone, Copy)]
enum Signature {
    None,
    Number,
}

impl Signature {
    fn of(self, seq: u64) -> u32 {
        match self {
            Self::None => 0,
            Self::Number => seq as u32,
        }
    }
}

/// Where the first whole batch of file `seq` is, from an offset on.
fn any_batch(data: &[u8], from: usize, seq: u64) -> Option<usize> {
    let (_, signature) = header(data).unwrap_or((0, Signature::Number));
    (from..data.len()).find(|at| valid_batch(data, *at, signature.of(seq)).is_some())
}

/// Up to where file `seq` is good.
fn valid_to(data: &[u8], seq: u64) -> usize {
    let Some((mut at, signature)) = header(data) else { return 0 };
    while let Some(len) = valid_batch(data, at, signature.of(seq)) {
        at += len;
    }
    at
}

/// Length of the batch at `at` if every checksum in it holds.
fn valid_batch(data: &[u8], at: usize, signature: u32) -> Option<usize> {
    let rest = data.get(at..)?;
    let (header, _) = rest.split_first_chunk::<BATCH_HEADER>()?;
    // Most positions fail here: compression is 0 or 1 and lengths are far below 2^40.
    if header[7] > 1 || header[0] != 0 || header[8] != 0 || header[9] != 0 {
        return None;
    }
    let (first, second) = header.split_at(8);
    let len = (u64::from_be_bytes(first.try_into().ok()?) >> 8) as usize;
    let footer = u64::from_be_bytes(second.try_into().ok()?) as usize;
    if footer < BATCH_HEADER || len < footer + 5 || len > rest.len() {
        return None;
    }
    sealed(rest.get(footer..len)?, signature)?;
    let entries = rest.get(BATCH_HEADER..footer)?;
    if !entries.is_empty() {
        sealed(entries, 0)?;
    }
    Some(len)
}

/// Whether `block` ends with the crc of the rest, xor `signature`.
fn sealed(block: &[u8], signature: u32) -> Option<()> {
    let (content, crc) = block.split_last_chunk::<4>()?;
    let expected = u32::from_le_bytes(*crc) ^ signature;
    (checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32 == expected).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A process that another thread begins has a copy of the lock until it runs its own program.
    #[test]
    fn a_log_that_is_free_a_moment_later_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (held, looks) = (RefCell::new(Some(lock(dir.path()).unwrap())), Cell::new(0));
        let opened = unless_in_use(|| {
            let opened = lock(dir.path());
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                held.take();
            }
            opened
        });
        assert!(opened.is_ok());
        assert_eq!(looks.get(), 4, "it is free at the fourth look");
        // One that stays in use is not waited for for ever.
        assert!(matches!(unless_in_use(|| lock(dir.path())), Err(LogError::InUse { .. })));
    }
}
