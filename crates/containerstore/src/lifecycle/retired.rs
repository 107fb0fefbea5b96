//! Replicas that were moved to another disk: their files are deleted later, so that reads in
//! progress can finish.

use std::sync::Arc;
use std::time::Duration;

use types::ContainerId;

use crate::containers::take_away;
use crate::error::Result;
use crate::store::{ContainerStore, Retired};

impl ContainerStore {
    /// Removes replicas that were moved at least `delay` ago and have no readers. Returns their
    /// number. Blocks.
    ///
    /// # Errors
    /// When a disk fails. The next start removes the rest.
    pub fn remove_retired(&self, delay: Duration) -> Result<usize> {
        let goes = |retired: &Retired| {
            let container = &retired.container;
            // What a flush might still write of it.
            container.disk().dirty.lock().remove(&container.id());
            retired.since.elapsed() >= delay && Arc::strong_count(container) == 1
        };
        let gone = self.relocations().take(goes);
        let outcomes: Vec<_> = gone.iter().map(|retired| self.remove_one(retired)).collect();
        outcomes.into_iter().collect::<Result<()>>()?;
        Ok(gone.len())
    }

    /// Removes the container's replicas on other disks, before it is removed itself: otherwise the
    /// next start would find one, and serve it. Blocks.
    pub(crate) fn remove_retired_of(&self, id: ContainerId) -> Result<()> {
        let gone = self.relocations().take(|retired| retired.container.id() == id);
        gone.iter().try_for_each(|retired| self.remove_one(retired))
    }

    fn remove_one(&self, retired: &Retired) -> Result<()> {
        let container = &retired.container;
        let _lock = self.creation_locks().lock(container.id());
        if self.serves_from(container.id(), container.disk()) {
            // It was recreated in the same place.
            return Ok(());
        }
        let outcome = container.disk().flush().and_then(|()| take_away(container, || {}));
        if outcome.is_err() && container.disk().failure().is_none() {
            // Except on a disk that has failed: it is never written again.
            self.relocations().retire(container);
        }
        outcome
    }
}
