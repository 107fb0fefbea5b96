//! Chunk lists: what a PutBlock may say, and what it makes of the block that is there.
//!
//! A client sends all chunks of the block so far with every PutBlock, so the newest list replaces
//! the older one. A list that carries only what is new is made whole first ([`extend`]).

mod extend;
mod limits;
mod merge;
mod validate;

pub use extend::{extend, is_incremental};
pub use limits::{LimitError, MAX_CHUNK_LEN, MAX_CHUNKS, check_chunk, check_list, check_small};
pub use merge::{BlockState, Merged, merge};
pub use validate::{ChunkListError, locate, validate_list, validate_write};
