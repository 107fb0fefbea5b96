//! `o3 repair ldb compact`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use metastore::OfflineStore;

use super::Care;
use crate::ShellError;

/// Compact a table of a database whose server is stopped, which drops its tombstones.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 repair ldb compact --db /data/om/om.db --cf keyTable")]
pub struct Compact {
    /// The database's directory, such as /data/om/om.db.
    #[arg(long, value_name = "DIR")]
    db: PathBuf,
    /// Table name.
    #[arg(long = "cf", aliases = ["column_family", "column-family"], value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    care: Care,
}

/// Runs the command.
pub(super) fn run(args: &Compact) -> Result<(), ShellError> {
    // Also checks that both exist.
    OfflineStore::open_read_only(&args.db)?.estimated_rows(&args.table)?;
    let what = format!("{} of {} is rewritten.", args.table, args.db.display());
    let change = args.care.confirm(&what)?;
    args.care.say(&format!("Running compaction on {}", args.table))?;
    let begun = Instant::now();
    if change {
        OfflineStore::open(&args.db)?.compact(&args.table)?;
    }
    args.care.say(&format!("Compaction completed in {}ms.", begun.elapsed().as_millis()))
}
