//! Journal of this node's erasure-coded replicas, stored with its identity.
//!
//! A replica of an EC group has no log of its expected contents: one that is recreated on a disk
//! that was replaced or wiped lacks all earlier writes, and looks like any other. So a node that
//! keeps its identity keeps with it the names of the replicas that were here. Those that no disk
//! has any more are lost, and are not recreated; they come back as whole copies.
//!
//! A deleted one has ended: a late writer does not recreate it either. A block is acknowledged by
//! the nodes of all indexes or not at all, so none is acknowledged in a container that SCM has
//! deleted: the remaining data on a node that was away is of no use.
//!
//! The file has a line for each, `ID` or, when it was deleted, `-ID`. Each start rewrites it. Each
//! line is durable before the next one is written, so a loss of power leaves at most the last one
//! half written, or as zeros. That one was never acknowledged, and does not count.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blockio::durable;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use types::ContainerId;

use crate::error::{Result, StorageError};

/// Name of the file.
pub const FILE: &str = "ec-replicas";

/// The file, open for appending. `None` once a write of it failed, which is final: the end of the
/// file is unknown.
pub(crate) struct EcReplicaJournal {
    path: PathBuf,
    file: Mutex<Option<File>>,
    ended: Mutex<FxHashSet<ContainerId>>,
}

/// Contents of the file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lines {
    begun: BTreeSet<ContainerId>,
    ended: BTreeSet<ContainerId>,
}

impl EcReplicaJournal {
    /// Reads the recorded replicas and adds the present ones. Returns the lost ones: recorded and
    /// not present. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is not a journal.
    pub fn open(path: PathBuf, here: &BTreeSet<ContainerId>) -> Result<(Self, Vec<ContainerId>)> {
        let fail = |error: io::Error| StorageError::disk(&path, error);
        let mut all = match fs::read(&path) {
            Ok(text) => read(&text)
                .ok_or_else(|| fail(io::Error::new(io::ErrorKind::InvalidData, "malformed")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Lines::default(),
            Err(error) => return Err(fail(error)),
        };
        let lost: Vec<_> = all.begun.difference(here).copied().collect();
        all.begun.extend(here);
        all.ended.retain(|id| !here.contains(id));
        let begun = all.begun.iter().map(|id| format!("{id}\n"));
        let text: String = begun.chain(all.ended.iter().map(|id| format!("-{id}\n"))).collect();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        durable::replace(&path, &temporary(&path), text.as_bytes()).map_err(fail)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(fail)?;
        let ended = Mutex::new(all.ended.into_iter().collect());
        Ok((Self { path, file: Mutex::new(Some(file)), ended }, lost))
    }

    /// A replica is about to be here; durable when this returns. Blocks.
    ///
    /// # Errors
    /// When it cannot be written, or could not be once before.
    pub fn add(&self, id: ContainerId) -> Result<()> {
        self.append(&format!("{id}\n"))?;
        self.ended.lock().remove(&id);
        Ok(())
    }

    /// Returns `true` if a replica of it was deleted here.
    pub fn has_ended(&self, id: ContainerId) -> bool {
        self.ended.lock().contains(&id)
    }

    /// A replica was deleted on purpose. If that does not become durable it counts as lost, and no
    /// container has its id again. Blocks.
    pub fn remove(&self, id: ContainerId) {
        self.ended.lock().insert(id);
        if let Err(error) = self.append(&format!("-{id}\n")) {
            tracing::warn!(container = %id, %error, "cannot record the deletion of a replica: it counts as existing");
        }
    }

    fn append(&self, line: &str) -> Result<()> {
        let mut open = self.file.lock();
        let written = match open.as_mut() {
            Some(file) => file.write_all(line.as_bytes()).and_then(|()| file.sync_data()),
            None => Err(io::Error::other("an earlier write failed")),
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

/// Parses the lines; `None` if one before the last is invalid.
fn read(text: &[u8]) -> Option<Lines> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
    let mut lines = text.get(..whole)?.split_inclusive(|byte| *byte == b'\n').peekable();
    let mut all = Lines::default();
    while let Some(line) = lines.next() {
        match change(line) {
            Some((id, true)) => {
                all.ended.remove(&id);
                all.begun.insert(id);
            }
            Some((id, false)) => {
                all.begun.remove(&id);
                all.ended.insert(id);
            }
            None if lines.peek().is_none() => {}
            None => return None,
        }
    }
    Some(all)
}

/// Parses a line: a replica was created here, or deleted.
fn change(line: &[u8]) -> Option<(ContainerId, bool)> {
    let line = std::str::from_utf8(line).ok()?.trim_end_matches('\n');
    match line.strip_prefix('-') {
        Some(gone) => Some((ContainerId(gone.parse().ok()?), false)),
        None => Some((ContainerId(line.parse().ok()?), true)),
    }
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
        let (journal, lost) = EcReplicaJournal::open(path.clone(), &ids(&[1])).unwrap();
        assert_eq!(lost, []);
        [2, 3, 4].into_iter().try_for_each(|id| journal.add(ContainerId(id))).unwrap();
        journal.remove(ContainerId(3));
        drop(journal);
        let (journal, lost) = EcReplicaJournal::open(path.clone(), &ids(&[1, 2])).unwrap();
        assert_eq!(lost, [ContainerId(4)]);
        drop(journal);
        // It stays lost, and the unacknowledged one does not exist.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"55").unwrap();
        let (_, lost) = EcReplicaJournal::open(path.clone(), &ids(&[1, 2])).unwrap();
        assert_eq!(lost, [ContainerId(4)]);
        // A write that failed is the last one: a line after half of another would be misread.
        let (journal, _) = EcReplicaJournal::open(path.clone(), &ids(&[])).unwrap();
        *journal.file.lock() = Some(File::open(&path).unwrap());
        assert!(journal.add(ContainerId(6)).is_err(), "it is open for reading only");
        assert!(journal.file.lock().is_none());
        assert!(journal.add(ContainerId(7)).is_err());
        fs::write(&path, b"4\nfive\n6\n").unwrap();
        assert!(EcReplicaJournal::open(path, &ids(&[])).is_err());
    }

    #[test]
    fn what_was_deleted_has_ended_until_a_copy_of_it_comes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let (journal, _) = EcReplicaJournal::open(path.clone(), &ids(&[1, 2])).unwrap();
        [1, 2].into_iter().for_each(|id| journal.remove(ContainerId(id)));
        assert!(journal.has_ended(ContainerId(1)) && journal.has_ended(ContainerId(2)));
        journal.add(ContainerId(2)).unwrap();
        assert!(!journal.has_ended(ContainerId(2)));
        drop(journal);
        for _ in 0..2 {
            let (journal, lost) = EcReplicaJournal::open(path.clone(), &ids(&[2])).unwrap();
            assert_eq!(lost, [], "it was not lost");
            assert!(journal.has_ended(ContainerId(1)) && !journal.has_ended(ContainerId(2)));
        }
    }

    #[test]
    fn a_last_line_that_a_loss_of_power_spoilt_does_not_count() {
        for torn in [&b"4\n\0\0\0\n"[..], b"4\n\0\0\0", b"4\n\0\x005\n", b"4\n-\n", b"4\n5"] {
            assert_eq!(read(torn).map(|all| all.begun), Some(ids(&[4])), "{torn:?}");
        }
        assert_eq!(read(b"4\n\0\0\n5\n"), None, "what was durable is damaged");
        assert_eq!(read(b"4\n\n-4\n"), None);
    }

    #[test]
    fn a_deletion_is_durable_before_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let (journal, _) = EcReplicaJournal::open(path.clone(), &ids(&[1])).unwrap();
        journal.remove(ContainerId(1));
        // A file that cannot be synced, such as a pipe, takes no more lines.
        let (_reader, writer) = io::pipe().unwrap();
        *journal.file.lock() = Some(File::from(std::os::fd::OwnedFd::from(writer)));
        journal.remove(ContainerId(2));
        assert!(journal.file.lock().is_none(), "the deletion was not synced");
        assert!(journal.add(ContainerId(3)).is_err());
    }
}
