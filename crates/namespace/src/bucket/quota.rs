//! Quotas of a bucket within those of its volume.

use proto::ozone::VolumeInfo;

use crate::error::OmError;
use crate::state::usage::limit;
use crate::state::view::View;
use crate::volume::set_property::buckets_quota;

/// A value that a quota can have: positive, or -1 for none (-2 in rows of old times).
pub(super) fn check_value(quota: Option<i64>, kind: &str) -> Result<(), OmError> {
    match quota {
        Some(q) if q == 0 || q < -2 => {
            Err(OmError::QuotaError(format!("Invalid value for quota in {kind}: {q}")))
        }
        _ => Ok(()),
    }
}

/// A bucket's space quota stays as long as its volume has one.
pub(super) fn check_clearing(volume: &VolumeInfo, quota: i64) -> Result<(), OmError> {
    if limit(volume.quota_in_bytes.map(|q| q.cast_signed())).is_some()
        && limit(Some(quota)).is_none()
    {
        return Err(OmError::QuotaError(
            "Can not clear bucket spaceQuota because volume spaceQuota is not cleared.".to_owned(),
        ));
    }
    Ok(())
}

/// A volume with a space quota requires one of each of its buckets, and covers their sum.
pub(super) fn check_space(
    view: &dyn View,
    volume: &VolumeInfo,
    bucket: &str,
    quota: Option<i64>,
) -> Result<(), OmError> {
    let Some(whole) = limit(volume.quota_in_bytes.map(|q| q.cast_signed())) else { return Ok(()) };
    let Some(mine) = limit(quota) else {
        return Err(OmError::QuotaError(
            "Bucket space quota in this volume should be set as volume space quota is already set."
                .to_owned(),
        ));
    };
    let others = buckets_quota(view, &volume.volume, Some(bucket))?.unwrap_or(0);
    if others.saturating_add(mine) > whole {
        return Err(OmError::QuotaExceeded(format!(
            "Total buckets quota in this volume should not be greater than volume quota : the \
             total space quota is set to:{}. But the volume space quota is:{whole}",
            others.saturating_add(mine)
        )));
    }
    Ok(())
}
