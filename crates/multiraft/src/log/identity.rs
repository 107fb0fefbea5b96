//! Verifies that the log in a directory is the one of its manifest.
//!
//! | manifest | id in the directory | log files | meaning |
//! | --- | --- | --- | --- |
//! | none | none | none | a new log |
//! | none | none | some | a log of a version without manifests |
//! | none | some | | the manifest was lost, as perhaps the state machines: log accepted |
//! | some | the same | up to the synced position | normal |
//! | some | | none | **the log was lost** |
//! | some | another, or none | some | another log: rejected |
//!
//! A lost log is not recreated before a group starts on it ([`Identity::adopt`]): a disk that was
//! only not mounted can still come back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use super::check;
use super::manifest::{Completeness, Manifest, ManifestFile, replace};
use super::synced::SyncedFile;
use crate::error::LogError;

/// The file in the log's directory with its id.
pub(super) const ID: &str = "ID";

/// Identity of a log according to its directory and manifest.
pub(crate) struct Identity {
    dir: PathBuf,
    pub(crate) manifest: ManifestFile,
    /// The required extent of the files.
    pub(super) synced: SyncedFile,
    /// Acknowledged writes are synced.
    fsync: bool,
    /// An operator has accepted the loss of the log.
    pub(crate) accepted: bool,
    /// A group has started since the directory was opened.
    adopted: AtomicBool,
    /// Held while a group adopts the log: several may start concurrently.
    adopting: Mutex<()>,
}

fn beside(manifest: &Path, suffix: &str) -> PathBuf {
    let mut path = manifest.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The file of the log's synced position.
pub(super) fn synced_path(manifest: &Path) -> PathBuf {
    beside(manifest, ".synced")
}

/// The file with which an operator accepts that a group continues without its lost log.
pub(crate) fn accept_path(manifest: &Path) -> PathBuf {
    beside(manifest, ".accept-loss")
}

impl Identity {
    /// Compares directory and manifest, without changing either if there is a known log.
    ///
    /// # Errors
    /// If files cannot be read or written, or the log is another one.
    pub(super) fn establish(dir: &Path, path: &Path, fsync: bool) -> Result<Self, LogError> {
        let io = |error: std::io::Error| LogError::Io {
            path: dir.to_owned(),
            detail: error.to_string(),
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(io)?;
        }
        let recorded = Manifest::read(path)?;
        let id = read_id(dir)?;
        let files = check::any_data(dir).map_err(io)?;
        let accepted = accept_path(path).exists();
        let synced_of = |log| SyncedFile::read(synced_path(path), log).map_err(io);
        let foreign = |detail: String| LogError::Foreign {
            path: dir.to_owned(),
            manifest: path.to_owned(),
            detail,
        };
        let (manifest, changed) = match (recorded, id) {
            (Some(known), Some(id)) if known.log == id => {
                let empty = synced_of(id)?.known().append.file == 0;
                if files || empty { (known, false) } else { (lost(dir, known), true) }
            }
            (Some(known), _) if !files => (lost(dir, known), true),
            (Some(known), Some(id)) => {
                return Err(foreign(format!("its id is {id} instead of {}", known.log)));
            }
            (Some(known), None) => {
                let detail = format!("it has no file {ID}; that of the right log is {}", known.log);
                return Err(foreign(detail));
            }
            (None, Some(id)) => {
                tracing::warn!(log = %dir.display(), manifest = %path.display(), "creating the manifest of a raft log without one");
                (Manifest::new(id), true)
            }
            (None, None) => {
                let new = Manifest::new(Uuid::new_v4());
                if files {
                    // The id is written first, for a log of an older version: files without an id
                    // would count as those of another log.
                    write_id(dir, new.log).map_err(io)?;
                }
                (new, true)
            }
        };
        let synced = synced_of(manifest.log)?;
        let (mut manifest, mut changed) = (manifest, changed);
        if accepted {
            let incomplete = |c: &&mut Completeness| **c != Completeness::Complete;
            for known in manifest.groups.values_mut().filter(incomplete) {
                *known = Completeness::Accepted;
                changed = true;
            }
        }
        let manifest = ManifestFile::new(path.to_owned(), manifest, changed);
        let (adopted, adopting) = (AtomicBool::new(false), Mutex::new(()));
        let dir = dir.to_owned();
        Ok(Self { dir, manifest, synced, fsync, accepted, adopted, adopting })
    }

    /// Makes this the log of the manifest, just before its first use.
    ///
    /// # Errors
    /// If that cannot be written.
    pub(crate) fn adopt(&self) -> Result<(), LogError> {
        let _one = self.adopting.lock();
        self.manifest.persist()?;
        let log = self.manifest.log();
        if read_id(&self.dir)? != Some(log) {
            let io =
                |e: std::io::Error| LogError::Io { path: self.dir.clone(), detail: e.to_string() };
            if self.fsync {
                self.synced.begin().map_err(io)?;
            }
            write_id(&self.dir, log).map_err(io)?;
        }
        if !self.adopted.swap(true, Ordering::AcqRel) && self.accepted {
            self.use_up_acceptance();
        }
        Ok(())
    }

    /// Writes changes of the manifest, if the log is in use.
    pub(super) fn persist(&self) {
        if !self.adopted.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.manifest.persist() {
            // The file is outdated in the safe direction: after a restart the replica catches up
            // with its leader again.
            tracing::warn!(%error, "cannot write the manifest of a raft log");
        }
    }

    /// Records the operator's consent, and removes it so that it is used only once.
    fn use_up_acceptance(&self) {
        let path = accept_path(self.manifest.path());
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "remove this file: it allows the loss of a raft log");
            }
            _ => {}
        }
    }
}

/// The manifest of a log that replaces a lost one.
fn lost(dir: &Path, known: Manifest) -> Manifest {
    if !known.groups.is_empty() {
        tracing::error!(
            log = %dir.display(), groups = known.groups.len(),
            "the raft log is lost: its groups do not vote until they hold all entries committed by their leaders"
        );
    }
    let mark = |kept: Completeness| match kept {
        Completeness::Accepted => kept,
        _ => Completeness::Unknown { lost: true },
    };
    let groups = known.groups.into_iter().map(|(group, kept)| (group, mark(kept))).collect();
    Manifest { log: Uuid::new_v4(), groups, members: known.members }
}

fn read_id(dir: &Path) -> Result<Option<Uuid>, LogError> {
    let path = dir.join(ID);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::Io { path, detail: error.to_string() }),
    };
    let id = text.trim().parse();
    id.map(Some).map_err(|_| LogError::Corrupt { path, detail: String::from("not a uuid") })
}

fn write_id(dir: &Path, id: Uuid) -> std::io::Result<()> {
    replace(&dir.join(ID), format!("{id}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_groups_adopt_a_new_log_at_a_time() {
        for _ in 0..50 {
            let dir = tempfile::tempdir().unwrap();
            let log = dir.path().join("log");
            std::fs::create_dir(&log).unwrap();
            let identity =
                Identity::establish(&log, &dir.path().join("log.manifest"), true).unwrap();
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                let adopt = || {
                    start.wait();
                    identity.adopt()
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(adopt)).collect();
                for thread in threads {
                    thread.join().unwrap().unwrap();
                }
            });
            assert_eq!(read_id(&log).unwrap(), Some(identity.manifest.log()));
        }
    }
}
