//! Counters of buckets, counted again.

mod recount;
pub(crate) mod repair;

pub use recount::recount;
