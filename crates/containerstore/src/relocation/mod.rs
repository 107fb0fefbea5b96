//! Relocation of a replica from one disk of this node to another.
//!
//! * [`copy`]: the blocks are copied as they are to another node ([`transfer`](crate::transfer)):
//!   each chunk is checked where it is read and where it is written;
//! * [`switch`]: the copy takes the place of the replica, all of it or nothing;
//! * [`marks`]: the files by which a start that finds both chooses the one to serve.
//!
//! The source replica is removed when it has no more readers (`lifecycle/retired.rs`).
//!
//! # Invariants
//! * **There is one good replica on the disks at every moment**: the copy is durable, rows and all,
//!   before the replica that it is of counts as left, and that one is removed later. A start that
//!   finds both keeps the copy and removes the other one.
//! * **Deleted blocks stay deleted.** A change of a replica's rows is made under its commit lock
//!   and finds it DELETED once the copy has taken its place. Deletions that arrived while it was
//!   copied are among the rows of the copy before that.
//! * **A replica that changes is not moved**: one that is deleted, damaged, closed again or
//!   replayed while it is copied stays where it is, and the copy is removed.

mod copy;
mod marks;
mod switch;

use async_trait::async_trait;

pub(crate) use marks::{has_left, stayed};

/// Throttle and cancellation of a relocation.
#[async_trait]
pub trait Passage: Send + Sync {
    /// Waits until this number of bytes may pass. False if the relocation is to be given up.
    async fn pass(&self, bytes: u64) -> bool;
}

/// Counts of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocated {
    /// Blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}
