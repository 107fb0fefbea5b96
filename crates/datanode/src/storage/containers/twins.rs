//! Two replicas of one container on two disks of a node: one of the disks was away, or had failed,
//! and a copy came to the other one meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use super::{Container, LoadedDisk, delete};

/// The containers of all disks, one replica of each.
#[derive(Default)]
pub(crate) struct Loaded {
    containers: BTreeMap<ContainerId, Replica>,
    /// Those of two replicas that are not served.
    left: Vec<Replica>,
}

struct Replica {
    container: Arc<Container>,
    /// What is wrong with it.
    damage: Option<String>,
}

impl Replica {
    /// The greater, the better.
    fn worth(&self) -> (bool, bool, bool, u64, u64) {
        let info = self.container.info();
        let sound = self.damage.is_none() && info.state != ContainerState::Unhealthy;
        let closed = info.state == ContainerState::Closed;
        (sound, closed, info.state == ContainerState::QuasiClosed, info.bcsid, info.blocks)
    }
}

impl Loaded {
    /// Adds the containers of a disk.
    pub(crate) fn add(&mut self, disk: LoadedDisk) {
        let mut damage: BTreeMap<_, _> = disk.damaged.into_iter().collect();
        for container in disk.containers {
            let id = container.id();
            let mut replica = Replica { damage: damage.remove(&id), container };
            if let Some(other) = self.containers.get_mut(&id) {
                if other.worth() < replica.worth() {
                    std::mem::swap(other, &mut replica);
                }
                self.left.push(replica);
            } else {
                self.containers.insert(id, replica);
            }
        }
    }

    /// Hands over what is served, with what is wrong with it. The other one of two replicas is
    /// removed when the one that is served is closed and not damaged, and stays unused on its disk
    /// otherwise. Blocks.
    pub(crate) fn resolve(self) -> Vec<(Arc<Container>, Option<String>)> {
        for Replica { container: left, .. } in self.left {
            let (id, disk) = (left.id(), left.disk().id().to_owned());
            let Some(kept) = self.containers.get(&id) else { continue };
            let (sound, closed, ..) = kept.worth();
            tracing::warn!(
                container = %id, kept = kept.container.disk().id(), left = disk, state = %left.state(),
                removed = sound && closed, "a container is on two disks"
            );
            if sound
                && closed
                && let Err(error) = delete::remove(&left, || {})
            {
                tracing::error!(container = %id, disk, %error, "a second replica was not removed");
            }
        }
        self.containers.into_values().map(|replica| (replica.container, replica.damage)).collect()
    }
}
