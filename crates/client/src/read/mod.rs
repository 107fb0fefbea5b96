//! Reading keys.
//!
//! * [`KeyReader`]: what a caller holds; a range of a key as a stream, read ahead in parallel
//! * [`newest()`]: the new version of a key that was overwritten before anything was given out
//! * [`block`]: one block: which replicas, which chunks, bytes with their checksums verified
//! * [`replicas`]: asking one replica after the other, a late one beside the next
//! * [`plan`]: which parts of which chunks a range needs

mod block;
mod newest;
mod plan;
mod reader;
mod replicas;

pub use newest::newest;
pub use reader::{KeyReader, Pieces};
