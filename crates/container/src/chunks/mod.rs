//! Chunk lists: validation of a PutBlock, and its effect on the existing block.
//!
//! A client sends all chunks of the block so far with every PutBlock, so the newest list replaces
//! the older one. An incremental list is completed first ([`extend`]).

mod extend;
mod limits;
mod merge;
mod validate;

pub use extend::{extend, is_incremental};
pub use limits::{LimitError, MAX_CHUNK_LEN, MAX_CHUNKS, check_chunk, check_list, check_small};
pub use merge::{BlockState, Merged, merge};
pub use validate::{ChunkListError, locate, validate_list, validate_write};
