//! Deleting the replica that is served.

use container::ContainerState;
use types::ContainerId;

use crate::containers::{remove, take_away};
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;

impl ContainerStore {
    /// Removes a container and its blocks. Without `force` only one that is closed and empty.
    /// Blocks.
    ///
    /// A second replica on another disk is not served until the next start: the same order may come
    /// again, and is not about that one.
    ///
    /// # Errors
    /// When it is open or not empty and `force` is false, or the disk fails.
    pub fn delete_container(&self, id: ContainerId, force: bool) -> Result<()> {
        self.delete_served(id, 0, force)
    }

    /// The same of the replica that is served, if it has this index; 0 for any.
    ///
    /// # Errors
    /// The same, and when it has another index.
    pub(crate) fn delete_served(&self, id: ContainerId, index: i32, force: bool) -> Result<()> {
        loop {
            let container = self.container(id)?;
            let info = container.info();
            let has = info.replica_index;
            if index != 0 && index != has {
                return Err(StorageError::ReplicaIndex { id, has, asked: index });
            }
            if !force && info.state.is_live() {
                return Err(StorageError::DeleteOnOpen(id));
            }
            if !force && info.blocks > 0 {
                return Err(StorageError::DeleteOnNonEmpty { id, blocks: info.blocks });
            }
            self.remove_retired_of(id)?;
            // Held to the end: a container recreated under this id meanwhile would lose its rows.
            let _lock = self.creation_locks().lock(id);
            if remove(&container, || self.forget(&container, info.state))? {
                tracing::info!(container = %id, state = %info.state, blocks = info.blocks, "container deleted");
                self.remove_older_duplicates(&info, force);
                return Ok(());
            }
            if self.is_served(&container) {
                // An earlier attempt did not finish.
                take_away(&container, || self.forget(&container, info.state))?;
                self.remove_older_duplicates(&info, force);
                return Ok(());
            }
            // It was moved to another disk just now.
        }
    }

    /// Removes a container that is RECOVERING, and no other. Returns `true` if it existed. Blocks.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn delete_recovering(&self, id: ContainerId) -> Result<bool> {
        let Ok(container) = self.container(id) else { return Ok(false) };
        container.disk().flush()?;
        {
            // The client that fills it may be about to close it.
            let _one = container.changing.lock();
            if container.state() != ContainerState::Recovering {
                return Ok(false);
            }
            container.set_state(ContainerState::Deleted);
        }
        let _lock = self.creation_locks().lock(id);
        take_away(&container, || self.forget(&container, ContainerState::Recovering))?;
        tracing::info!(container = %id, "removing an abandoned RECOVERING replica");
        Ok(true)
    }
}
