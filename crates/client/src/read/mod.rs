//! Reading keys.
//!
//! * [`KeyReader`]: the caller's handle; a range of a key as a stream, with parallel readahead
//! * [`newest()`]: the new version of a key that was overwritten before any data was returned
//! * [`part`]: the parts of a key: blocks or block groups
//! * [`block`]: one block: its replicas and chunks, with verified checksums
//! * [`group`]: one block group: its replicas and their health
//! * [`stripe`]: a part of a stripe: from the replicas that have it, or decoded from others
//! * [`synced`]: the length of a key that is being written
//! * [`extents`]: the bytes of a replica in memory
//! * [`replicas`]: hedged requests to replicas
//! * [`retry`]: delays and timeouts of retries
//! * [`plan`]: the parts of chunks that a range needs
//! * [`replica`]: single replicas of a block, for administrators

mod block;
mod extents;
mod group;
mod newest;
mod part;
mod plan;
mod reader;
mod replica;
mod replicas;
mod retry;
mod stripe;
pub(crate) mod synced;

pub use newest::newest;
pub use reader::{KeyReader, Pieces};
pub use replica::{BlockReplica, ReplicatedBlock};
