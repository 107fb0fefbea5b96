//! Tests of the binary, as users run it.
#![allow(clippy::unwrap_used, missing_docs)]

mod config_command;
mod durability;
mod failing_group;
mod freon;
mod help;
mod members;
mod process;
mod roles;
mod server;
mod shell;
mod storage_types;
mod tracing;
mod transcript;
mod usage;
// The binary has no test harness of its own: it would be linked with RocksDB for one test.
#[path = "../src/words.rs"]
mod words;
