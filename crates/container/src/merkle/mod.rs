//! Merkle trees of what replicas have: of chunks, of blocks, of a container.
//!
//! The messages are Ozone's (`ContainerChecksumInfo`). A tree is made of what a replica's rows say
//! and of which chunks were found damaged; no bytes are read for it. Two replicas with the same
//! checksum have the same blocks; where the checksums differ, the trees say in which blocks.
//!
//! * [`tree`]: making one;
//! * [`compare`]: what a replica lacks that another one has.
//!
//! A checksum is compared with those of other replicas here, never with one of Ozone's DataNodes:
//! Ozone sums a container up in another way.

mod compare;
mod tree;

pub use compare::{BlockDifference, DifferenceKind, compare};
pub use tree::{EMPTY, Tree, block, block_sum};
