//! Chunk lists: what a PutBlock may say, and what it makes of the block that is there.
//!
//! A client sends all chunks of the block so far with every PutBlock, so the newest list replaces
//! the older one. Lists that carry only what is new (metadata key `incremental`) are a different
//! rule with state of its own; they are refused by name until that rule exists.

mod merge;
mod validate;

pub use merge::{BlockState, Merged, merge};
pub use validate::{ChunkListError, locate, validate_list, validate_write};
