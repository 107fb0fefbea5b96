//! Removal of files, most of which may not exist.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::thread;

use crate::IoError;
use crate::job::Shared;

/// Number of files of one directory from which on its listing is checked before the removal: the
/// kernel caches each name that does not exist.
const MANY: usize = 64;

impl Shared {
    /// Removes files; missing ones count as removed. Has no waiting callers, so it yields to other
    /// threads between two files.
    pub(crate) fn unlink(&self, paths: &[PathBuf]) -> Result<(), IoError> {
        let there = self.names_there(paths)?;
        let is_there = |path: &&PathBuf| {
            there.as_ref().is_none_or(|names| path.file_name().is_some_and(|n| names.contains(n)))
        };
        for path in paths.iter().filter(is_there) {
            thread::yield_now();
            self.health.check("unlink", path)?;
            self.writers.forget(path);
            self.files.forget(path);
            match self.backend.unlink(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(|e| self.health.note(IoError::of("unlink", path, &e)))?,
            }
            // A reader may have opened it again in between; its name may be reused.
            self.files.forget(path);
        }
        Ok(())
    }

    /// The names in the directory of many files; `None` if they should be tried one by one: they
    /// are few, or of several directories, or of one that has more files than these.
    fn names_there(&self, paths: &[PathBuf]) -> Result<Option<HashSet<OsString>>, IoError> {
        let directory = paths.first().and_then(|path| path.parent());
        let Some(directory) = directory.filter(|_| paths.len() >= MANY) else { return Ok(None) };
        if paths.iter().any(|path| path.parent() != Some(directory)) {
            return Ok(None);
        }
        self.health.check("list", directory)?;
        match self.backend.list(directory, paths.len()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Some(HashSet::new())),
            other => other.map_err(|e| self.health.note(IoError::of("list", directory, &e))),
        }
    }
}
