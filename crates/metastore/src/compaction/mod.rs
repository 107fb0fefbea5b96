//! Compaction of key ranges that tombstones slow down.
//!
//! RocksDB compacts by the size of its levels. Where rows are deleted faster than the levels grow,
//! tombstones stay, and every cursor steps over them. This module finds such ranges, from the
//! properties of the table files, and compacts those ranges alone:
//!
//! * [`TableFile`], [`RangeStatistics`]: statistics of a table's files
//! * [`plan`]: the ranges worth a compaction, a function of the files and of [`Limits`]
//! * [`Store::compact`](crate::Store::compact): compacts a range down to the last level and checks
//!   the result
//! * [`RangeCompactor`]: a queue of ranges, the position in each table at which the next scan
//!   starts, and a history; the server that owns the database schedules it

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
