//! Whether the log in a directory is the one that its manifest is about.
//!
//! | manifest | id in the directory | log files | what that is |
//! | --- | --- | --- | --- |
//! | none | none | none | a new log |
//! | none | none | some | a log of a version without manifests |
//! | none | some | | the manifest was lost, with the state machines perhaps: the log stands for itself |
//! | some | the same | as far as they were synced | as it should be |
//! | some | | none | **the log was lost** |
//! | some | another, or none | some | the log of something else: refused |
//!
//! A log that was lost is not begun anew before a group starts on it ([`Identity::adopt`]): a disk
//! that was only not mounted can still come back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use super::check;
use super::manifest::{Completeness, Manifest, ManifestFile, replace};
use super::synced::SyncedFile;
use crate::error::LogError;

/// The file in the log's directory that holds its id.
pub(super) const ID: &str = "ID";

/// What a directory and its manifest say of the log in it.
pub(crate) struct Identity {
    dir: PathBuf,
    pub(crate) manifest: ManifestFile,
    /// How far the files must reach.
    pub(super) synced: SyncedFile,
    /// Whether what is acknowledged is synced.
    fsync: bool,
    /// An operator goes on without what a lost log had.
    pub(crate) accepted: bool,
    /// Whether a group has started since the directory was opened.
    adopted: AtomicBool,
    /// Held while a group adopts the log: several start at a time.
    adopting: Mutex<()>,
}

fn beside(manifest: &Path, suffix: &str) -> PathBuf {
    let mut path = manifest.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Where it is noted how far the log is synced.
pub(super) fn synced_path(manifest: &Path) -> PathBuf {
    beside(manifest, ".synced")
}

/// The file by which an operator says that a group is to go on without what its lost log had.
pub(crate) fn accept_path(manifest: &Path) -> PathBuf {
    beside(manifest, ".accept-loss")
}

impl Identity {
    /// Brings directory and manifest together, without changing either if there is a log that is
    /// known.
    ///
    /// # Errors
    /// When files cannot be read or written, or the log is another one.
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
                tracing::warn!(log = %dir.display(), manifest = %path.display(), "a raft log has no manifest; it gets one");
                (Manifest::new(id), true)
            }
            (None, None) => {
                let new = Manifest::new(Uuid::new_v4());
                if files {
                    // First this, for a log of an older version: files without an id would be those
                    // of another log.
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

    /// The log is about to be used: from now on it is the one that the manifest is about.
    ///
    /// # Errors
    /// When that cannot be written.
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

    /// Writes what has changed since, if the log is in use.
    pub(super) fn persist(&self) {
        if !self.adopted.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.manifest.persist() {
            // It still says less than is true: after a restart the replica asks its leader again.
            tracing::warn!(%error, "the manifest of a raft log was not written");
        }
    }

    /// What an operator allowed is recorded, and not allowed once more.
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

/// The manifest of the log that takes the place of a lost one.
fn lost(dir: &Path, known: Manifest) -> Manifest {
    if !known.groups.is_empty() {
        tracing::error!(
            log = %dir.display(), groups = known.groups.len(),
            "the raft log that was here is lost: its groups do not vote until they have what their leaders have committed"
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
