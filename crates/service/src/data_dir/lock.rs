//! The lock on a directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blockio::durable;
use rustix::fs::{FlockOperation, flock};

use super::{DataDirError, Expected, VersionFile};

const LOCK_FILE: &str = "in_use.lock";

/// Maximum time for which a child process that has not executed yet may hold a released lock.
const CHILD_START_TIMEOUT: Duration = Duration::from_secs(2);

/// A directory that no other process uses during the lifetime of this value.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    // Holds the lock.
    _lock: File,
}

impl DataDir {
    /// Creates the directory if necessary and locks it.
    ///
    /// # Errors
    /// If the directory cannot be created, or another process has locked it.
    pub fn lock(path: impl AsRef<Path>) -> Result<DataDir, DataDirError> {
        let path = path.as_ref().to_path_buf();
        fs::create_dir_all(&path).map_err(DataDirError::io(&path))?;
        durable::sync_name(&path).map_err(DataDirError::io(&path))?;
        let lock_path = path.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(DataDirError::io(&lock_path))?;
        let begun = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(DataDirError::Io { path: lock_path, source: error.into() });
            }
            let holder = pid_of_holder(&mut file);
            // A child that this process is about to start has a copy of each open file until it
            // executes.
            if holder != Some(std::process::id()) || begun.elapsed() > CHILD_START_TIMEOUT {
                return Err(DataDirError::InUse { dir: path, holder });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Only informs others about the holder; the lock does not depend on it.
        let _ = write_pid(&mut file);
        Ok(DataDir { path, _lock: file })
    }

    /// Locks the directory and checks its VERSION file, or writes a first one created by `format`.
    ///
    /// `version_path` is relative to the directory, such as `current/VERSION`. Returns `true` if
    /// the directory was just formatted.
    ///
    /// # Errors
    /// If the VERSION file is malformed or does not match, or the disk fails.
    pub fn open_or_format(
        path: impl AsRef<Path>,
        version_path: impl AsRef<Path>,
        expected: &Expected,
        format: impl FnOnce() -> VersionFile,
    ) -> Result<(DataDir, VersionFile, bool), DataDirError> {
        let dir = DataDir::lock(path)?;
        let file = dir.path.join(version_path);
        if let Some(version) = VersionFile::read(&file)? {
            version.verify(&file, expected)?;
            return Ok((dir, version, false));
        }
        let version = format();
        version.write(&file)?;
        Ok((dir, version, true))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn pid_of_holder(file: &mut File) -> Option<u32> {
    let mut holder = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut holder).ok()?;
    holder.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
