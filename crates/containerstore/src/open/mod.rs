//! Opening: all disks concurrently, their contents, and missing replicas.
//!
//! * [`load`]: the containers of a disk;
//! * [`arrivals`]: copies that were cut off go;
//! * [`duplicate_replicas`]: which of two replicas of a container is served.

mod arrivals;
mod duplicate_replicas;
mod load;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use blockio::{Backend, deadline};

use self::duplicate_replicas::{Loaded, Resolved};
use self::load::{LoadedDisk, load_all};
use crate::disk::Disk;
use crate::ec_replica_journal::EcReplicaJournal;
use crate::error::{Result, StorageError};
use crate::options::{DataDirectory, StorageOptions};
use crate::store::{ContainerStore, StoreParts, Unopened};

/// Creates the I/O backend of each disk, by the disk's place in the options.
pub type Backends<'a> = &'a (dyn Fn(usize) -> Box<dyn Backend> + Sync);

impl ContainerStore {
    /// Opens the disks and loads their containers. A disk that cannot be opened, or not in time, is
    /// left out if there is another one. Blocks.
    ///
    /// # Errors
    /// When a directory is in use, foreign or newer, which only the operator can fix, or none can
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
        let mut parts = StoreParts::new(options);
        let (mut all, mut damaged, mut last) = (Loaded::default(), Vec::new(), None);
        for (at, opened) in opened.into_iter().enumerate() {
            let (disk, loaded) = match opened {
                Ok(opened) => opened,
                Err(error @ StorageError::DataDir(_)) => return Err(error),
                Err(error) => {
                    let Some(dir) = parts.options.dirs.get(at) else { return Err(error) };
                    tracing::error!(path = %dir.path.display(), %error, "cannot open a disk, continuing without it");
                    parts.unopened.push(Unopened {
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
            parts.disks.push(disk);
            parts.missing.extend(loaded.missing.iter().copied());
            all.add(loaded);
        }
        let Resolved { served, duplicates } = all.resolve();
        parts.duplicates = duplicates;
        for (container, damage) in served {
            damaged.extend(damage.map(|why| (Arc::clone(&container), why)));
            parts.replicas.insert(container);
        }
        if let Some(error) = last.filter(|_| parts.disks.is_empty()) {
            return Err(error);
        }
        open_journal(&mut parts)?;
        let store = Self::new(parts);
        for (container, why) in damaged {
            let id = container.id();
            // One that cannot be marked, on a disk that is full or has failed, does not stop the
            // others.
            if let Err(error) = store.mark_damaged(&container, &why) {
                tracing::error!(container = %id, why, %error, "cannot mark a damaged replica UNHEALTHY");
            }
        }
        for container in store.all() {
            store.check_fullness(&container);
            store.checksums().note(&container);
        }
        Ok(store)
    }
}

/// Erasure-coded replicas that were here and are on no disk are lost. Blocks.
fn open_journal(parts: &mut StoreParts) -> Result<()> {
    let Some(path) = parts.options.ec_replica_journal.clone() else { return Ok(()) };
    let mut here = BTreeSet::new();
    parts.replicas.for_each(|container| {
        if container.replica_index() > 0 {
            here.insert(container.id());
        }
    });
    let (journal, lost) = EcReplicaJournal::open(path, &here)?;
    // They take no more writes: SCM closes those that are open.
    parts.full.extend(&lost);
    if !lost.is_empty() {
        tracing::warn!(count = lost.len(), first = ?lost.first(), "replicas of this disk are lost");
    }
    parts.missing.extend(lost);
    parts.ec_replicas = Some(journal);
    Ok(())
}

/// Opens all disks concurrently: they are independent, and one that hangs delays no other one. A
/// disk that opens later is closed again.
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
            let reason = format!("it did not open: {late} within {:?}", options.open_timeout);
            Err(StorageError::disk(&dir.path, reason))
        })
    };
    opening.into_iter().zip(&options.dirs).map(finish).collect()
}
