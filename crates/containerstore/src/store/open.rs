//! Opening: all disks side by side, what each holds, and what is missing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use parking_lot::Mutex;
use service::Ages;

use super::{Backends, ContainerStore, Inner, Unopened};
use crate::containers::{Loaded, LoadedDisk, Resolved, load_all};
use crate::creation_lock::CreationLocks;
use crate::disk::Disk;
use crate::ec_replica_journal::EcReplicaJournal;
use crate::error::{Result, StorageError};
use crate::merkle::ChecksumsDue;
use crate::options::{DataDirectory, StorageOptions};
use crate::relocation::Relocations;
use crate::replicas::Replicas;
use blockio::deadline;

impl ContainerStore {
    /// Opens the disks and loads their containers. A disk that cannot be opened, or not in time, is
    /// left out, as long as there is another one. Blocks.
    ///
    /// # Errors
    /// When a directory is in use, foreign or newer, which only the operator can mend, or none can
    /// be opened.
    pub fn open(options: StorageOptions) -> Result<Self> {
        Self::open_on(options, None)
    }

    /// As [`open`](Self::open), over other backends: for tests of failing disks.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(options: StorageOptions, backends: Option<Backends<'_>>) -> Result<Self> {
        let opened = open_side_by_side(&options, backends);
        let inner = Inner {
            disks: Vec::new(),
            unopened: Vec::new(),
            unfreed_space: Vec::new(),
            suspects: Mutex::default(),
            deletion_ages: Ages::default(),
            checksums: ChecksumsDue::default(),
            containers: Replicas::default(),
            duplicates: Mutex::default(),
            missing: Mutex::default(),
            ec_replicas: None,
            changed: Mutex::default(),
            full: Mutex::default(),
            next_disk: AtomicUsize::new(0),
            creation_locks: CreationLocks::default(),
            relocations: Relocations::default(),
            options,
        };
        let (mut inner, mut all, mut damaged, mut last) =
            (inner, Loaded::default(), Vec::new(), None);
        for (at, opened) in opened.into_iter().enumerate() {
            let (disk, loaded) = match opened {
                Ok(opened) => opened,
                Err(error @ StorageError::DataDir(_)) => return Err(error),
                Err(error) => {
                    let Some(dir) = inner.options.dirs.get(at) else { return Err(error) };
                    tracing::error!(path = %dir.path.display(), %error, "a disk cannot be opened and is left out");
                    inner.unopened.push(Unopened {
                        path: dir.path.clone(),
                        raft_dir: dir.raft_dir.clone().unwrap_or_else(|| dir.path.join("ratis")),
                        reason: error.to_string(),
                    });
                    last = Some(error);
                    continue;
                }
            };
            tracing::info!(
                disk = disk.id(), path = %disk.path().display(), engine = disk.io().engine(),
                containers = loaded.containers.len(), from_rows = loaded.from_rows,
                missing = loaded.missing.len(),
                "disk opened"
            );
            inner.disks.push(disk);
            inner.unfreed_space.push(Mutex::default());
            inner.missing.get_mut().extend(loaded.missing.iter().copied());
            all.add(loaded);
        }
        let Resolved { served, duplicates } = all.resolve();
        *inner.duplicates.get_mut() = duplicates;
        for (container, damage) in served {
            damaged.extend(damage.map(|why| (Arc::clone(&container), why)));
            inner.containers.insert(container);
        }
        if let Some(error) = last.filter(|_| inner.disks.is_empty()) {
            return Err(error);
        }
        inner.open_journal()?;
        let store = Self { inner: Arc::new(inner) };
        for (container, why) in damaged {
            let id = container.id();
            // One that cannot be marked, on a disk that is full or has failed, keeps no other one.
            if let Err(error) = store.mark_damaged(&container, &why) {
                tracing::error!(container = %id, why, %error, "a damaged replica is not marked");
            }
        }
        for container in store.all() {
            store.check_fullness(&container);
            store.checksums().note(&container);
        }
        Ok(store)
    }
}

impl Inner {
    /// Erasure-coded replicas that were here and are on no disk are lost. Blocks.
    fn open_journal(&mut self) -> Result<()> {
        let Some(path) = self.options.ec_replica_journal.clone() else { return Ok(()) };
        let mut here = BTreeSet::new();
        self.containers.for_each(|container| {
            if container.replica_index() > 0 {
                here.insert(container.id());
            }
        });
        let (journal, lost) = EcReplicaJournal::open(path, &here)?;
        // Nothing can be written to them any more: SCM closes those that are open.
        self.full.get_mut().extend(&lost);
        if !lost.is_empty() {
            tracing::warn!(count = lost.len(), first = ?lost.first(), "replicas were here and are lost");
        }
        self.missing.get_mut().extend(lost);
        self.ec_replicas = Some(journal);
        Ok(())
    }
}

/// Opens all disks at a time: they know nothing of each other, and one that hangs holds up no
/// other. What it may still come to later is closed again.
fn open_side_by_side(
    options: &StorageOptions,
    backends: Option<Backends<'_>>,
) -> Vec<Result<(Arc<Disk>, LoadedDisk)>> {
    let deadline = Instant::now().checked_add(options.open_timeout);
    let begin = |(at, dir): (usize, &DataDirectory)| {
        let (dir, options) = (dir.clone(), options.clone());
        let backend = backends.map(|make| make(at));
        deadline::begin("open-disk", move || {
            let disk = Disk::open(&dir, &options, backend)?;
            let loaded = load_all(&disk, options.closed_from_rows)?;
            Ok((disk, loaded))
        })
    };
    let opening: Vec<_> = options.dirs.iter().enumerate().map(begin).collect();
    let finish = |(opening, dir): (deadline::Begun<_>, &DataDirectory)| {
        opening.wait_until(deadline).unwrap_or_else(|late| {
            let reason = format!("it does not open: {late} within {:?}", options.open_timeout);
            Err(StorageError::disk(&dir.path, reason))
        })
    };
    opening.into_iter().zip(&options.dirs).map(finish).collect()
}
