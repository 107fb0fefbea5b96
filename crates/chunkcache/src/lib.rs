//! A cache of the first chunks of blocks on fast disks, for blocks on slow disks.
//!
//! A [`ChunkCache`] spans directories, one for each fast disk. A chunk is a file there, whose name
//! contains its block, its length and the hash of its content ([`ChunkId`]): so the index is
//! rebuilt from the names at the next start, and a wiped directory is an empty cache.
//!
//! | file | contents |
//! | --- | --- |
//! | `cache.rs` | the cache: its interface, and the directory of a block |
//! | `directory.rs` | one directory: its files, their reads and writes, its failure |
//! | `index.rs` | the chunks of a directory, and eviction |
//! | `touches.rs` | recently read blocks that are not cached |
//! | `chunk_id.rs` | ids of chunks |
//! | `figures.rs` | metrics |
//!
//! # Eviction policy
//! LRU with a limit in bytes, in two parts: chunks that clients read, and chunks that were written
//! and not read yet, which have at most a quarter, so that a load of new files does not evict
//! chunks that are read repeatedly. A chunk that was not written here is inserted at the second
//! read within the last [`CacheOptions::touches`] blocks: a scan of everything inserts nothing.
//! foyer was evaluated: its disk tier evicts whole regions in write order, including repeatedly
//! read chunks, unless they are written again.
//!
//! # Invariants
//! * **Only the bytes of the current row are returned.** The caller has the block's row and looks
//!   up by the row's checksums; a rewritten chunk has another [`ChunkId`]. The caller verifies the
//!   result.
//! * **A cache never delays a request.** A late or failed read is a miss; a write to a full queue
//!   is skipped; a failed directory is no longer used.

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
