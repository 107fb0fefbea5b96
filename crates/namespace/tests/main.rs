//! Tests of the rules on tables in memory. `harness` is a whole OM of one thread: it prepares,
//! gives blocks, logs, applies and keeps the log for replay.

#![allow(clippy::unwrap_used)]

mod acl;
mod authorize;
mod bucket;
mod deep_tree;
mod extremes;
mod file;
mod fuzz;
mod fuzz_diff;
mod harness;
mod history;
mod key;
mod key_changes;
mod lease;
mod list;
mod list_tree;
mod multipart;
mod overlay;
mod quota;
mod replication;
mod s3secret;
mod snapshot_history;
mod snapshots;
mod tree;
mod tree_history;
mod volume;
