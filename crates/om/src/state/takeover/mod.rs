//! The first start on a directory that Apache Ozone's OM has written: `om.db` is taken over.
//!
//! Tables, key formats and messages are Ozone's, so nearly all rows stay as they are. Steps:
//!
//! 1. The Ratis log is checked, not read: commands in it that are not in the tables would be
//!    lost, so OM does not start then.
//! 2. Snapshots of buckets are separate databases that this OM does not read: it does not start
//!    while there are any.
//! 3. Parts of multipart uploads become rows of their own ([`uploads`]).
//! 4. The Raft log begins after the last entry in the tables ([`replicated::takeover`]).
//!
//! A database is Ozone's when it lacks the table that this OM adds. That table is made when all of
//! this is done and durable; until then a start that ends begins again. A database without a single
//! row belongs to neither: a first start, of either OM, ended before it had made all tables. Only
//! the Ratis log counts there.
//!
//! Nothing that Ozone needs is removed, but its OM must not be started on the directory again: it
//! would continue with its own log.

mod uploads;

use std::path::Path;

use metastore::{IterRange, OfflineStore};
use namespace::Table;
use namespace::tables::{TRANSACTION_INFO_KEY, parse_transaction_info};
use replicated::takeover;

use crate::error::Error;
use crate::state::column_families::RETRY_TABLE;

/// Name of the database within OM's directory.
const DATABASE: &str = "om.db";
/// Directory of the Ratis log of Ozone's OM by default, below its metadata directory.
const RATIS: &str = "om.ratis";

/// Takes over the database in `dir`, if Ozone wrote it. `home` is the locked directory of this OM;
/// `raft_dir` is where its log is to be, which may be where Ratis has its own. Blocks on the disk.
///
/// # Errors
/// When it cannot be taken over as a whole, or the disk fails.
pub(crate) fn take_over(dir: &Path, raft_dir: &Path, home: &Path) -> Result<(), Error> {
    let path = dir.join(DATABASE);
    if !path.join("CURRENT").exists() || takeover::has_log(home) {
        return Ok(());
    }
    let refuse = |reason: String| Error::TakeOver { path: path.clone(), reason };
    let logs = [dir.join(RATIS), raft_dir.to_path_buf()];
    let refuse_log_beyond = |index: u64| {
        let ahead = takeover::ratis_ahead(&logs, index).map_err(|e| Error::io(dir, e))?;
        let Some((log, last)) = ahead else { return Ok(()) };
        Err(refuse(format!(
            "the Ratis log in {} goes to entry {last}, the tables to {index}: start Ozone's OM again, \
             stop it after 'ozone admin om prepare', and then start here",
            log.display()
        )))
    };
    {
        let store = OfflineStore::open_read_only(&path)?;
        if store.tables().iter().any(|table| table == RETRY_TABLE) {
            return Ok(());
        }
        if !has_rows(&store)? {
            return refuse_log_beyond(0);
        }
    }
    tracing::info!(database = %path.display(), "Apache Ozone wrote this database: it is taken over");
    let store = OfflineStore::open(&path)?;
    for table in [Table::VolumeTable, Table::BucketTable, Table::TransactionInfoTable] {
        if !store.tables().iter().any(|name| name == table.name()) {
            return Err(refuse(format!("it has no {}", table.name())));
        }
    }
    let position = store.get(Table::TransactionInfoTable.name(), TRANSACTION_INFO_KEY)?;
    let position = position.unwrap_or_default();
    let Some((term, index)) = parse_transaction_info(&position) else {
        return Err(refuse(format!(
            "its position in the log is {:?}, not term#index",
            String::from_utf8_lossy(&position)
        )));
    };
    refuse_log_beyond(index)?;
    if let Some(snapshot) = first_key(&store, Table::SnapshotInfoTable.name())? {
        return Err(refuse(format!(
            "there are snapshots of buckets, such as {snapshot}, which are separate databases of Ozone's: \
             delete them there first"
        )));
    }
    let uploads = uploads::convert(&store).map_err(&refuse_row(&refuse))?;
    drop(store);
    takeover::begin_behind_tables(home).map_err(|e| Error::io(home, e))?;
    tracing::info!(
        term,
        index,
        uploads,
        "the database is taken over; Ozone's OM must not be started on it again"
    );
    Ok(())
}

fn refuse_row(refuse: &impl Fn(String) -> Error) -> impl Fn(uploads::ConvertError) -> Error + '_ {
    move |error| match error {
        uploads::ConvertError::Store(error) => error.into(),
        damaged => refuse(damaged.to_string()),
    }
}

fn has_rows(store: &OfflineStore) -> Result<bool, Error> {
    for table in store.tables() {
        if first_key(store, table)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn first_key(store: &OfflineStore, table: &str) -> Result<Option<String>, Error> {
    if !store.tables().iter().any(|name| name == table) {
        return Ok(None);
    }
    let mut cursor = store.iter(table, IterRange::all())?;
    cursor.first();
    let row = cursor.row()?;
    Ok(row.map(|(key, _)| String::from_utf8_lossy(key).into_owned()))
}
