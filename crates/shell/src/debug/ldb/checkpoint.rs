//! `o3 debug ldb checkpoint`.

use std::path::PathBuf;

use clap::Args;
use metastore::OfflineStore;

use crate::{ShellError, output};

/// Make a copy of the database. Its files are hard links where the file system is the same, so
/// that it takes no room until the database changes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  \
    o3 debug ldb --db /data/om/om.db checkpoint --output /backup/om.db")]
pub(super) struct Checkpoint {
    /// Where to; must not exist.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

/// Runs it.
pub(super) fn run(args: &Checkpoint, store: &OfflineStore) -> Result<(), ShellError> {
    store.checkpoint(&args.output)?;
    output::line(format!("Created checkpoint at {}", args.output.display()))
}
