//! Two replicas of one container on two disks of a node: one of the disks was away, or had failed,
//! and a copy arrived on the other one meanwhile; or the container was being moved from the one to
//! the other when the last run ended.
//!
//! One of the two is served. The other one is removed only if it certainly has no data that the
//! served one lacks ([`Container::lacks_of`]), or was replaced by a relocation. Otherwise it is
//! kept, unused, until SCM has a replica of the container removed here: of two indexes of an
//! erasure-coded container each may be the last one, and a replica that was away may have blocks
//! that were deleted meanwhile, or that the other one has lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use container::ContainerState;
use types::ContainerId;

use super::load::LoadedDisk;
use crate::containers::{Container, remove};
use crate::relocation::{has_left, stayed};
use crate::scan::damage_of_unseen;
use crate::store::DuplicateReplica;

/// Containers found on all disks.
pub(super) struct Resolved {
    /// The served replicas, one of each container, with their damage.
    pub(super) served: Vec<(Arc<Container>, Option<String>)>,
    /// Replicas of the same containers on other disks.
    pub(super) duplicates: Vec<DuplicateReplica>,
}

/// The containers of all disks, one replica of each.
#[derive(Default)]
pub(super) struct Loaded {
    containers: BTreeMap<ContainerId, Replica>,
    /// Those of two replicas that are not served.
    left: Vec<Replica>,
}

struct Replica {
    container: Arc<Container>,
    /// Its damage.
    damage: Option<String>,
    /// Its files could not be checked.
    unseen: bool,
}

impl Replica {
    /// The greater, the better.
    fn worth(&self) -> (bool, bool, bool, u64, u64, u64) {
        let info = self.container.info();
        let sound =
            self.damage.is_none() && !self.unseen && info.state != ContainerState::Unhealthy;
        let closed = info.state == ContainerState::Closed;
        let quasi = info.state == ContainerState::QuasiClosed;
        // One with fewer deletions has blocks that were deleted elsewhere.
        (sound, closed, quasi, info.bcsid, info.delete_tx, info.blocks)
    }

    /// Checks its files, if not yet done: the other one may be removed because of the result.
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

    /// Returns `true` if a relocation replaced `other` by this one, which may have more deletions.
    fn replaced(&self, other: &Self) -> bool {
        let (this, other) = (&*self.container, &*other.container);
        has_left(other, this) || stayed(this, other)
    }

    /// Returns `true` if this one is served rather than `other`.
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
    pub(super) fn add(&mut self, disk: LoadedDisk) {
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

    /// Returns the served replicas with their damage, and the others. The other one of two replicas
    /// is removed if the served one is not damaged, and was moved from there or is closed and has
    /// all of its data; otherwise it stays unused on its disk. Blocks.
    pub(super) fn resolve(self) -> Resolved {
        let mut duplicates = Vec::new();
        for other in self.left {
            let left = &other.container;
            let (id, disk) = (left.id(), left.disk().id().to_owned());
            let Some(kept) = self.containers.get(&id) else { continue };
            let mut reason = kept.keeps(&other);
            tracing::warn!(
                container = %id, kept = kept.container.disk().id(), left = disk, state = %left.state(),
                removed = reason.is_none(), reason, "a container is on two disks"
            );
            if reason.is_none()
                && let Err(error) = remove(left, || {})
            {
                tracing::error!(container = %id, disk, %error, "cannot remove a second replica");
                reason = Some(format!("it could not be removed: {error}"));
            }
            if let Some(reason) = reason {
                // Its deletions are not carried out: those are of the one that is served.
                left.disk().deleting.lock().remove(id);
                duplicates.push(DuplicateReplica {
                    container: other.container,
                    damage: other.damage,
                    reason,
                });
            }
        }
        let served = self.containers.into_values();
        let served = served.map(|replica| (replica.container, replica.damage)).collect();
        Resolved { served, duplicates }
    }
}

impl Replica {
    /// Returns the reason why the other replica is kept in addition to this one, which is served;
    /// `None` if it is not.
    fn keeps(&self, other: &Self) -> Option<String> {
        if !self.is_sound() {
            return Some("the one that is served is damaged".to_owned());
        }
        if self.replaced(other) {
            return None;
        }
        if self.container.state() != ContainerState::Closed {
            return Some(format!("the one that is served is {}", self.container.state()));
        }
        match self.container.lacks_of(&other.container) {
            Ok(lacks) => lacks,
            Err(error) => Some(format!("they cannot be compared: {error}")),
        }
    }
}
