//! A choice among equals that is the same on every SCM.

use std::hash::{Hash, Hasher};

use types::{ContainerId, DatanodeId};

/// An order of nodes that differs from container to container and is the same on every SCM.
pub(crate) fn mixed(id: ContainerId, node: DatanodeId) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    (id.0, node.0.as_u128()).hash(&mut hasher);
    hasher.finish()
}
