//! A replica on its way from one disk of this node to another.
//!
//! * [`copy`]: the blocks are copied as they are to another node ([`transfer`](crate::transfer)):
//!   each chunk is checked where it is read and where it is written;
//! * [`switch`]: the copy takes the place of the replica, all of it or nothing;
//! * [`marks`]: the files by which a start that finds both knows which one to serve.
//!
//! The replica that was left goes when no read of it is left (`lifecycle/retired.rs`).
//!
//! # Invariants
//! * **There is one good replica on the disks at every moment**: the copy is durable, rows and all,
//!   before the replica that it is of counts as left, and that one is removed later. A start that
//!   finds both keeps the copy and removes the other one.
//! * **What is deleted stays deleted.** A change of a replica's rows is made under its commit lock
//!   and finds it DELETED once the copy has taken its place. Deletions that came while it was
//!   copied are among the rows of the copy before that.
//! * **A replica that changes is not moved**: one that is deleted, damaged, closed anew or replayed
//!   while it is copied stays where it is, and the copy is removed.

mod copy;
mod marks;
mod switch;

use async_trait::async_trait;

pub(crate) use marks::{has_left, stayed};

/// What a relocation asks before it copies more.
#[async_trait]
pub trait Passage: Send + Sync {
    /// Waits until so many bytes may pass. False when it is to be given up.
    async fn pass(&self, bytes: u64) -> bool;
}

/// What a relocation moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocated {
    /// Blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}
