//! Compaction of key ranges that tombstones slow down.
//!
//! RocksDB compacts by the size of its levels. Where rows are deleted more often than the levels
//! grow, tombstones stay, and every cursor steps over them. What is here finds the ranges where
//! that is so, from what the table files say of themselves, and compacts those ranges alone:
//!
//! * [`TableFile`], [`RangeStatistics`]: what the files of a table hold
//! * [`plan`]: which ranges are worth it, a function of the files and of [`Limits`]
//! * [`Store::compact`](crate::Store::compact): compacts a range down to the last level and looks
//!   what is left
//! * [`RangeCompactor`]: a queue of ranges, the place in each table where the next look begins,
//!   and what was done; the server that has the database says when

mod buckets;
mod compactor;
mod files;
mod plan;
mod run;

pub(crate) use buckets::end_files_with_buckets;
pub use compactor::{
    Finished, PATIENCE, RangeCompactor, RangeCompactorStatus, Reason, TablePlan, Waiting,
};
pub use files::{RangeStatistics, TableFile};
pub use plan::{Cut, Limits, Plan, PlannedRange, plan};
pub use run::Compacted;

pub use crate::file_properties::Sample;
