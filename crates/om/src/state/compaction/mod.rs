//! Compaction of what deletions leave in the tables: which ranges of `om.db` wait, are compacted
//! and were, and what administrators ask. When it is done is decided by
//! `background/range_compaction.rs`.
//!
//! Every OM does this for its own database: what its tables say stays the same.

mod compactor;
mod groups;
mod report;

pub(crate) use compactor::{CompactionOptions, OmCompactor};
