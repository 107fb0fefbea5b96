//! Reading keys.
//!
//! * [`KeyReader`]: what a caller holds; a range of a key as a stream, read ahead in parallel
//! * [`newest()`]: the new version of a key that was overwritten before anything was given out
//! * [`part`]: what a key consists of: blocks or block groups
//! * [`block`]: one block: which replicas, which chunks, bytes with their checksums verified
//! * [`group`]: one block group: its replicas, which of them to rely on
//! * [`stripe`]: a part of a stripe: from the replicas that have it, or decoded from others
//! * [`synced`]: the length of a key that is being written
//! * [`extents`]: which bytes of a replica are there
//! * [`replicas`]: asking one replica after the other, a late one beside the next
//! * [`plan`]: which parts of which chunks a range needs
//! * [`replica`]: each replica of a block by itself, for administrators

mod block;
mod extents;
mod group;
mod newest;
mod part;
mod plan;
mod reader;
mod replica;
mod replicas;
mod stripe;
mod synced;

pub use newest::newest;
pub use reader::{KeyReader, Pieces};
pub use replica::{BlockReplica, ReplicatedBlock};
