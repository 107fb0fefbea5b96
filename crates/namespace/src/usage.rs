//! What keys count against their bucket: replicated bytes and names.
//!
//! Invariant: `usedBytes` of a bucket is the sum of [`replicated_size`] over its live keys and
//! over the parts of its multipart uploads under way; `usedNamespace` is the number of its live
//! keys and directories, and of what is in deleted directories that are not taken apart yet. A
//! deleted directory does not count. Deleted keys move to `snapshotUsedBytes` and `snapshotUsedNamespace` until their blocks
//! are purged.

use proto::ozone::{KeyInfo, KeyLocation};
use types::ReplicationConfig;

use crate::error::OmError;
use crate::row::Bucket;

/// A quota is set when it is positive: -1 is unlimited, -2 is what rows of old times have.
pub(crate) fn limit(quota: Option<i64>) -> Option<u64> {
    quota.filter(|q| *q > 0).map(|q| q as u64)
}

/// Bytes that a key takes with all its copies: data size times copies; for EC, whose stripes end
/// with each block group, group by group.
pub fn replicated_size(key: &KeyInfo) -> u64 {
    let config =
        ReplicationConfig::from_wire(key.r#type, key.factor, key.ec_replication_config.as_ref());
    match config {
        Ok(config @ ReplicationConfig::Ec(_)) => crate::locations::of_key(key)
            .map(|location| config.replicated_size(location.length))
            .fold(0, u64::saturating_add),
        Ok(config) => config.replicated_size(key.data_size),
        // A row without a replication that we know counts plain: the same when it goes.
        Err(_) => key.data_size,
    }
}

/// Bytes that blocks of a key take with all copies when they are full: what a writer is granted
/// must fit into the quota, as in Ozone, however little of it is used in the end.
pub(crate) fn reserved(config: &ReplicationConfig, blocks: &[KeyLocation]) -> u64 {
    let units = match config {
        ReplicationConfig::Ec(ec) => u64::from(ec.data),
        _ => 1,
    };
    let sizes = blocks.iter().map(|block| block.length.saturating_mul(units));
    sizes.map(|size| config.replicated_size(size)).fold(0, u64::saturating_add)
}

/// Whether `extra` more bytes fit into the bucket's space quota.
pub(crate) fn check_bytes(bucket: &Bucket, extra: u64) -> Result<(), OmError> {
    let Some(quota) = limit(bucket.quota_in_bytes) else { return Ok(()) };
    let after = bucket.used_bytes.saturating_add(bucket.snapshot_used_bytes).saturating_add(extra);
    if extra == 0 || after <= quota {
        return Ok(());
    }
    Err(OmError::QuotaExceeded(format!(
        "The DiskSpace quota of bucket:{} exceeded quotaInBytes: {quota} Bytes but diskspace \
         consumed: {after} Bytes.",
        bucket.bucket_name
    )))
}

/// Whether `extra` more keys fit into the bucket's namespace quota.
pub(crate) fn check_namespace(bucket: &Bucket, extra: u64) -> Result<(), OmError> {
    let Some(quota) = limit(bucket.quota_in_namespace) else { return Ok(()) };
    let used = bucket.used_namespace.saturating_add(bucket.snapshot_used_namespace);
    if used.saturating_add(extra) <= quota {
        return Ok(());
    }
    Err(OmError::QuotaExceeded(format!(
        "The namespace quota of Bucket:{} exceeded: quotaInNamespace: {quota} but namespace \
         consumed: {}.",
        bucket.bucket_name,
        used.saturating_add(extra)
    )))
}

/// A live key's bytes become bytes that wait for the purge.
pub(crate) fn release_to_deleted(bucket: &mut Bucket, bytes: u64, has_blocks: bool) {
    bucket.used_bytes = bucket.used_bytes.saturating_sub(bytes);
    if has_blocks {
        bucket.snapshot_used_bytes = bucket.snapshot_used_bytes.saturating_add(bytes);
        bucket.snapshot_used_namespace = bucket.snapshot_used_namespace.saturating_add(1);
    }
}
