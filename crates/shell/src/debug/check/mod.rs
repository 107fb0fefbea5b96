//! `o3 debug check`: traces of defects of earlier releases in the tables of OM and SCM.
//!
//! * `uploads.rs`: uploads in the row of another key, and parts without an upload
//! * `trees.rs`: entries whose parent directory is missing
//! * `containers.rs`: containers that SCM deleted although they may contain data
//! * `keys.rs`: keys with blocks in such a container, from the tables of both
//! * `findings.rs`: counts and output of findings
//!
//! Databases are only read. A row that does not decode is a finding, and the check continues after
//! it.

mod containers;
mod findings;
mod keys;
mod rows;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod trees;
mod uploads;

use std::path::{Path, PathBuf};

use clap::Args;
use metastore::OfflineStore;
use namespace::Table;
use namespace::tables::{TRANSACTION_INFO_KEY, parse_transaction_info};

use self::containers::Containers;
use self::findings::Findings;
use crate::{ShellError, output};

/// The databases to check, and the output format.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "With both databases, keys are looked up in SCM's containers: stop OM first, then SCM.\n\
    After a crash, unflushed rows are reported as missing: start this release once and stop it,\n\
    never an earlier one.\n\
    The exit status is 1 if there are findings. Actions for each kind:\n\n\
    upload-of-another-key\n  \
    clients cannot access it; OM deletes it after ozone.om.open.mpu.expire.threshold\n\
    upload-without-its-bucket, part-without-its-upload\n  \
    uses space and is invisible; no data is lost\n\
    directory-without-its-parent, file-without-its-parent\n  \
    o3 repair om fso-tree --db DIR deletes them\n\
    deleted-container, key-in-deleted-container\n  \
    wipe and replace no DataNode: this release of SCM restores a container when\n  \
    DataNodes report readable replicas of it\n\
    key-in-unknown-container\n  \
    SCM's database is older than the key: find the newest one\n\
    damaged-row\n  \
    inspect it with o3 debug ldb; another OM or SCM may have it intact\n\n\
    Examples:\n  \
    o3 debug check --om-db /data/om/om.db\n  \
    o3 debug check --om-db /data/om/om.db --scm-db /data/scm/scm.db --json"
)]
pub struct Check {
    /// OM's database, such as /data/om/om.db.
    #[arg(long, value_name = "DIR", required_unless_present = "scm_db")]
    om_db: Option<PathBuf>,
    /// SCM's database, such as /data/scm/scm.db.
    #[arg(long, value_name = "DIR")]
    scm_db: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Maximum number of findings shown per kind; all are counted.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    limit: usize,
    /// More verbose output. Show the causes of errors.
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// Runs the command.
///
/// # Errors
/// If a database cannot be read, and if there are findings.
pub(super) fn run(args: &Check) -> Result<(), ShellError> {
    let findings = find(args)?;
    match args.json {
        true => output::value(&findings.to_json())?,
        false => output::line(findings.to_string().trim_end())?,
    }
    match findings.total() {
        0 => Ok(()),
        total => Err(ShellError::Refused(format!(
            "{total} findings; see o3 debug check --help for what to do about each kind"
        ))),
    }
}

fn find(args: &Check) -> Result<Findings, ShellError> {
    let mut findings = Findings::new(args.limit);
    let containers = match &args.scm_db {
        None => None,
        Some(path) => {
            let store = open(path, "containers", "SCM")?;
            Some(Containers::read(&store, &mut findings)?)
        }
    };
    if let Some(path) = &args.om_db {
        let store = open(path, Table::KeyTable.name(), "OM")?;
        findings.note("om-position", position(&store)?);
        uploads::check(&store, &mut findings)?;
        trees::check(&store, &mut findings)?;
        if let Some(containers) = &containers {
            keys::check(&store, containers, &mut findings)?;
        }
    }
    Ok(findings)
}

/// Opens a database, which must have the table.
fn open(path: &Path, table: &str, whose: &str) -> Result<OfflineStore, ShellError> {
    let store = OfflineStore::open_read_only(path)?;
    if store.tables().iter().any(|name| name == table) {
        return Ok(store);
    }
    let path = path.display();
    Err(ShellError::Usage(format!("{path} is not a database of {whose}: it has no table {table}")))
}

/// The log position of the tables.
fn position(store: &OfflineStore) -> Result<String, ShellError> {
    let row = store.get(Table::TransactionInfoTable.name(), TRANSACTION_INFO_KEY)?;
    let position = row.as_deref().and_then(parse_transaction_info);
    Ok(position.map_or_else(|| "unknown".to_owned(), |(term, index)| format!("{term}#{index}")))
}
