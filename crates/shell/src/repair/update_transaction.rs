//! `o3 repair om|scm update-transaction`.

use std::path::PathBuf;

use clap::Args;
use metastore::{OfflineChange, OfflineStore};

use super::Care;
use crate::ShellError;

/// The only row of either table.
const KEY: &[u8] = b"#TRANSACTIONINFO";

/// Set the position in the Raft log recorded in a database. Later entries of the log are applied
/// again at the next start, earlier ones are not: a wrong position loses or repeats changes.
#[derive(Debug, Clone, Args)]
pub struct UpdateTransaction {
    /// The database's directory, such as /data/om/om.db.
    #[arg(long, value_name = "DIR")]
    db: PathBuf,
    /// The term.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    term: u64,
    /// The index.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    index: u64,
    #[command(flatten)]
    care: Care,
}

/// The table with the position of a role.
pub(super) trait Role {
    /// The table.
    const TABLE: &'static str;
}

/// OM.
pub(super) enum OfOm {}
/// SCM.
pub(super) enum OfScm {}

impl Role for OfOm {
    const TABLE: &'static str = "transactionInfoTable";
}

impl Role for OfScm {
    const TABLE: &'static str = "scmTransactionInfos";
}

/// Runs the command.
pub(super) fn run<R: Role>(args: &UpdateTransaction) -> Result<(), ShellError> {
    let known = OfflineStore::open_read_only(&args.db)?.get(R::TABLE, KEY)?;
    let known = known.map(|value| String::from_utf8_lossy(&value).into_owned());
    let what = format!("The log position of {} will be changed.", args.db.display());
    let change = args.care.confirm(&what)?;
    let known = known.as_deref().map_or_else(|| "unknown".to_owned(), shown);
    args.care.say(&format!("The original highest transaction Info was {known}"))?;
    let value = format!("{}#{}", args.term, args.index);
    args.care.say(&format!("Updating transaction info to {}", shown(&value)))?;
    if !change {
        return Ok(());
    }
    let shown = shown(&value);
    let put = OfflineChange::Put {
        table: R::TABLE.to_owned(),
        key: KEY.to_vec(),
        value: value.into_bytes(),
    };
    OfflineStore::open(&args.db)?.write(&[put])?;
    args.care.say(&format!("The highest transaction info has been updated to: {shown}"))
}

fn shown(position: &str) -> String {
    match position.split_once('#') {
        Some((term, index)) => format!("(t:{term}, i:{index})"),
        None => position.to_owned(),
    }
}
