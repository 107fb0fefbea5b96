//! Which erasure-coded replicas this node has had, remembered beside its identity.
//!
//! A replica of an EC group has no log that says what it should have: one that is begun anew, on a
//! disk that was replaced or wiped, lacks what was written before, and looks like any other. So a
//! node that keeps its identity keeps with it the names of the replicas that were here. Those that
//! no disk has any more are lost, and are not begun again; they come back as whole copies.
//!
//! The file has a line for each, `ID` or, when it was deleted, `-ID`. It is written anew at each
//! start. A last line without its end was never acknowledged, and does not count.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blockio::durable;
use parking_lot::Mutex;
use types::ContainerId;

use super::error::{Result, StorageError};

/// Name of the file.
pub(crate) const FILE: &str = "ec-replicas";

/// The file, open for more. `None` once a write of it failed, which is final: what a later line
/// would be appended to is not known.
pub(crate) struct Begun {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl Begun {
    /// Reads what was here and adds what is here now. Says what is lost: those that were here and
    /// are not. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is none of these.
    pub fn open(path: PathBuf, here: &BTreeSet<ContainerId>) -> Result<(Self, Vec<ContainerId>)> {
        let fail = |error: io::Error| StorageError::disk(&path, error);
        let mut all = match fs::read(&path) {
            Ok(text) => read(&text)
                .ok_or_else(|| fail(io::Error::new(io::ErrorKind::InvalidData, "malformed")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(fail(error)),
        };
        let lost: Vec<_> = all.difference(here).copied().collect();
        all.extend(here);
        let text: String = all.iter().map(|id| format!("{id}\n")).collect();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        durable::replace(&path, &temporary(&path), text.as_bytes()).map_err(fail)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(fail)?;
        Ok((Self { path, file: Mutex::new(Some(file)) }, lost))
    }

    /// A replica is about to be here; durable when this returns. Blocks.
    ///
    /// # Errors
    /// When it cannot be written, or could not be once before.
    pub fn add(&self, id: ContainerId) -> Result<()> {
        self.append(&format!("{id}\n"), File::sync_data)
    }

    /// A replica was deleted on purpose. It need not be durable: it would count as lost, and no
    /// container has its id again.
    pub fn remove(&self, id: ContainerId) {
        if let Err(error) = self.append(&format!("-{id}\n"), |_| Ok(())) {
            tracing::warn!(container = %id, %error, "a deleted replica still counts as begun");
        }
    }

    fn append(&self, line: &str, sync: impl Fn(&File) -> io::Result<()>) -> Result<()> {
        let mut open = self.file.lock();
        let written = match open.as_mut() {
            Some(file) => file.write_all(line.as_bytes()).and_then(|()| sync(file)),
            None => Err(io::Error::other("it could not be written before")),
        };
        if written.is_err() {
            *open = None;
        }
        written.map_err(|error| StorageError::disk(&self.path, error))
    }
}

fn temporary(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// What the lines say; `None` when one says nothing.
fn read(text: &[u8]) -> Option<BTreeSet<ContainerId>> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
    let text = std::str::from_utf8(text.get(..whole)?).ok()?;
    let mut all = BTreeSet::new();
    for line in text.lines() {
        match line.strip_prefix('-') {
            Some(gone) => _ = all.remove(&ContainerId(gone.parse().ok()?)),
            None => _ = all.insert(ContainerId(line.parse().ok()?)),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u64]) -> BTreeSet<ContainerId> {
        ids.iter().map(|id| ContainerId(*id)).collect()
    }

    #[test]
    fn what_was_here_and_is_not_is_lost_unless_it_was_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta").join(FILE);
        let (begun, lost) = Begun::open(path.clone(), &ids(&[1])).unwrap();
        assert_eq!(lost, []);
        [2, 3, 4].into_iter().try_for_each(|id| begun.add(ContainerId(id))).unwrap();
        begun.remove(ContainerId(3));
        drop(begun);
        let (begun, lost) = Begun::open(path.clone(), &ids(&[1, 2])).unwrap();
        assert_eq!(lost, [ContainerId(4)]);
        drop(begun);
        // It stays lost, and what was not acknowledged never was.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"55").unwrap();
        let (_, lost) = Begun::open(path.clone(), &ids(&[1, 2])).unwrap();
        assert_eq!(lost, [ContainerId(4)]);
        // A write that failed is the last one: a line behind half of another would be misread.
        let (begun, _) = Begun::open(path.clone(), &ids(&[])).unwrap();
        *begun.file.lock() = Some(File::open(&path).unwrap());
        assert!(begun.add(ContainerId(6)).is_err(), "it is open for reading only");
        assert!(begun.file.lock().is_none());
        assert!(begun.add(ContainerId(7)).is_err());
        fs::write(&path, b"4\nfive\n").unwrap();
        assert!(Begun::open(path, &ids(&[])).is_err());
    }
}
