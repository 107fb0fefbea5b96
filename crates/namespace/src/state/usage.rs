//! Usage of a key in its bucket: replicated bytes and names.
//!
//! Invariant: `usedBytes` of a bucket is the sum of [`replicated_size`] over its live keys and over
//! the parts of its multipart uploads under way; `usedNamespace` is the number of its live keys and
//! directories, and of entries of deleted directories that are not taken apart yet. A deleted
//! directory does not count. Deleted keys move to `snapshotUsedBytes` and `snapshotUsedNamespace`
//! until their blocks are purged.

use proto::ozone::{KeyInfo, KeyLocation};
use types::ReplicationConfig;

use crate::error::OmError;
use crate::state::row::Bucket;

/// A quota is set when it is positive: -1 is unlimited, -2 is the value in old rows.
pub(crate) fn limit(quota: Option<i64>) -> Option<u64> {
    quota.and_then(|q| u64::try_from(q).ok()).filter(|q| *q > 0)
}

/// Bytes that a key takes with all its copies: data size times copies; for EC, whose stripes end
/// with each block group, group by group.
pub fn replicated_size(key: &KeyInfo) -> u64 {
    let config =
        ReplicationConfig::from_wire(key.r#type, key.factor, key.ec_replication_config.as_ref());
    match config {
        Ok(config @ ReplicationConfig::Ec(_)) => crate::state::locations::of_key(key)
            .map(|location| config.replicated_size(location.length))
            .fold(0, u64::saturating_add),
        Ok(config) => config.replicated_size(key.data_size),
        // A row of an unknown replication counts its plain size: the same at its deletion.
        Err(_) => key.data_size,
    }
}

/// Bytes that blocks of a key take with all copies when they are full: all granted blocks must fit
/// into the quota, as in Ozone, however few bytes are used in the end.
pub(crate) fn reserved(config: &ReplicationConfig, blocks: &[KeyLocation]) -> u64 {
    let units = match config {
        ReplicationConfig::Ec(ec) => u64::from(ec.data),
        _ => 1,
    };
    let sizes = blocks.iter().map(|block| block.length.saturating_mul(units));
    sizes.map(|size| config.replicated_size(size)).fold(0, u64::saturating_add)
}

/// Checks that `extra` more bytes fit into the bucket's space quota.
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

/// Checks that `extra` more keys fit into the bucket's namespace quota.
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

/// The largest value of a bucket's counter, and the largest size of a key: Ozone's are signed
/// numbers of 64 bits.
pub(crate) const LARGEST: u64 = i64::MAX.unsigned_abs();

/// Adds to a counter of a bucket. At [`LARGEST`] it stays: sizes come from writers, and a wrong one
/// must not keep others from writing. A quota repair counts again.
pub(crate) fn count(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more).min(LARGEST);
}

/// The number of things in a list, as counters have it.
pub(crate) fn number(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(LARGEST)
}

/// A live key's bytes become bytes that wait for the purge.
pub(crate) fn release_to_deleted(bucket: &mut Bucket, bytes: u64, has_blocks: bool) {
    bucket.used_bytes = bucket.used_bytes.saturating_sub(bytes);
    if has_blocks {
        count(&mut bucket.snapshot_used_bytes, bytes);
        count(&mut bucket.snapshot_used_namespace, 1);
    }
}
