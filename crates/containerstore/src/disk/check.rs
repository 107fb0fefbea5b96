//! Testing whether a disk still does what disks do.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use blockio::{IoError, WriteMode};
use bytes::Bytes;
use uuid::Uuid;

use super::Disk;

impl Disk {
    /// Tests the data directory: it is there, and a file of `size` bytes, if one is wanted, that is
    /// written and synced is read back as it was.
    ///
    /// # Errors
    /// What the test ran into.
    pub async fn test_data(&self, size: Option<usize>) -> Result<(), CheckFault> {
        let (home, dir) = (self.containers_dir(), dir_of(&self.cluster));
        let made = tokio::task::spawn_blocking(move || make_below(&home, &dir).map(|()| dir));
        let dir = made.await.map_err(|error| CheckFault::Test(error.to_string()))??;
        let Some(size) = size else { return Ok(()) };
        let path: Arc<Path> = Arc::from(dir.join(Uuid::new_v4().to_string()));
        let data = pattern(size);
        let outcome = self.write_and_read(&path, &data).await;
        let removed = self.io.unlink(vec![path.to_path_buf()]).await;
        outcome?;
        removed.map_err(|error| CheckFault::Test(error.to_string()))
    }

    async fn write_and_read(&self, path: &Arc<Path>, data: &Bytes) -> Result<(), CheckFault> {
        let (io, fail) = (&self.io, |error: IoError| CheckFault::Test(error.to_string()));
        io.write(Arc::clone(path), 0, data.clone(), WriteMode::Cached).await.map_err(fail)?;
        // A failure here fails the disk anyway.
        io.sync(Arc::clone(path)).await.map_err(fail)?;
        // The bytes must be read from the device.
        if let Ok(file) = File::open(path) {
            forget_cached(&file);
        }
        let read = io.read(Arc::clone(path), 0, data.len()).await;
        compare(data, &read.map_err(fail)?)
    }

    /// Returns an error if the device refused reads of more files since the last call.
    ///
    /// # Errors
    /// What the test ran into.
    pub fn test_reads(&self) -> Result<(), CheckFault> {
        match self.refused.take_new() {
            0 => Ok(()),
            files => Err(CheckFault::Test(format!("the device refused reads of {files} files"))),
        }
    }

    /// Tests the directory of the Raft log in the same way. Blocks.
    ///
    /// # Errors
    /// What the test ran into.
    pub fn test_log(&self, size: Option<usize>) -> Result<(), CheckFault> {
        let dir = self.raft_dir.join("disk-check");
        make_below(&self.raft_dir, &dir)?;
        let Some(size) = size else { return Ok(()) };
        let path = dir.join(Uuid::new_v4().to_string());
        let data = pattern(size);
        let fail = |error: io::Error| CheckFault::Test(format!("{}: {error}", path.display()));
        let test = || {
            let mut file = File::create(&path).map_err(fail)?;
            file.write_all(&data).map_err(fail)?;
            let synced = file.sync_all();
            synced.map_err(|e| CheckFault::Sync(format!("sync {}: {e}", path.display())))?;
            forget_cached(&file);
            let mut read = Vec::with_capacity(data.len());
            File::open(&path).and_then(|mut file| file.read_to_end(&mut read)).map_err(fail)?;
            compare(&data, &read)
        };
        let outcome = test();
        let removed = std::fs::remove_file(&path).map_err(fail);
        outcome.and(removed)
    }
}

/// Returns the directory of files of tests of a data directory.
pub(super) fn dir_of(cluster: &Path) -> PathBuf {
    cluster.join("tmp").join("disk-check")
}

/// Failures of a directory's test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckFault {
    /// The directory is not there.
    #[error("{0}")]
    Gone(String),
    /// An fsync failed: no later one is reliable.
    #[error("{0}")]
    Sync(String),
    /// There was no answer within this time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// Anything else.
    #[error("{0}")]
    Test(String),
}

impl CheckFault {
    /// Returns `true` if one such fault fails the directory.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::Sync(_) | Self::Silent(_))
    }
}

/// Creates a directory for tests, but not its parent, which must exist.
fn make_below(home: &Path, dir: &Path) -> Result<(), CheckFault> {
    match std::fs::metadata(home) {
        Ok(there) if there.is_dir() => {}
        Ok(_) => return Err(CheckFault::Gone(format!("{} is not a directory", home.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CheckFault::Gone(format!("{}: {error}", home.display())));
        }
        Err(error) => return Err(CheckFault::Test(format!("{}: {error}", home.display()))),
    }
    let made = std::fs::create_dir_all(dir);
    made.map_err(|error| CheckFault::Test(format!("{}: {error}", dir.display())))
}

fn pattern(size: usize) -> Bytes {
    Uuid::new_v4().into_bytes().into_iter().cycle().take(size.max(1)).collect()
}

fn forget_cached(file: &File) {
    // Advice only: without it the bytes come from the page cache.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

fn compare(written: &[u8], read: &[u8]) -> Result<(), CheckFault> {
    match written == read {
        true => Ok(()),
        false => Err(CheckFault::Test("other bytes were read than were written".to_owned())),
    }
}
