//! A container's first moment.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use container::ContainerState;
use rustc_hash::{FxHashMap, FxHashSet};
use types::{ContainerId, LocalId, PipelineId, StorageType};

use super::file::ContainerFile;
use super::{Container, DeletedBeforeWrite, Fixed, Meta, Sealed, Segments, Sums, Traffic};
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::lock_order::{OrderedMutex, Rank};
use crate::scan_history::ScanTimes;

/// State in which a container is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InitialState {
    /// For writes of clients.
    #[default]
    Open,
    /// To be filled from other replicas.
    Recovering,
}

/// A container to be created.
#[derive(Debug, Clone, Default)]
pub struct NewContainer {
    /// Its number.
    pub id: ContainerId,
    /// Its index in an EC group, else 0.
    pub replica_index: i32,
    /// The pipeline that writes it.
    pub pipeline: Option<PipelineId>,
    /// Its disk; chosen when `None`.
    pub disk: Option<Arc<Disk>>,
    /// The storage type of the chosen disk, if one has space; any type if `None`.
    pub storage_type: Option<StorageType>,
    /// Its state.
    pub state: InitialState,
}

impl Container {
    pub(crate) fn assemble(
        disk: Arc<Disk>,
        file: ContainerFile,
        sums: Sums,
        segments: Segments,
        deleted_early: FxHashMap<LocalId, DeletedBeforeWrite>,
    ) -> Arc<Self> {
        let dir = disk.container_dir(file.id);
        let id = file.id;
        let lock = |rank| OrderedMutex::of_container(rank, id, ());
        let meta = Meta {
            state: file.state,
            sealed: file.sealed,
            sums,
            deleted_early,
            deletions: 0,
            deletions_flush: 0,
            finalized: FxHashSet::default(),
        };
        Arc::new(Self {
            id,
            chunks: dir.join("chunks"),
            dir,
            disk,
            fixed: file.fixed,
            meta: OrderedMutex::of_container(Rank::Meta, id, meta),
            commit: lock(Rank::Commit),
            changing: lock(Rank::Changing),
            segments: OrderedMutex::of_container(Rank::Segments, id, segments),
            writing: lock(Rank::Writing),
            traffic: Traffic::default(),
            writes: OnceLock::new(),
            scanned: ScanTimes::default(),
            full: AtomicBool::new(false),
            unseen: AtomicBool::new(false),
        })
    }

    /// Creates the directories and the `.container` file, durably. No other thread may have the id
    /// yet.
    pub(crate) fn create(
        new: &NewContainer,
        disk: Arc<Disk>,
        origin: String,
        max_size: u64,
    ) -> Result<Arc<Self>> {
        disk.check_room(0)?;
        let file = ContainerFile {
            id: new.id,
            state: match new.state {
                InitialState::Open => ContainerState::Open,
                InitialState::Recovering => ContainerState::Recovering,
            },
            fixed: Fixed {
                pipeline: new.pipeline,
                origin,
                replica_index: new.replica_index,
                max_size,
            },
            sealed: None,
        };
        let dir = disk.container_dir(new.id);
        make_directories(&disk, &dir)?;
        file.write(&disk, &dir)?;
        Ok(Self::assemble(disk, file, Sums::default(), Segments::default(), FxHashMap::default()))
    }

    pub(crate) fn write_file(&self, state: ContainerState) -> Result<()> {
        let (fixed, sealed) = (self.fixed.clone(), self.sealed());
        ContainerFile { id: self.id, state, fixed, sealed }.write(&self.disk, &self.dir)
    }

    pub(crate) fn sealed(&self) -> Option<Sealed> {
        self.meta.lock().sealed
    }

    /// Makes the rows durable and records the minimum of their counts. No write may follow. Blocks.
    pub(crate) fn seal(&self) -> Result<()> {
        let sums = {
            // The tables have the present sums.
            let _commit = self.commit.lock();
            self.sums()
        };
        self.disk.flush()?;
        self.meta.lock().sealed = sums.seal();
        Ok(())
    }

    pub(crate) fn set_state(&self, state: ContainerState) {
        self.meta.lock().state = state;
    }
}

/// `<id>`, `metadata` and `chunks`, with the names above them durable.
fn make_directories(disk: &Disk, dir: &Path) -> Result<()> {
    let make = |name| fs::create_dir_all(dir.join(name)).map_err(|e| StorageError::file(dir, e));
    make("metadata")?;
    make("chunks")?;
    dir.ancestors().take(3).try_for_each(|path| disk.sync_names(path))
}
