//! The replicated state: the tables and their changes by the log.
//!
//! [`Tables`] is the database as the rules see it, [`CurrentTables`] the database in use now,
//! [`OmStateMachine`] the state machine of Raft, [`retries`] the answers of writes that clients may
//! retry, [`UpdateFeed`] the recent writes, for clients that keep a copy. [`column_families`]
//! defines the tables on disk, [`compaction`] chooses ranges of them to compact, [`takeover`]
//! converts a database of Apache Ozone's.

pub(crate) mod column_families;
pub(crate) mod compaction;
mod current;
mod directories;
mod directory_epoch;
mod feed;
mod machine;
mod panic_guard;
mod parts;
mod places;
mod retries;
mod snapshot_view;
mod tables;
pub(crate) mod takeover;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) use current::CurrentTables;
pub(crate) use directories::DirectoryCacheStats;
pub(crate) use feed::UpdateFeed;
pub(crate) use machine::{MachineEvents, OmStateMachine, SNAPSHOTS, WriteAnswer, discard_sent};
pub(crate) use panic_guard::Rules;
pub(crate) use retries::CallKey;
pub(crate) use snapshot_view::SnapshotView;
pub(crate) use tables::{CacheSizes, Tables};
