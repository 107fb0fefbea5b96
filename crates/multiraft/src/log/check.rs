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

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engine_files::{
    APPEND, FILE_HEADER, LOCK, REWRITE, any_batch, files, has_header, valid_to,
};
use super::synced::Synced;
use crate::error::LogError;

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
        let begun = has_header(&data) || any_batch(&data, 0, seq).is_some();
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
