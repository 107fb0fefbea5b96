//! Repairing missing and damaged blocks of a closed replica, one by one, from other replicas.
//!
//! * [`begin`]: the selection of replicas, and the damage of one;
//! * [`block`]: a block that arrives, and replaces the old one;
//! * [`finish`]: the replica's state at the end.
//!
//! # Invariants
//! * **A block is replaced whole.** It is written next to the container, verified chunk by chunk
//!   and synced; then its file is renamed into place, and its row follows. A crash in between
//!   leaves the old block, or a file without a row, which no reader sees.
//! * **Deleted blocks do not come back.** A block that is not here is put only while no deletion
//!   has arrived since the replica was compared.
//! * **An UNHEALTHY replica counts again only when all of it was read** after the last repair.
//! * Its sums are recounted only when all data of the others is here, and one of them is not
//!   UNHEALTHY and has come as far as this one: otherwise they still describe the lost data.
//! * **Its commit sequence id passes no hole.** It rises with the blocks that are here, and no
//!   further than that of a peer that is not UNHEALTHY: a damaged one may have a late block and
//!   lack an earlier one.

mod begin;
mod block;
mod finish;

use std::path::PathBuf;
use std::sync::Arc;

use proto::datanode::ContainerMerkleTree;
use rustc_hash::FxHashSet;
use types::LocalId;

pub use finish::{Compared, Reconciled};

use crate::containers::Container;
use crate::merkle::Damage;
use crate::store::{ContainerStore, RelocationClaim};

/// Prefix of the folder in which blocks lie until they are whole. The next start removes one that a
/// crash leaves.
pub(crate) const BLOCKS_OF: &str = "blocks-of-";

/// A replica that is being reconciled. It stays on its disk meanwhile.
pub struct Reconcile<'s> {
    store: &'s ContainerStore,
    container: Arc<Container>,
    /// Its damage.
    damage: Damage,
    /// Its tree.
    tree: ContainerMerkleTree,
    /// Highest deletion transaction that it had taken when it was compared.
    delete_tx: u64,
    /// Directory of blocks until they are whole.
    dir: PathBuf,
    /// Blocks that came.
    taken: FxHashSet<LocalId>,
    /// Their bytes.
    bytes: u64,
    _stays: RelocationClaim<'s>,
}

impl Reconcile<'_> {
    /// Returns `true` if a block was fetched.
    pub fn has_taken(&self, local: LocalId) -> bool {
        self.taken.contains(&local)
    }

    /// Returns the tree of the replica.
    pub fn tree(&self) -> &ContainerMerkleTree {
        &self.tree
    }

    /// Returns the highest deletion transaction that it had taken when it was compared: blocks of a
    /// peer that has taken fewer may have been deleted here.
    pub fn delete_tx(&self) -> u64 {
        self.delete_tx
    }
}
