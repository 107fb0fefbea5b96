//! The replicas that are here, by container and by pipeline.

use std::collections::BTreeSet;
use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use types::{ContainerId, PipelineId};

use crate::containers::Container;

/// One replica of each container that is here.
///
/// Each heartbeat needs the containers of all pipelines, which are few, while a node may have
/// hundreds of thousands of replicas: so they are also indexed by pipeline.
#[derive(Default)]
pub(crate) struct Replicas {
    by_id: DashMap<ContainerId, Arc<Container>, FxBuildHasher>,
    /// Changed while the container's entry above is held, so that both always agree.
    by_pipeline: Mutex<FxHashMap<PipelineId, BTreeSet<ContainerId>>>,
}

impl Replicas {
    pub(crate) fn get(&self, id: ContainerId) -> Option<Arc<Container>> {
        self.by_id.get(&id).map(|entry| Arc::clone(entry.value()))
    }

    /// Serves this replica of its container from now on.
    pub(crate) fn insert(&self, container: Arc<Container>) {
        match self.by_id.entry(container.id()) {
            Entry::Occupied(mut there) => {
                self.leave_pipeline(there.get());
                self.join_pipeline(&container);
                there.insert(container);
            }
            Entry::Vacant(place) => {
                self.join_pipeline(&container);
                place.insert(container);
            }
        }
    }

    /// Removes the replica of a container from the set, if `matches` accepts it.
    pub(crate) fn remove_if(&self, id: ContainerId, matches: impl Fn(&Arc<Container>) -> bool) {
        self.by_id.remove_if(&id, |_, container| {
            let goes = matches(container);
            if goes {
                self.leave_pipeline(container);
            }
            goes
        });
    }

    /// All containers, in order.
    pub(crate) fn ids(&self) -> Vec<ContainerId> {
        let mut ids: Vec<_> = self.by_id.iter().map(|entry| *entry.key()).collect();
        ids.sort_unstable();
        ids
    }

    /// The containers that were written through a pipeline, in order.
    pub(crate) fn of_pipeline(&self, pipeline: PipelineId) -> Vec<ContainerId> {
        let by_pipeline = self.by_pipeline.lock();
        by_pipeline.get(&pipeline).map(|ids| ids.iter().copied().collect()).unwrap_or_default()
    }

    /// Calls `each` with every replica. The map is locked in part meanwhile: `each` must neither
    /// read nor change the set of replicas.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Arc<Container>)) {
        self.by_id.iter().for_each(|entry| each(entry.value()));
    }

    fn join_pipeline(&self, container: &Container) {
        if let Some(pipeline) = container.pipeline() {
            self.by_pipeline.lock().entry(pipeline).or_default().insert(container.id());
        }
    }

    fn leave_pipeline(&self, container: &Container) {
        let Some(pipeline) = container.pipeline() else { return };
        let mut by_pipeline = self.by_pipeline.lock();
        if let Some(ids) = by_pipeline.get_mut(&pipeline) {
            ids.remove(&container.id());
            if ids.is_empty() {
                by_pipeline.remove(&pipeline);
            }
        }
    }
}
