//! Counters of buckets, counted anew.

mod recount;
pub(crate) mod repair;

pub use recount::recount;
