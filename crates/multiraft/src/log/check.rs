//! Distinguishes a torn tail from corruption, and truncates it, before the log engine opens a
//! directory.
//!
//! The engine would truncate the newest file at its first broken batch, and at the first failed
//! read. So it is configured to truncate nothing (`RecoveryMode::AbsoluteConsistency`), and the one
//! thing that may be truncated, a torn tail, is truncated here. Every write, trims included, is
//! synced before the next one begins, so a crash can only damage the last batch, which was not
//! acknowledged. Truncating synced data would silently drop acknowledged entries and votes. Two
//! checks tell the difference:
//!
//! * the recorded synced position of the files (`synced.rs`): a broken batch before that was
//!   acknowledged;
//! * no valid batch follows a torn one. So the newest file is walked, and a broken batch is
//!   followed by a search for any valid batch; one is enough to reject the log. This finds all
//!   damage except that of the last batch, without any record of syncs. (It holds for append files.
//!   The engine moves old entries in several writes, and syncs them all at the end.)

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engine_files::{
    APPEND, FILE_HEADER, LOCK, REWRITE, any_batch, files, has_header, valid_to,
};
use super::synced::Synced;
use crate::error::LogError;

/// Returns `true` if `dir` contains log files with more than a header.
pub(super) fn any_data(dir: &Path) -> std::io::Result<bool> {
    for (_, path) in files(dir, APPEND)?.into_iter().chain(files(dir, REWRITE)?) {
        if std::fs::metadata(path)?.len() > FILE_HEADER as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Describes missing or broken data in `dir` that had been synced.
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
        // If only newer files are left, the synced file was no longer needed.
        let Some((seq, path)) = files.into_iter().find(|(seq, _)| *seq == reached.file) else {
            continue;
        };
        let good = valid_to(&std::fs::read(&path)?, seq) as u64;
        if good < reached.offset {
            let detail = format!(
                "damaged bytes at offset {good}, but the file was synced up to {}",
                reached.offset
            );
            return Ok(Some((path, detail)));
        }
    }
    Ok(None)
}

/// Locks a log's directory as the engine does while it is open, so that no other process writes to
/// files during the check.
pub(super) fn lock(dir: &Path) -> Result<File, LogError> {
    let path = dir.join(LOCK);
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

/// Number of attempts to open a log that seems to be in use, over at least a second: a count,
/// because a stalled machine must not shorten the wait.
const LOOKS: u32 = 50;
/// Delay between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens something of a log, and retries while it seems to be in use. A child process holds a copy
/// of every lock until it executes its own program: a log that was closed in the meantime is free a
/// moment later.
pub(super) fn unless_in_use<T>(open: impl Fn() -> Result<T, LogError>) -> Result<T, LogError> {
    for _ in 0..LOOKS {
        match open() {
            Err(LogError::InUse { .. }) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    open()
}

/// Brings `dir` into the state of a log whose last write either completed or did not begin. With
/// `fsync`, data that a killed process had only written is made durable: it counts as synced from
/// now on.
///
/// With `first`, nothing in the log was acknowledged: damaged data in the append files is the rest
/// of a first write, and is truncated.
///
/// Returns the damage, if any; then nothing was truncated.
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
            tracing::info!(file = %path.display(), len, end, "raft log file truncated after its last complete write");
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
    /// It ends here. Any following data was never acknowledged.
    Ends(PathBuf, u64),
    /// The damaged file, and the kind of damage.
    Damaged(PathBuf, String),
}

/// Examines the newest file of a queue.
///
/// A newest file without a header is removed first: either the process ended after the engine
/// created the file, or a full disk prevented the header, and the engine continued with the
/// previous file once there was space. That one is actually the newest, and may have a tail.
fn newest(dir: &Path, suffix: &str, first: bool) -> std::io::Result<Newest> {
    let mut files = files(dir, suffix)?;
    while let Some((seq, path)) = files.pop() {
        let data = std::fs::read(&path)?;
        let end = valid_to(&data, seq);
        let begun = has_header(&data) || any_batch(&data, 0, seq).is_some();
        // Data after the damaged header of a first write was not acknowledged either.
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
                        "damaged bytes at offset {end}, followed by valid data at offset {next}"
                    ),
                ),
                None => Newest::Ends(path, end as u64),
            });
        }
        // Files before a later one are removed only once that one is in use.
        if files.is_empty() && seq > 1 {
            return Ok(Newest::Damaged(path, String::from("no header")));
        }
        tracing::warn!(file = %path.display(), "removing a raft log file without acknowledged data");
        std::fs::remove_file(&path)?;
    }
    Ok(Newest::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A child process of another thread has a copy of the lock until it executes its own program.
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
        assert_eq!(looks.get(), 4, "it is free at the fourth attempt");
        // A lock that stays in use is not awaited forever.
        assert!(matches!(unless_in_use(|| lock(dir.path())), Err(LogError::InUse { .. })));
    }
}
