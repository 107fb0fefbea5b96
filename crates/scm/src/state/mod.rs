//! The replicated state: the tables of `scm.db`, the cluster that is read from them into memory,
//! and how the log changes both.
//!
//! [`ScmMachine`] is driven by Raft, [`tables`] defines the rows, [`takeover`] takes over a
//! database of Apache Ozone's.

mod encode;
mod load;
mod machine;
mod snapshot;
pub mod tables;
pub mod takeover;

pub use load::load;
pub(crate) use machine::Rules;
pub use machine::{Refusals, ScmMachine};
pub use snapshot::{discard_sent, resume as resume_restore};
