//! Merkle trees of replicas: of chunks, of blocks, of a container.
//!
//! The messages are Ozone's (`ContainerChecksumInfo`). A tree is computed from a replica's rows and
//! the record of damaged chunks; no data is read for it. Two replicas with the same checksum have
//! the same blocks; if the checksums differ, the trees show the blocks concerned.
//!
//! * [`tree`]: computing a tree;
//! * [`compare`]: differences of a replica from another one.
//!
//! A checksum is only compared with those of our other replicas, never with one of Ozone's
//! DataNodes: Ozone computes a container's checksum differently.

mod compare;
mod tree;

pub use compare::{BlockDifference, DifferenceKind, compare};
pub use tree::{EMPTY, Tree, block, block_sum};
