//! Replicas that are moved to another disk, and sources of finished moves.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use types::ContainerId;

use super::ContainerStore;
use crate::containers::Container;
use crate::disk::Disk;

/// A source replica of a finished move.
pub(crate) struct Retired {
    pub container: Arc<Container>,
    pub since: Instant,
}

/// The relocations of a store.
#[derive(Default)]
pub(crate) struct Relocations {
    under_way: Mutex<FxHashSet<ContainerId>>,
    retired: Mutex<Vec<Retired>>,
}

/// A relocation in progress, until it is dropped; or another reason for a replica to stay.
pub(crate) struct RelocationClaim<'a> {
    all: &'a Relocations,
    id: ContainerId,
}

impl Relocations {
    /// Returns `true` if a replica of the container is being moved.
    pub(crate) fn is_under_way(&self, id: ContainerId) -> bool {
        self.under_way.lock().contains(&id)
    }

    /// Claims the move of the replica until the claim is dropped; `None` if there is another claim.
    pub(crate) fn claim(&self, id: ContainerId) -> Option<RelocationClaim<'_>> {
        let is_free = self.under_way.lock().insert(id);
        // Not `then_some`: a claim that is created and dropped ends the existing one.
        is_free.then(|| RelocationClaim { all: self, id })
    }

    /// Records that a replica was replaced by its copy.
    pub(crate) fn retire(&self, container: &Arc<Container>) {
        let container = Arc::clone(container);
        self.retired.lock().push(Retired { container, since: Instant::now() });
    }

    /// Returns `true` if there is a source replica of the container left by a move.
    pub(crate) fn has_retired(&self, id: ContainerId) -> bool {
        self.retired.lock().iter().any(|retired| retired.container.id() == id)
    }

    /// Takes out the ones to be removed.
    pub(crate) fn take(&self, goes: impl Fn(&Retired) -> bool) -> Vec<Retired> {
        let mut retired = self.retired.lock();
        let (gone, kept) = std::mem::take(&mut *retired).into_iter().partition(goes);
        *retired = kept;
        gone
    }
}

impl Drop for RelocationClaim<'_> {
    fn drop(&mut self) {
        self.all.under_way.lock().remove(&self.id);
    }
}

impl ContainerStore {
    /// Returns the number of moved replicas that are still on their source disks.
    pub fn retired(&self) -> usize {
        self.relocations().retired.lock().len()
    }

    /// Returns the bytes of a disk that the removal of moved replicas will free.
    pub fn retired_bytes(&self, disk: &Disk) -> u64 {
        let retired = self.relocations().retired.lock();
        let here = retired.iter().filter(|retired| retired.container.disk().id() == disk.id());
        here.map(|retired| retired.container.info().used).fold(0, u64::saturating_add)
    }
}
