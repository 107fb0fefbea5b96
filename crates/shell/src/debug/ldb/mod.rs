//! `o3 debug ldb`: the databases of OM, SCM and DataNodes on disk.
//!
//! * `tables.rs`: known tables, and the format of their keys and values
//! * `values/`: values as JSON, with the field names of Ozone's classes
//! * `filter.rs`, `fields.rs`: selection of rows and fields
//!
//! A database is identified by its tables, not by the name of its directory. It may be in use.

mod checkpoint;
mod fields;
mod filter;
mod list_column_families;
mod scan;
mod tables;
mod value_schema;
mod values;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use metastore::OfflineStore;

use crate::ShellError;

/// Tables of a database on disk, with Ozone's verbs.
#[derive(Debug, Clone, Args)]
pub struct LdbArgs {
    /// The database's directory, such as /data/om/om.db.
    #[arg(long, global = true, value_name = "DIR")]
    db: Option<PathBuf>,
    /// More verbose output. Show the causes of errors.
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    command: LdbCommand,
}

/// Commands for a database.
#[derive(Debug, Clone, Subcommand)]
enum LdbCommand {
    Scan(scan::Scan),
    /// List the tables (column families) of the database.
    #[command(name = "list_column_families", visible_alias = "ls")]
    ListColumnFamilies,
    ValueSchema(value_schema::ValueSchema),
    Checkpoint(checkpoint::Checkpoint),
}

/// Runs a command.
pub(crate) fn run(args: LdbArgs) -> Result<(), ShellError> {
    let path = args
        .db
        .ok_or_else(|| ShellError::Usage("Missing required option: '--db=<DIR>'".to_owned()))?;
    let store = OfflineStore::open_read_only(&path)?;
    match args.command {
        LdbCommand::Scan(args) => scan::run(&args, &store),
        LdbCommand::ListColumnFamilies => list_column_families::run(&store),
        LdbCommand::ValueSchema(args) => value_schema::run(&args, &store),
        LdbCommand::Checkpoint(args) => checkpoint::run(&args, &store),
    }
}

/// Rejects a table that the database does not have.
fn check_table(store: &OfflineStore, table: &str) -> Result<(), ShellError> {
    if store.tables().iter().any(|name| name == table) {
        return Ok(());
    }
    let known = store.tables().join(", ");
    Err(ShellError::Usage(format!("{table} is not a table of this database, which has {known}")))
}
