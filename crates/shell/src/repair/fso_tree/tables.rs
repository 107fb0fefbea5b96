//! The parts of a tree, in the database of a stopped OM.

use metastore::{IterRange, OfflineStore};
use namespace::Table;
use namespace::tables::{bucket_key, snapshot_key, volume_key};
use prost::Message;
use proto::ozone::{BucketInfo, VolumeInfo};

use crate::ShellError;

/// Readahead of a scan, in bytes.
const READAHEAD: usize = 1 << 20;

/// All volumes, or the given one.
///
/// # Errors
/// If there is no such volume, or the database cannot be read.
pub(super) fn volumes(
    store: &OfflineStore,
    wanted: Option<&str>,
) -> Result<Vec<VolumeInfo>, ShellError> {
    let Some(name) = wanted else { return all(store, Table::VolumeTable, IterRange::all()) };
    let volume = one(store, Table::VolumeTable, &volume_key(name))?;
    let missing = || ShellError::Refused(format!("Volume '/{name}' does not exist."));
    Ok(vec![volume.ok_or_else(missing)?])
}

/// All buckets of a volume, or the given one.
///
/// # Errors
/// As [`volumes`].
pub(super) fn buckets(
    store: &OfflineStore,
    volume: &str,
    wanted: Option<&str>,
) -> Result<Vec<BucketInfo>, ShellError> {
    let Some(name) = wanted else {
        let of_volume = IterRange::prefix(bucket_key(volume, ""));
        return all(store, Table::BucketTable, of_volume);
    };
    let bucket = one(store, Table::BucketTable, &bucket_key(volume, name))?;
    let missing = format!("Bucket '{name}' does not exist in volume '/{volume}'.");
    Ok(vec![bucket.ok_or(ShellError::Refused(missing))?])
}

/// Returns `true` if the bucket has any snapshot, in any state.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn has_snapshots(
    store: &OfflineStore,
    volume: &str,
    bucket: &str,
) -> Result<bool, ShellError> {
    let range = IterRange::prefix(snapshot_key(volume, bucket, ""));
    let mut rows = store.iter(Table::SnapshotInfoTable.name(), range)?;
    rows.first();
    Ok(rows.row()?.is_some())
}

/// Visits the rows of a table that begin with `prefix`, in order.
///
/// # Errors
/// If the database cannot be read, or a visit fails.
pub(super) fn for_each(
    store: &OfflineStore,
    table: Table,
    range: IterRange,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), ShellError>,
) -> Result<(), ShellError> {
    let mut rows = store.iter(table.name(), range.background(READAHEAD))?;
    rows.first();
    while let Some((key, value)) = rows.row()? {
        visit(key, value)?;
        rows.next();
    }
    Ok(())
}

/// Decodes a row as a message.
///
/// # Errors
/// If it is malformed.
pub(super) fn decode<M: Message + Default>(
    table: Table,
    key: &[u8],
    value: &[u8],
) -> Result<M, ShellError> {
    M::decode(value).map_err(|e| {
        let key = String::from_utf8_lossy(key);
        ShellError::Refused(format!("row {key} of {} is damaged: {e}", table.name()))
    })
}

fn one<M: Message + Default>(
    store: &OfflineStore,
    table: Table,
    key: &[u8],
) -> Result<Option<M>, ShellError> {
    let value = store.get(table.name(), key)?;
    value.map(|value| decode(table, key, &value)).transpose()
}

fn all<M: Message + Default>(
    store: &OfflineStore,
    table: Table,
    range: IterRange,
) -> Result<Vec<M>, ShellError> {
    let mut rows = Vec::new();
    for_each(store, table, range, |key, value| {
        rows.push(decode(table, key, value)?);
        Ok(())
    })?;
    Ok(rows)
}
