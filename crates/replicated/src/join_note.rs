//! A note that a process leaves for its next start while it joins a service that runs: it was told
//! to, and its log does not have the service's members yet.
//!
//! It is written before a member is asked to add the process, and removed when the log has the
//! members on disk. A process that ends between the two may belong to the service already, so its
//! next start goes on joining, and never begins with members that its configuration names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blockio::durable;
use service::{DataDirError, VersionFile};

/// Where it is, below the directory of a role.
const PATH: &str = "current/JOIN";
const FORCE: &str = "force";

/// The note, by its path in the data directory.
#[derive(Debug, Clone)]
pub struct JoinNote {
    path: PathBuf,
}

impl JoinNote {
    /// The note in a role's directory.
    pub fn below(home: &Path) -> JoinNote {
        JoinNote { path: home.join(PATH) }
    }

    /// Whether there is one, and what it says: whether the others need not have this process in
    /// their configuration.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self) -> Result<Option<bool>, DataDirError> {
        let note = VersionFile::read(&self.path)?;
        Ok(note.map(|note| note.get(FORCE) == Some("true")))
    }

    /// Writes it, durably.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, force: bool) -> Result<(), DataDirError> {
        VersionFile::default().with(FORCE, force).write(&self.path)
    }

    /// Removes it, durably, if it is there.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove(&self) -> Result<(), DataDirError> {
        let removed = match fs::remove_file(&self.path) {
            Ok(()) => durable::sync_name(&self.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            failed => failed,
        };
        removed.map_err(|source| DataDirError::Io { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_written_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let note = JoinNote::below(dir.path());
        assert_eq!(note.read().unwrap(), None);
        note.remove().unwrap();
        for force in [true, false] {
            note.write(force).unwrap();
            assert_eq!(note.read().unwrap(), Some(force));
        }
        note.remove().unwrap();
        assert_eq!(note.read().unwrap(), None);
    }
}
