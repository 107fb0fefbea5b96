//! Compaction of the tombstones of deletions: pending, running and finished ranges of `om.db`, and
//! requests of administrators. `background/range_compaction.rs` decides on the time.
//!
//! Every OM does this for its own database: the contents of its tables stay the same.

mod compactor;
mod groups;
mod report;

pub(crate) use compactor::{CompactionOptions, OmCompactor};
