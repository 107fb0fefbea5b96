//! Selection of replicas that can be reconciled, and the damage of one.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use container::ContainerState;
use rustc_hash::FxHashSet;
use types::ContainerId;

use super::{BLOCKS_OF, Reconcile};
use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::merkle::Damage;
use crate::scan::{Pace, damage_of_blocks};
use crate::store::ContainerStore;

impl ContainerStore {
    /// Begins to reconcile a replica. An UNHEALTHY one is read completely first, at this pace, to
    /// find its damage.
    ///
    /// # Errors
    /// When it takes writes, is of an erasure-coded container, is moved or replayed, became
    /// UNHEALTHY while it took writes and its pipeline is still here, or cannot be read.
    pub async fn begin_reconcile(&self, id: ContainerId, pace: &dyn Pace) -> Result<Reconcile<'_>> {
        let container = self.container(id)?;
        let refuse = |why| StorageError::not_reconciled(id, why);
        let stays = self.relocations().claim(id);
        let stays = stays.ok_or_else(|| refuse("it is moved to another disk"))?;
        check(&container)?;
        container.disk().check()?;
        // Later deletions do not count: it is compared as it is now.
        let delete_tx = container.sums().delete_tx;
        let damage = match container.state() {
            ContainerState::Unhealthy => damage_of_blocks(&container, pace).await?,
            _ => Some(Damage::default()),
        };
        let damage = damage.ok_or_else(|| refuse("it cannot be read now"))?;
        let dir = container.disk().arrivals_dir().join(format!("{BLOCKS_OF}{id}"));
        let (of, place) = (Arc::clone(&container), dir.clone());
        let (damage, tree) = container
            .blocking(move || {
                make_empty(&place)?;
                let tree = of.tree(&damage)?.finish();
                Ok((damage, tree))
            })
            .await?;
        Ok(Reconcile {
            store: self,
            container,
            damage,
            tree,
            delete_tx,
            dir,
            taken: FxHashSet::default(),
            bytes: 0,
            _stays: stays,
        })
    }
}

/// Checks that a replica can be reconciled in its present state.
pub(super) fn check(container: &Container) -> Result<()> {
    let (id, state) = (container.id(), container.state());
    let refuse = |why| Err(StorageError::not_reconciled(id, why));
    match state {
        ContainerState::Closed | ContainerState::QuasiClosed | ContainerState::Unhealthy => {}
        _ => return Err(StorageError::NotClosed { id, state }),
    }
    if container.replica_index() > 0 {
        return refuse("its container is erasure-coded");
    }
    if container.is_replaying() {
        return refuse("its pipeline replays its log");
    }
    let has_pipeline = |id| container.disk().pipelines.lock().contains_key(&id);
    let was_closed = container.sealed().is_some();
    if state == ContainerState::Unhealthy
        && !was_closed
        && container.pipeline().is_some_and(has_pipeline)
    {
        return refuse("it is UNHEALTHY, was never closed, and its pipeline is still here");
    }
    Ok(())
}

fn make_empty(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StorageError::disk(dir, error));
        }
        _ => {}
    }
    fs::create_dir_all(dir).map_err(|error| StorageError::file(dir, error))
}

impl Container {
    /// Runs disk operations outside of the async workers.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let joined = tokio::task::spawn_blocking(work).await;
        joined.map_err(|error| StorageError::disk(self.path(), error))?
    }
}
