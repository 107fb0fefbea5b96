//! Raft logs for tables written by Apache Ozone, with its Ratis log next to them.
//!
//! The log begins after the position of the tables. That is the behaviour of a replica whose log is
//! lost and whose loss an operator has accepted (docs/internals/raft-logs.md), so the same records
//! are written: the replica continues at the tables' position, in a term that no member can have
//! been in.

mod ratis_log;

use std::io;
use std::path::{Path, PathBuf};

use blockio::durable;

use crate::log::MANIFEST;

/// Returns `true` if the role with the directory `home` has a log of ours.
pub fn has_log(home: &Path) -> bool {
    home.join(MANIFEST).exists()
}

/// Returns the first Ratis log below `dirs` with a command after `applied`, and the last such
/// command. Missing directories have none.
///
/// # Errors
/// If a log cannot be read.
pub fn ratis_ahead(dirs: &[PathBuf], applied: u64) -> io::Result<Option<(PathBuf, u64)>> {
    for dir in dirs {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            // One directory per Raft group.
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

/// Makes the log of the role with the directory `home` begin after the position of its tables;
/// durable on return.
///
/// # Errors
/// If that cannot be written.
pub fn begin_behind_tables(home: &Path) -> io::Result<()> {
    let accepted = home.join(format!("{MANIFEST}.accept-loss"));
    durable::replace(&accepted, &home.join("accept-loss.tmp"), b"")
}
