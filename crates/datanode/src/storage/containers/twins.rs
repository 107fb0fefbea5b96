//! Two replicas of one container on two disks of a node: one of the disks was away, or had failed,
//! and a copy came to the other one meanwhile; or the container was being moved from the one to the
//! other when the last run ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use super::{Container, LoadedDisk, delete};
use crate::storage::relocation::{has_left, stayed};
use crate::storage::scan::damage_of_unseen;

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
    /// Its files could not be looked at.
    unseen: bool,
}

impl Replica {
    /// The greater, the better.
    fn worth(&self) -> (bool, bool, bool, u64, u64) {
        let info = self.container.info();
        let sound =
            self.damage.is_none() && !self.unseen && info.state != ContainerState::Unhealthy;
        let closed = info.state == ContainerState::Closed;
        (sound, closed, info.state == ContainerState::QuasiClosed, info.bcsid, info.blocks)
    }

    /// Looks at its files, if nobody has: the other one may be removed for what is seen.
    fn look(&mut self) {
        if self.damage.is_none() {
            match damage_of_unseen(&self.container) {
                Some(damage) => self.damage = damage,
                None => self.unseen = true,
            }
        }
    }

    fn is_sound(&self) -> bool {
        self.worth().0
    }

    /// Whether a relocation left `other` for this one, which may know of more deletions.
    fn replaced(&self, other: &Self) -> bool {
        let (this, other) = (&*self.container, &*other.container);
        has_left(other, this) || stayed(this, other)
    }

    /// Whether this one is served rather than `other`.
    fn is_better(&self, other: &Self) -> bool {
        if self.is_sound() && self.replaced(other) {
            return true;
        }
        if other.is_sound() && other.replaced(self) {
            return false;
        }
        self.worth() > other.worth()
    }
}

impl Loaded {
    /// Adds the containers of a disk.
    pub(crate) fn add(&mut self, disk: LoadedDisk) {
        let mut damage: BTreeMap<_, _> = disk.damaged.into_iter().collect();
        for container in disk.containers {
            let id = container.id();
            let mut replica = Replica { damage: damage.remove(&id), container, unseen: false };
            if let Some(other) = self.containers.get_mut(&id) {
                replica.look();
                other.look();
                if replica.is_better(other) {
                    std::mem::swap(other, &mut replica);
                }
                self.left.push(replica);
            } else {
                self.containers.insert(id, replica);
            }
        }
    }

    /// Hands over what is served, with what is wrong with it. The other one of two replicas is
    /// removed when the one that is served is not damaged, and is closed or was moved from there;
    /// it stays unused on its disk otherwise. Blocks.
    pub(crate) fn resolve(self) -> Vec<(Arc<Container>, Option<String>)> {
        for other in self.left {
            let left = &other.container;
            let (id, disk) = (left.id(), left.disk().id().to_owned());
            let Some(kept) = self.containers.get(&id) else { continue };
            let (sound, closed, ..) = kept.worth();
            let moved = kept.replaced(&other);
            let removed = sound && (closed || moved);
            tracing::warn!(
                container = %id, kept = kept.container.disk().id(), left = disk, state = %left.state(),
                moved, removed, "a container is on two disks"
            );
            if removed && let Err(error) = delete::remove(left, || {}) {
                tracing::error!(container = %id, disk, %error, "a second replica was not removed");
            }
        }
        self.containers.into_values().map(|replica| (replica.container, replica.damage)).collect()
    }
}
