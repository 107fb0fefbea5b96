//! Choice of a new pipeline's disk.

use std::cmp::Reverse;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::{PipelineId, StorageType};

use super::{PipelineError, Pipelines};
use containerstore::Disk;

/// Pipelines that are being created: their disks and the number of their members. Several may be
/// created at once.
#[derive(Default)]
pub(super) struct DiskReservations {
    pipelines: Mutex<FxHashMap<PipelineId, (String, usize)>>,
}

/// A reservation on a disk, until the pipeline runs there or cannot be made.
pub(super) struct DiskReservation<'a> {
    pub(super) disk: Arc<Disk>,
    id: PipelineId,
    reservations: &'a DiskReservations,
}

impl Drop for DiskReservation<'_> {
    fn drop(&mut self) {
        self.reservations.pipelines.lock().remove(&self.id);
    }
}

impl Pipelines {
    /// Returns the disk of that storage type with the fewest pipelines of as many members; of
    /// several such the one with the fewest pipelines, then the one with the most space.
    pub(super) fn choose_disk(
        &self,
        id: PipelineId,
        members: usize,
        storage_type: Option<StorageType>,
    ) -> Result<DiskReservation<'_>, PipelineError> {
        let (parts, reservations) = (self.parts(), self.reservations());
        let mut others = reservations.pipelines.lock();
        let mut load: FxHashMap<String, (usize, usize)> = FxHashMap::default();
        let mut count = |disk: &str, of: usize| {
            let (same, all) = load.entry(disk.to_owned()).or_default();
            *same += usize::from(of == members);
            *all += 1;
        };
        for pipeline in self.all() {
            if !others.contains_key(&pipeline.id) {
                count(pipeline.disk.id(), pipeline.peers.len());
            }
        }
        others.values().for_each(|(disk, of)| count(disk, *of));
        let works =
            |disk: &&Arc<Disk>| parts.logs.contains_key(disk.id()) && self.failure(disk).is_none();
        let fits = |disk: &&Arc<Disk>| storage_type.is_none_or(|of| disk.storage_type() == of);
        let usable = parts.store.disks().iter().filter(works).filter(fits);
        let best = usable.min_by_key(|disk| {
            let load = load.get(disk.id()).copied().unwrap_or_default();
            (load, Reverse(disk.space().available))
        });
        let disk = match best {
            Some(disk) => disk.clone(),
            // Takes the store's error as the reason.
            None => {
                let types = storage_type.map_or(StorageType::ANY.to_vec(), |of| vec![of]);
                parts.store.choose_disk(&types, 0)?
            }
        };
        others.insert(id, (disk.id().to_owned(), members));
        Ok(DiskReservation { disk, id, reservations })
    }
}
