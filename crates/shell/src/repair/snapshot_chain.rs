//! `o3 repair om snapshot chain`. Ozone: `SnapshotChainRepair`.

use std::path::PathBuf;

use clap::Args;
use metastore::{IterRange, OfflineChange, OfflineStore};
use namespace::{Table, tables};
use prost::Message;
use proto::ozone::SnapshotInfo;
use types::ids::{uuid_from_wire, uuid_to_wire};
use uuid::Uuid;

use super::Care;
use crate::ShellError;
use crate::address::Address;

/// Set the previous snapshots recorded in a snapshot. OM must be stopped; of several OMs all must
/// be stopped, and the database of each must be changed. Only external readers of the table use the
/// chain: snapshots are read without it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 repair om snapshot chain vol1/bucket1 tuesday --db /data/om/om.db --gp ID --pp ID --dry-run")]
pub struct Chain {
    /// The bucket: /vol1/bucket1
    address: String,
    /// The snapshot.
    snapshot: String,
    /// The database's directory, such as /data/om/om.db.
    #[arg(long, value_name = "DIR")]
    db: PathBuf,
    /// Id of the previous snapshot of all buckets.
    #[arg(long = "gp", visible_alias = "global-previous", value_name = "ID")]
    global_previous: Uuid,
    /// Id of the previous snapshot of this bucket.
    #[arg(long = "pp", visible_alias = "path-previous", value_name = "ID")]
    path_previous: Uuid,
    #[command(flatten)]
    care: Care,
}

/// Runs the command.
pub(super) fn run(args: &Chain) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let key = tables::snapshot_key(volume, bucket, &args.snapshot);
    let mut info = find(args, &format!("/{volume}/{bucket}"), &key)?;
    info.global_previous_snapshot_id = Some(uuid_to_wire(args.global_previous));
    info.path_previous_snapshot_id = Some(uuid_to_wire(args.path_previous));
    let what =
        format!("The previous snapshots of a snapshot in {} will be changed.", args.db.display());
    let change = args.care.confirm(&what)?;
    args.care.say(&format!(
        "Updating snapshot {} of /{volume}/{bucket}: globalPreviousSnapshotId {}, \
         pathPreviousSnapshotId {}",
        args.snapshot, args.global_previous, args.path_previous
    ))?;
    if !change {
        return Ok(());
    }
    let put = OfflineChange::Put {
        table: Table::SnapshotInfoTable.name().to_owned(),
        key,
        value: info.encode_to_vec(),
    };
    OfflineStore::open(&args.db)?.write(&[put])?;
    args.care.say("Snapshot info is updated")
}

/// The snapshot's row, after the check that it may follow the two snapshots.
fn find(args: &Chain, bucket: &str, key: &[u8]) -> Result<SnapshotInfo, ShellError> {
    let store = OfflineStore::open_read_only(&args.db)?;
    let table = Table::SnapshotInfoTable.name();
    let (mut found, mut ids) = (None, Vec::new());
    let mut rows = store.iter(table, IterRange::all())?;
    rows.first();
    while let Some((row, value)) = rows.row()? {
        // Malformed rows do not prevent the repair of this one.
        if let Ok(info) = SnapshotInfo::decode(value) {
            ids.extend(info.snapshot_id.as_ref().map(uuid_from_wire));
            if row == key {
                found = Some(info);
            }
        }
        rows.next();
    }
    let name = &args.snapshot;
    let missing =
        || ShellError::Refused(format!("{name} does not exist for given bucketUri: {bucket}"));
    let info = found.ok_or_else(missing)?;
    let own = info.snapshot_id.as_ref().map(uuid_from_wire);
    for (field, id) in [
        ("globalPreviousSnapshotId", args.global_previous),
        ("pathPreviousSnapshotId", args.path_previous),
    ] {
        if own == Some(id) {
            let own = format!("{field}: '{id}' is equal to given snapshot's ID: '{id}'.");
            return Err(ShellError::Refused(own));
        }
        if !ids.contains(&id) {
            let missing = format!("{field}: '{id}' does not exist in snapshotInfoTable.");
            return Err(ShellError::Refused(missing));
        }
    }
    Ok(info)
}
