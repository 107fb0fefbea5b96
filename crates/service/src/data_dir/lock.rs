//! The lock on a directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{DataDirError, Expected, VersionFile, sync_parent};

const LOCK_FILE: &str = "in_use.lock";

/// A directory nobody else uses as long as this lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    // Holds the lock.
    _lock: File,
}

impl DataDir {
    /// Makes the directory if need be and locks it.
    pub fn lock(path: impl AsRef<Path>) -> Result<DataDir, DataDirError> {
        let path = path.as_ref().to_path_buf();
        fs::create_dir_all(&path).map_err(DataDirError::io(&path))?;
        sync_parent(&path).map_err(DataDirError::io(&path))?;
        let lock_path = path.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(DataDirError::io(&lock_path))?;
        if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            return Err(if error == rustix::io::Errno::WOULDBLOCK {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                DataDirError::InUse { dir: path, holder: holder.trim().parse().ok() }
            } else {
                DataDirError::Io { path: lock_path, source: error.into() }
            });
        }
        // Only to tell others who we are; the lock does not depend on it.
        let _ = write_pid(&mut file);
        Ok(DataDir { path, _lock: file })
    }

    /// Locks the directory and checks its VERSION file, or writes a first one made by `format`.
    ///
    /// `version_path` is relative to the directory, such as `current/VERSION`. Returns whether it was just formatted.
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

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
