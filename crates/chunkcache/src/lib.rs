//! First chunks of blocks, kept on fast disks beside the slow ones that the blocks are on.
//!
//! A [`ChunkCache`] spans directories, one for each fast disk. A chunk is a file there, whose name
//! says which block it is of, how long it is, and by which bytes it is known ([`ChunkId`]): so the
//! index is rebuilt from the names at the next start, and a wiped directory is an empty cache.
//!
//! | file | what |
//! | --- | --- |
//! | `cache.rs` | the cache: which directory has a block, what is asked of it |
//! | `directory.rs` | one directory: its files, their reads and writes, its failure |
//! | `index.rs` | what is in a directory, and what goes when it is full |
//! | `touches.rs` | blocks that were read lately without being here |
//! | `chunk_id.rs` | names of chunks |
//! | `figures.rs` | what is counted |
//!
//! # Which policy, and why
//! LRU within a bound of bytes, in two parts: what clients read, and what was written and nobody
//! has read yet, which has a quarter at most, so that a load of new files does not take what is
//! read again and again. A chunk that was not written here comes in when it is read the second time
//! within the last [`CacheOptions::touches`] blocks: what reads everything once brings nothing in.
//! foyer was looked at: its tier on disk evicts whole regions in the order of writing, and what was
//! read again would go with them unless it was written again.
//!
//! # Invariants
//! * **Only bytes of the row that is read are given out.** The caller has the block's row and asks
//!   by what the row says of the chunk; a chunk that was written again has another [`ChunkId`]. It
//!   verifies what it gets.
//! * **A cache is never in the way.** A read of it that is late or fails is a miss; a write that
//!   finds the queue full is left out; a directory that fails is not used any more.

mod cache;
mod chunk_id;
mod directory;
mod error;
mod figures;
mod index;
mod options;
mod touches;

pub use cache::ChunkCache;
pub use chunk_id::{BlockKey, ChunkId};
pub use error::CacheError;
pub use figures::{DirectoryFigures, Figures};
pub use index::Origin;
pub use options::CacheOptions;
