//! Changes of a container's state.

use std::sync::Arc;
use std::time::Instant;

use container::ContainerState;
use types::ContainerId;

use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::store::ContainerStore;

impl ContainerStore {
    /// Refuses new writes, except those ordered already.
    ///
    /// # Errors
    /// When its state forbids it, or the disk fails.
    pub fn mark_closing(&self, id: ContainerId) -> Result<()> {
        let container = self.container(id)?;
        if container.state() != ContainerState::Open {
            return Ok(());
        }
        self.change_state(&container, ContainerState::Closing)
    }

    /// Closes a container whose pipeline no longer exists: it may lack commits of other replicas.
    ///
    /// # Errors
    /// When its state forbids it, or the disk fails.
    pub fn quasi_close(&self, id: ContainerId) -> Result<()> {
        self.change_served(id, |container| match container.state() {
            ContainerState::Closed => Ok(()),
            _ => self.change_state(container, ContainerState::QuasiClosed),
        })
    }

    /// Closes a container that is complete. With `bcsid`, only if it is complete up to there.
    ///
    /// # Errors
    /// When its state forbids it, commits are missing, or the disk fails.
    pub fn close(&self, id: ContainerId, bcsid: Option<u64>) -> Result<()> {
        self.change_served(id, |container| {
            let has = container.sums().bcsid;
            if let Some(asked) = bcsid.filter(|asked| *asked > has) {
                let block = types::BlockId { container: id, bcsid: asked, ..Default::default() };
                let error = container::bcsid::BcsidError::Unknown { asked, container: has };
                return Err(StorageError::Behind { block, error });
            }
            self.change_state(container, ContainerState::Closed)
        })
    }

    /// Changes a container, and then its copy if it was moved to another disk meanwhile.
    fn change_served(
        &self,
        id: ContainerId,
        change: impl Fn(&Arc<Container>) -> Result<()>,
    ) -> Result<()> {
        loop {
            let container = self.container(id)?;
            let outcome = change(&container);
            if outcome.is_ok() || self.is_served(&container) {
                return outcome;
            }
        }
    }

    /// Marks a container as lacking bytes, or having invalid ones. It is reported and takes no more
    /// writes.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn mark_unhealthy(&self, id: ContainerId, reason: &str) -> Result<()> {
        self.mark_replica_unhealthy(&self.container(id)?, reason)
    }

    /// As [`mark_unhealthy`](Self::mark_unhealthy), of this very replica: a copy of it that has
    /// taken its place on another disk is not marked.
    ///
    /// # Errors
    /// When the disk fails, or the replica is not served any more.
    pub(crate) fn mark_replica_unhealthy(
        &self,
        container: &Arc<Container>,
        reason: &str,
    ) -> Result<()> {
        if container.state() == ContainerState::Unhealthy {
            return Ok(());
        }
        tracing::error!(container = %container.id(), reason, "container is unhealthy");
        self.change_state(container, ContainerState::Unhealthy)
    }

    /// Marks this replica as damaged; false if it was removed meanwhile. If its file cannot be
    /// written, because its folder is missing or the disk is full, the mark holds until the process
    /// ends: the next one finds the damage again. Blocks.
    ///
    /// # Errors
    /// When the disk has failed.
    pub(crate) fn mark_damaged(&self, container: &Arc<Container>, reason: &str) -> Result<bool> {
        let id = container.id();
        match self.change_state(container, ContainerState::Unhealthy) {
            Ok(()) => {}
            Err(StorageError::Transition { .. }) => return Ok(false),
            Err(error) if container.disk().failure().is_some() => return Err(error),
            Err(error) => {
                let _one = container.changing.lock();
                if container.state() == ContainerState::Deleted {
                    return Ok(false);
                }
                tracing::error!(container = %id, %error, "cannot write the container's state");
                container.set_state(ContainerState::Unhealthy);
                self.note_changed(id);
            }
        }
        tracing::error!(container = %id, reason, "container is unhealthy");
        Ok(true)
    }

    /// An UNHEALTHY replica is good again: it was repaired, and all of it was read since. Blocks.
    ///
    /// # Errors
    /// When it is not UNHEALTHY any more, is not served any more, or the disk fails.
    pub(crate) fn note_repaired(&self, container: &Arc<Container>) -> Result<()> {
        let id = container.id();
        let _one = container.changing.lock();
        let to = container.state().repaired();
        let to = to.map_err(|error| StorageError::Transition { id, error })?;
        if !self.is_served(container) {
            return Err(StorageError::ContainerNotFound(id));
        }
        container.seal()?;
        container.note_arrived()?;
        container.write_file(to)?;
        container.set_state(to);
        container.note_closed();
        tracing::info!(container = %id, %to, "unhealthy replica repaired");
        self.checksums().note(container);
        self.note_changed(id);
        Ok(())
    }

    /// Changes the state, durably. Blocks.
    pub(crate) fn change_state(
        &self,
        container: &Arc<Container>,
        to: ContainerState,
    ) -> Result<()> {
        let id = container.id();
        let _one = container.changing.lock();
        let from = container.state();
        from.become_(to).map_err(|error| StorageError::Transition { id, error })?;
        if from == to {
            return Ok(());
        }
        // A container that takes no writes when it is found again must have all that were applied:
        // replay could not put them into it any more.
        let seals = matches!(to, ContainerState::Closed | ContainerState::QuasiClosed);
        if seals && from.is_live() {
            container.seal()?;
            container.forget_idle_writes(Instant::now());
        }
        container.write_file(to)?;
        container.set_state(to);
        if !to.is_live() {
            container.end_deleted_early();
        }
        container.note_closed();
        tracing::info!(container = %id, %from, %to, "container changed");
        self.checksums().note(container);
        self.note_changed(id);
        Ok(())
    }
}
