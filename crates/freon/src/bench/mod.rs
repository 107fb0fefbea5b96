//! `o3 bench`: comparisons that need no cluster.

mod compaction;

use std::process::ExitCode;

use clap::Subcommand;

use crate::FreonError;

/// A comparison.
#[derive(Debug, Clone, Subcommand)]
pub enum BenchCommand {
    /// What keeps a table fast whose rows are deleted: nothing, compaction of whole tables,
    /// RocksDB's collector of deletions, compaction of ranges
    Compaction(compaction::Compaction),
}

/// Runs one.
///
/// # Errors
/// When the arguments make no sense, or the disk cannot be used.
pub fn run(command: BenchCommand) -> Result<ExitCode, FreonError> {
    match command {
        BenchCommand::Compaction(args) => compaction::run(args),
    }
}
