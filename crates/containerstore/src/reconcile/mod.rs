//! Putting right what a closed replica lacks or has damaged, block by block, with what other
//! replicas have.
//!
//! * [`begin`]: which replicas, and what is wrong with one;
//! * [`block`]: a block that comes in, and takes its place;
//! * [`finish`]: what the replica is in the end.
//!
//! # Invariants
//! * **A block takes its place whole.** It is written beside the container, verified chunk by
//!   chunk and synced; then its file is renamed into place, and its row follows. A crash in between
//!   leaves what was there, or a file without a row, which no reader sees.
//! * **What was deleted does not come back.** A block that is not here is put only while no
//!   deletion has come since the replica was looked through.
//! * **An UNHEALTHY replica counts again only when all of it was read** after the last repair.
//! * Its sums are counted anew only when all that the others have is here, and one of them is not
//!   UNHEALTHY and has come as far as this one: else they still say what it lost.
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

/// What the name of a folder begins with in which blocks lie until they are whole. One that a crash
/// leaves behind is removed at the next start.
pub(crate) const BLOCKS_OF: &str = "blocks-of-";

/// A replica that is being reconciled. It stays on its disk meanwhile.
pub struct Reconcile<'s> {
    store: &'s ContainerStore,
    container: Arc<Container>,
    /// What of it is damaged.
    damage: Damage,
    /// What it has.
    tree: ContainerMerkleTree,
    /// Highest deletion transaction that it had taken when it was looked through.
    delete_tx: u64,
    /// Where blocks lie until they are whole.
    dir: PathBuf,
    /// Blocks that came.
    taken: FxHashSet<LocalId>,
    /// Their bytes.
    bytes: u64,
    _stays: RelocationClaim<'s>,
}

impl Reconcile<'_> {
    /// Whether a block came.
    pub fn has_taken(&self, local: LocalId) -> bool {
        self.taken.contains(&local)
    }

    /// What the replica has.
    pub fn tree(&self) -> &ContainerMerkleTree {
        &self.tree
    }

    /// Highest deletion transaction that it had taken when it was looked through: what a peer has
    /// that has taken fewer may have been deleted here.
    pub fn delete_tx(&self) -> u64 {
        self.delete_tx
    }
}
