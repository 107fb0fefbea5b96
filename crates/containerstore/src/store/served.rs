//! Which replicas are here: those that are made, come from other nodes or disks, or go.

use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use super::ContainerStore;
use crate::containers::{Container, InitialState, NewContainer, drop_left_rows};
use crate::creation_lock::CopyState;
use crate::disk::{ANY_TRANSACTION, Disk, types_for};
use crate::error::{Result, StorageError};

impl ContainerStore {
    /// Makes a container; says whether it was made now. One that a pipeline's log makes ends a copy
    /// of it that is arriving. Blocks when it is made.
    ///
    /// # Errors
    /// When the container was here and is lost or has ended, has another replica index, is being
    /// copied to here and no log makes it, or the disk fails.
    pub fn create_container(&self, new: NewContainer) -> Result<bool> {
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let _lock = self.inner.creation_locks.lock(new.id);
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let is_missing = self.inner.missing.lock().contains(&new.id);
        if is_missing || self.has_ended(&new) || self.has_duplicate(new.id) {
            return Err(StorageError::ContainerMissing(new.id));
        }
        if new.pipeline.is_none() && self.inner.creation_locks.has_copy(new.id) {
            return Err(StorageError::BeingMade(new.id));
        }
        if new.state == InitialState::Open {
            self.inner.begins(new.id, new.replica_index)?;
        }
        let options = &self.inner.options;
        let disk = match &new.disk {
            Some(disk) => Arc::clone(disk),
            None => self.choose_disk(&types_for(new.storage_type), options.container_size)?,
        };
        let ended = self.inner.creation_locks.end_copy(new.id, disk.id());
        // To the end of it: the copy is discarded before or behind it.
        let _step = ended.as_ref().map(|copy| copy.step());
        if let Some(there) = self.find(new.id) {
            // The copy was published just before.
            return same_replica(&there, &new).map(|()| false);
        }
        drop_left_rows(&disk, new.id)?;
        let origin = options.datanode.to_string();
        let container = Container::create(&new, disk, origin, options.container_size)?;
        self.inner.containers.insert(container);
        self.note_changed(new.id);
        Ok(true)
    }

    /// Whether a replica of an erasure-coded container was deleted here.
    fn has_ended(&self, new: &NewContainer) -> bool {
        let journal = self.inner.ec_replicas.as_ref().filter(|_| new.replica_index > 0);
        journal.is_some_and(|journal| journal.has_ended(new.id))
    }

    /// Takes in a container that came from another node: `move_in` puts it into its place. One that
    /// was lost here is here again. The caller is in a step of the copy. Blocks.
    pub(crate) fn publish(
        &self,
        copy: &CopyState,
        id: ContainerId,
        replica_index: i32,
        move_in: impl FnOnce() -> Result<Arc<Container>>,
    ) -> Result<()> {
        if self.find(id).is_some() {
            return Err(StorageError::AlreadyHere(id));
        }
        self.inner.begins(id, replica_index)?;
        let container = move_in()?;
        // Its pipeline may make it on another disk meanwhile, and waits for no other disk.
        let published = self.inner.creation_locks.publish(copy, || {
            self.inner.missing.lock().remove(&id);
            self.inner.containers.insert(Arc::clone(&container));
        });
        published.ok_or(StorageError::AlreadyHere(id))?;
        self.checksums().note(&container);
        self.note_changed(id);
        Ok(())
    }

    /// Whether the replica that is served lies on this disk.
    pub(crate) fn serves_from(&self, id: ContainerId, disk: &Disk) -> bool {
        self.find(id).is_some_and(|there| there.disk().id() == disk.id())
    }

    /// Serves a copy on another disk instead of a replica: `move_in` puts it into its place, while
    /// neither the state nor the rows of the replica change. Blocks.
    pub(crate) fn replace<T>(
        &self,
        old: &Arc<Container>,
        move_in: impl FnOnce() -> Result<(Arc<Container>, T)>,
    ) -> Result<T> {
        let id = old.id();
        let _lock = self.inner.creation_locks.lock(id);
        let _one = old.changing.lock();
        let _commit = old.commit.lock();
        let (copy, moved) = move_in()?;
        // A thread that waits for one of the locks sees by it that another replica is served.
        old.set_state(ContainerState::Deleted);
        let (from, to) = (old.disk(), Arc::clone(copy.disk()));
        let deletes = copy.sums().pending_delete > 0;
        copy.continue_counting(old);
        self.inner.missing.lock().remove(&id);
        self.checksums().note(&copy);
        self.inner.containers.insert(copy);
        self.inner.relocations.retire(old);
        from.deleting.lock().remove(id);
        from.dirty.lock().remove(&id);
        if deletes {
            to.deleting.lock().add(id, ANY_TRANSACTION);
        }
        // SCM is told how many blocks it has: those that are deleted were not copied.
        self.note_changed(id);
        tracing::info!(container = %id, from = from.id(), to = to.id(), "container moved to another disk");
        Ok(moved)
    }

    /// Gives the containers of a disk that has failed up: they count as lost here, until copies of
    /// them come from other nodes. Says which they are.
    pub fn leave(&self, disk: &Disk) -> Vec<ContainerId> {
        let here = |container: &Arc<Container>| container.disk().id() == disk.id();
        let left: Vec<_> = self.all().iter().filter(|c| here(c)).map(|c| c.id()).collect();
        self.leave_duplicates(disk);
        // Missing first: no thread may make an empty one in between.
        self.inner.missing.lock().extend(left.iter().copied());
        for id in &left {
            self.inner.containers.remove_if(*id, here);
            self.inner.changed.lock().remove(id);
            self.serve_duplicate(*id);
        }
        left
    }

    /// `was` is the state that it was deleted in. One that somebody filled was never begun.
    pub(crate) fn forget(&self, container: &Arc<Container>, was: ContainerState) {
        let id = container.id();
        let ends = container.replica_index() > 0 && was != ContainerState::Recovering;
        if let Some(journal) =
            self.inner.ec_replicas.as_ref().filter(|_| ends && self.is_served(container))
        {
            // First: no thread may make one in between.
            journal.remove(id);
        }
        self.inner.containers.remove_if(id, |there| Arc::ptr_eq(there, container));
        self.inner.changed.lock().remove(&id);
    }
}

fn same_replica(there: &Container, new: &NewContainer) -> Result<()> {
    let (has, asked) = (there.info().replica_index, new.replica_index);
    if has == asked { Ok(()) } else { Err(StorageError::ReplicaIndex { id: new.id, has, asked }) }
}
