//! Containers on a real disk, for unit tests of what the DataNode does with them.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use blockio::{Faults, FaultyBackend};
use containerstore::{ContainerStore, DataDirectory, Disk, NewContainer, StorageOptions};
use tempfile::TempDir;
use types::{ContainerId, DatanodeId};

/// The container that is there at first, open and empty.
pub(crate) const CONTAINER: ContainerId = ContainerId(1);

/// A store on one disk with injectable [`faults`](Self::faults).
pub(crate) struct StoreOnDisk {
    pub store: ContainerStore,
    pub faults: Faults,
    /// Dropped last: a RocksDB that is closed after its files were deleted waits for a second.
    _dir: TempDir,
}

impl StoreOnDisk {
    pub fn new() -> Self {
        // On a real file system: tmpfs has no direct I/O and nothing to sync.
        let target =
            PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../target");
        let dir = TempDir::new_in(target).or_else(|_| TempDir::new()).unwrap();
        let data = DataDirectory::new(dir.path().join("disk"));
        let options = StorageOptions::new(vec![data], "CID-test", DatanodeId::random());
        let backend = FaultyBackend::default();
        let faults = backend.faults.clone();
        let make = move |_| -> Box<dyn blockio::Backend> { Box::new(backend.clone()) };
        let store = ContainerStore::open_on(options, Some(&make)).unwrap();
        store.create_container(NewContainer { id: CONTAINER, ..NewContainer::default() }).unwrap();
        Self { store, faults, _dir: dir }
    }

    /// Its disk.
    pub fn disk(&self) -> Arc<Disk> {
        self.store.disks()[0].clone()
    }
}
