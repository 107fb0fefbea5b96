//! Second replicas: of a container of which another replica is served from another disk.

use std::sync::Arc;

use types::ContainerId;

use super::ContainerStore;
use crate::containers::{Container, ContainerInfo};

/// A replica that is not served: there is another one of the container, on another disk.
pub(crate) struct DuplicateReplica {
    pub(crate) container: Arc<Container>,
    /// Its damage.
    pub(crate) damage: Option<String>,
    /// The reason why it is kept.
    pub(crate) reason: String,
}

/// A replica that is not served, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondReplica {
    /// The replica.
    pub info: ContainerInfo,
    /// The storage id of its disk.
    pub disk: String,
    /// The reason why it was kept.
    pub reason: String,
}

impl ContainerStore {
    /// Replicas that are not served: of each container there is another one on another disk.
    pub fn second_replicas(&self) -> Vec<SecondReplica> {
        let duplicates = self.inner.duplicates.lock();
        let told = duplicates.iter().map(|duplicate| SecondReplica {
            info: duplicate.container.info(),
            disk: duplicate.container.disk().id().to_owned(),
            reason: duplicate.reason.clone(),
        });
        told.collect()
    }

    /// Returns `true` if there is a second replica of a container.
    pub(crate) fn has_duplicate(&self, id: ContainerId) -> bool {
        self.inner.duplicates.lock().iter().any(|duplicate| duplicate.container.id() == id)
    }
}
