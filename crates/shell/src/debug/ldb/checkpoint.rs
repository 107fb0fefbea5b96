//! `o3 debug ldb checkpoint`.

use std::path::PathBuf;

use clap::Args;
use metastore::OfflineStore;

use crate::{ShellError, output};

/// Create a checkpoint of the database. On the same file system its files are hard links, so that
/// it takes no space until the database changes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  \
    o3 debug ldb --db /data/om/om.db checkpoint --output /backup/om.db")]
pub(super) struct Checkpoint {
    /// Directory of the checkpoint; must not exist.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

/// Runs the command.
pub(super) fn run(args: &Checkpoint, store: &OfflineStore) -> Result<(), ShellError> {
    store.checkpoint(&args.output)?;
    output::line(format!("Created checkpoint at {}", args.output.display()))
}
