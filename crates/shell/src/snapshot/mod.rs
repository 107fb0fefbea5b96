//! `o3 sh snapshot`.

mod create;
mod delete;
mod diff;
mod info;
mod list;
mod list_diff;
mod rename;

use clap::Subcommand;
use config::Configuration;

use crate::ShellError;

/// Commands for snapshots of buckets.
#[derive(Debug, Clone, Subcommand)]
pub enum SnapshotCommand {
    /// Create a snapshot of a bucket.
    Create(create::Create),
    /// Show a snapshot.
    Info(info::Info),
    /// List snapshots of a bucket.
    #[command(visible_alias = "ls")]
    List(list::List),
    /// Show the changes between two snapshots.
    #[command(visible_alias = "snapshotDiff")]
    Diff(diff::Diff),
    /// List the snapshot diffs of a bucket.
    #[command(name = "listDiff", visible_aliases = ["listDiffJob", "lsDiff", "lsDiffJob"])]
    ListDiff(list_diff::ListDiff),
    /// Rename a snapshot.
    Rename(rename::Rename),
    /// Delete a snapshot.
    Delete(delete::Delete),
}

/// Runs a command.
pub(crate) async fn run(command: SnapshotCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        SnapshotCommand::Create(args) => create::run(args, conf).await,
        SnapshotCommand::Info(args) => info::run(args, conf).await,
        SnapshotCommand::List(args) => list::run(args, conf).await,
        SnapshotCommand::Diff(args) => diff::run(args, conf).await,
        SnapshotCommand::ListDiff(args) => list_diff::run(args, conf).await,
        SnapshotCommand::Rename(args) => rename::run(args, conf).await,
        SnapshotCommand::Delete(args) => delete::run(args, conf).await,
    }
}
