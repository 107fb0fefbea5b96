//! Tables that Apache Ozone wrote, with its Ratis log beside them, get a Raft log of ours.
//!
//! The log begins behind what the tables hold. That is what a replica does whose log is lost and
//! whose loss an operator has accepted (docs/internals/raft-logs.md), so that is what is said: it
//! goes on at the tables' position, in a term that nobody can have been in.

mod ratis_log;

use std::io;
use std::path::{Path, PathBuf};

use blockio::durable;

use crate::log::MANIFEST;

/// Whether a log of ours has begun for the role whose directory is `home`.
pub fn has_log(home: &Path) -> bool {
    home.join(MANIFEST).exists()
}

/// The first Ratis log below `dirs` that has a command behind `applied`, and the last such command.
/// Directories that are not there have none.
///
/// # Errors
/// When a log cannot be read.
pub fn ratis_ahead(dirs: &[PathBuf], applied: u64) -> io::Result<Option<(PathBuf, u64)>> {
    for dir in dirs {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            // A directory for each Raft group.
            let log = entry?.path().join("current");
            if !log.is_dir() {
                continue;
            }
            if let Some(last) = ratis_log::last_command(&log)?.filter(|last| *last > applied) {
                return Ok(Some((log, last)));
            }
        }
    }
    Ok(None)
}

/// Lets the log of the role whose directory is `home` begin behind what its tables hold; durable
/// when this returns.
///
/// # Errors
/// When that cannot be written.
pub fn begin_behind_tables(home: &Path) -> io::Result<()> {
    let accepted = home.join(format!("{MANIFEST}.accept-loss"));
    durable::replace(&accepted, &home.join("accept-loss.tmp"), b"")
}
