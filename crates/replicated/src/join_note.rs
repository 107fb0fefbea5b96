//! A persistent note of a process that joins a running service: its log does not have the service's
//! members yet.
//!
//! It is written before the first join request, and removed when the log has the members on disk. A
//! process that is killed between the two may be a member already, so its next start continues
//! joining, and never begins with the members of its configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blockio::durable;
use service::{DataDirError, VersionFile};

/// Path below a role's directory.
const PATH: &str = "current/JOIN";
const FORCE: &str = "force";

/// The note, identified by its path in the data directory.
#[derive(Debug, Clone)]
pub struct JoinNote {
    path: PathBuf,
}

impl JoinNote {
    /// The note in a role's directory.
    pub fn below(home: &Path) -> JoinNote {
        JoinNote { path: home.join(PATH) }
    }

    /// Reads the note, if it exists; the value is true if the other members need not have this
    /// process in their configuration.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> Result<Option<bool>, DataDirError> {
        let note = VersionFile::read(&self.path)?;
        Ok(note.map(|note| note.get(FORCE) == Some("true")))
    }

    /// Writes it, durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, force: bool) -> Result<(), DataDirError> {
        VersionFile::default().with(FORCE, force).write(&self.path)
    }

    /// Removes it, durably, if it exists.
    ///
    /// # Errors
    /// If the file cannot be removed.
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
