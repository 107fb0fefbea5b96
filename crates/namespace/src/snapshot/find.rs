//! Finding snapshots.

use proto::hdds;
use proto::ozone::{SnapshotInfo, SnapshotStatusProto, Type};

use crate::authorizer::Guard;
use crate::error::OmError;
use crate::state::find::bucket;
use crate::state::row::{self, Bucket};
use crate::state::settings::Settings;
use crate::state::view::{self, View};
use crate::tables::{Table, parse_transaction_info, snapshot_key};

/// # Errors
/// When `ozone.filesystem.snapshot.enabled` is off.
pub(crate) fn check_enabled(command: Type, settings: &Settings) -> Result<(), OmError> {
    if settings.snapshots {
        return Ok(());
    }
    Err(OmError::FeatureNotEnabled(format!(
        "Operation {} cannot be invoked because Ozone snapshot feature is disabled.",
        command.as_str_name()
    )))
}

/// The bucket that the names of a snapshot's request stand for, which become its own.
pub(crate) fn resolve(
    view: &dyn View,
    volume: &mut Option<String>,
    bucket: &mut Option<String>,
) -> Result<Bucket, OmError> {
    let missing = |volume: &str| OmError::SnapshotVolume(volume.to_owned());
    let found =
        bucket::resolve(view, volume.get_or_insert_default(), bucket.get_or_insert_default());
    found.map_err(|e| match e {
        OmError::VolumeNotFound(volume) => missing(&volume),
        other => other,
    })
}

/// The snapshot of that name, deleted or not.
pub(crate) fn find(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    name: &str,
) -> Result<Option<SnapshotInfo>, OmError> {
    Ok(view::get(view, Table::SnapshotInfoTable, &snapshot_key(volume, bucket, name))?)
}

/// The snapshot of that name, deleted or not.
///
/// # Errors
/// When there is none.
pub(crate) fn existing(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    name: &str,
) -> Result<SnapshotInfo, OmError> {
    find(view, volume, bucket, name)?.ok_or_else(|| {
        OmError::FileNotFound(format!("Snapshot '/{volume}/{bucket}/{name}' is not found."))
    })
}

/// The index of a snapshot that can be read.
///
/// # Errors
/// When there is no such snapshot, or it is deleted.
pub(crate) fn readable(
    view: &dyn View,
    volume: &str,
    bucket: &str,
    name: &str,
) -> Result<u64, OmError> {
    let info = existing(view, volume, bucket, name)?;
    if !is_active(&info) {
        return Err(OmError::FileNotFound(format!(
            "Unable to load snapshot. Snapshot with table key '/{volume}/{bucket}/{name}' is no longer active"
        )));
    }
    index_of(&info, volume, bucket, name)
}

pub(crate) fn is_active(info: &SnapshotInfo) -> bool {
    info.snapshot_status() == SnapshotStatusProto::SnapshotActive
}

/// The index of the log entry that made a snapshot.
pub(crate) fn index_of(
    info: &SnapshotInfo,
    volume: &str,
    bucket: &str,
    name: &str,
) -> Result<u64, OmError> {
    let made = info.create_transaction_info.as_deref().and_then(parse_transaction_info);
    made.map(|(_, index)| index).ok_or_else(|| {
        let key = snapshot_key(volume, bucket, name);
        row::damaged(Table::SnapshotInfoTable, &key, &"it does not say when it was made").into()
    })
}

/// A UUID as messages have it.
pub(crate) fn uuid(bytes: [u8; 16]) -> hdds::Uuid {
    let (most, least) = bytes.split_at(8);
    let half = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).unwrap_or_default();
    hdds::Uuid { most_sig_bits: half(most), least_sig_bits: half(least) }
}

/// The bytes of a UUID.
pub(crate) fn uuid_bytes(uuid: Option<&hdds::Uuid>) -> [u8; 16] {
    let mut bytes = [0; 16];
    if let Some(uuid) = uuid {
        let (most, least) = bytes.split_at_mut(8);
        most.copy_from_slice(&uuid.most_sig_bits.to_be_bytes());
        least.copy_from_slice(&uuid.least_sig_bits.to_be_bytes());
    }
    bytes
}

/// A UUID as text.
pub(crate) fn text(id: [u8; 16]) -> String {
    let hex = hex::encode(id);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// Only the owner of the bucket and administrators make and remove snapshots.
pub(crate) fn require_owner(
    guard: &Guard<'_>,
    volume: Option<&str>,
    bucket: Option<&str>,
    deed: &str,
) -> Result<(), OmError> {
    let (volume, bucket) = guard.resolve(volume.unwrap_or_default(), bucket.unwrap_or_default())?;
    let found = bucket::find(guard.view, &volume, &bucket)?;
    if guard.is_admin() || found.owner.as_deref() == Some(guard.user) {
        return Ok(());
    }
    Err(OmError::PermissionDenied(format!(
        "Only bucket owners and Ozone admins can {deed} snapshots"
    )))
}
