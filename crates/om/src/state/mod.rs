//! The replicated state: the tables and how the log changes them.
//!
//! [`Tables`] is the database as the rules see it, [`CurrentTables`] the database in use now,
//! [`OmStateMachine`] what Raft drives, [`Decided`] the proposals of this leader that are on
//! their way through the log, [`retries`] the answers of writes that may come again.

mod current;
mod decided;
mod directories;
mod frozen;
mod machine;
mod moves;
mod retries;
mod tables;

pub(crate) use current::CurrentTables;
pub(crate) use decided::{Decided, Decision, Tag};
pub(crate) use directories::DirectoryCacheStats;
pub(crate) use frozen::Frozen;
pub(crate) use machine::{MachineEvents, OmStateMachine, is_repeated};
pub(crate) use retries::{CallKey, spec as retries_spec};
pub(crate) use tables::{CacheSizes, Tables};
