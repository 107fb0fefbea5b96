//! The set of served replicas: created, received from other nodes or disks, or removed.

use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use crate::containers::{Container, InitialState, NewContainer, drop_left_rows};
use crate::creation_lock::CopyState;
use crate::disk::{ANY_TRANSACTION, Disk, types_for};
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;

impl ContainerStore {
    /// Creates a container; returns `true` if it was created now. A creation by a pipeline's log
    /// ends a copy of it that is arriving. Blocks when it is created.
    ///
    /// # Errors
    /// When the container was here and is lost or has ended, has another replica index, is being
    /// copied to here and no log creates it, or the disk fails.
    pub fn create_container(&self, new: NewContainer) -> Result<bool> {
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let _lock = self.creation_locks().lock(new.id);
        if let Some(there) = self.find(new.id) {
            return same_replica(&there, &new).map(|()| false);
        }
        let is_missing = self.missing().lock().contains(&new.id);
        if is_missing || self.has_ended(&new) || self.has_duplicate(new.id) {
            return Err(StorageError::ContainerMissing(new.id));
        }
        if new.pipeline.is_none() && self.creation_locks().has_copy(new.id) {
            return Err(StorageError::BeingMade(new.id));
        }
        if new.state == InitialState::Open {
            self.note_begun(new.id, new.replica_index)?;
        }
        let options = self.options();
        let disk = match &new.disk {
            Some(disk) => Arc::clone(disk),
            None => self.choose_disk(&types_for(new.storage_type), options.container_size)?,
        };
        let ended = self.creation_locks().end_copy(new.id, disk.id());
        // Held to the end: the copy is discarded before or after it.
        let _step = ended.as_ref().map(|copy| copy.step());
        if let Some(there) = self.find(new.id) {
            // The copy was published just before.
            return same_replica(&there, &new).map(|()| false);
        }
        drop_left_rows(&disk, new.id)?;
        let origin = options.datanode.to_string();
        let container = Container::create(&new, disk, origin, options.container_size)?;
        self.replicas().insert(container);
        self.note_changed(new.id);
        Ok(true)
    }

    /// Returns `true` if a replica of an erasure-coded container was deleted here.
    fn has_ended(&self, new: &NewContainer) -> bool {
        self.journal_of(new.replica_index).is_some_and(|journal| journal.has_ended(new.id))
    }

    /// Adds a container from another node: `move_in` puts it into its place. It replaces one that
    /// was lost here. The caller is in a step of the copy. Blocks.
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
        self.note_begun(id, replica_index)?;
        let container = move_in()?;
        // Its pipeline may create it on another disk meanwhile, and waits for no other disk.
        let published = self.creation_locks().publish(copy, || {
            self.missing().lock().remove(&id);
            self.replicas().insert(Arc::clone(&container));
        });
        published.ok_or(StorageError::AlreadyHere(id))?;
        self.checksums().note(&container);
        self.note_changed(id);
        Ok(())
    }

    /// Returns `true` if the served replica is on this disk.
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
        let _lock = self.creation_locks().lock(id);
        let _one = old.changing.lock();
        let _commit = old.commit.lock();
        let (copy, moved) = move_in()?;
        // A thread that waits for one of the locks sees by it that another replica is served.
        old.set_state(ContainerState::Deleted);
        let (from, to) = (old.disk(), Arc::clone(copy.disk()));
        let deletes = copy.sums().pending_delete > 0;
        copy.continue_counting(old);
        self.missing().lock().remove(&id);
        self.checksums().note(&copy);
        self.replicas().insert(copy);
        self.relocations().retire(old);
        from.deleting.lock().remove(id);
        from.dirty.lock().remove(&id);
        if deletes {
            to.deleting.lock().add(id, ANY_TRANSACTION);
        }
        // SCM receives its number of blocks: deleted ones were not copied.
        self.note_changed(id);
        tracing::info!(container = %id, from = from.id(), to = to.id(), "container moved to another disk");
        Ok(moved)
    }

    /// Drops the containers of a disk that has failed: they count as lost here, until copies of
    /// them arrive from other nodes. Returns their ids.
    pub fn leave(&self, disk: &Disk) -> Vec<ContainerId> {
        let here = |container: &Arc<Container>| container.disk().id() == disk.id();
        let left: Vec<_> = self.all().iter().filter(|c| here(c)).map(|c| c.id()).collect();
        self.leave_duplicates(disk);
        // Missing first: no thread may make an empty one in between.
        self.missing().lock().extend(left.iter().copied());
        for id in &left {
            self.replicas().remove_if(*id, here);
            self.forget_change(*id);
            self.serve_duplicate(*id);
        }
        left
    }

    /// `was` is its state when it was deleted. A RECOVERING one never began.
    pub(crate) fn forget(&self, container: &Arc<Container>, was: ContainerState) {
        let id = container.id();
        let ends = was != ContainerState::Recovering;
        let journal = self.journal_of(container.replica_index());
        if let Some(journal) = journal.filter(|_| ends && self.is_served(container)) {
            // First: no thread may make one in between.
            journal.remove(id);
        }
        self.replicas().remove_if(id, |there| Arc::ptr_eq(there, container));
        self.forget_change(id);
    }
}

fn same_replica(there: &Container, new: &NewContainer) -> Result<()> {
    let (has, asked) = (there.info().replica_index, new.replica_index);
    if has == asked { Ok(()) } else { Err(StorageError::ReplicaIndex { id: new.id, has, asked }) }
}
