//! Bucket and ends of a diff, and the user's right to read it.

use proto::ozone::SnapshotInfo;

use super::super::find;
use super::DiffEnds;
use crate::authorizer::{Guard, Right, Target};
use crate::error::OmError;
use crate::state::context::ReadContext;

/// The ends of a diff, with the ids of its snapshots: names may mean others later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEnds {
    /// The ends.
    pub ends: DiffEnds,
    /// `fromSnapshotID-toSnapshotID`
    pub key: String,
}

/// The bucket proper of a request about diffs, which the user may read.
///
/// # Errors
/// When the bucket does not exist, or the user may not read it, or there are no snapshots at all.
pub fn diff_bucket(
    volume: &str,
    bucket: &str,
    cx: &ReadContext<'_>,
) -> Result<(String, String), OmError> {
    find::check_enabled(proto::ozone::Type::SnapshotDiff, cx.settings)?;
    let policy = &cx.settings.authorization;
    if policy.enabled {
        let (view, user, groups) = (cx.view, cx.user, cx.groups);
        let s3_volume = &cx.settings.s3_volume;
        let guard = Guard { view, policy, user, groups, s3_volume };
        let (volume, bucket) = guard.resolve(volume, bucket)?;
        guard.require(Target::bucket(&volume, &bucket), Right::Read)?;
    }
    let (mut volume, mut bucket) = (Some(volume.to_owned()), Some(bucket.to_owned()));
    find::resolve(cx.view, &mut volume, &mut bucket)?;
    Ok((volume.unwrap_or_default(), bucket.unwrap_or_default()))
}

/// The ends that a request names.
///
/// # Errors
/// As [`diff_bucket`], and when a snapshot does not exist.
pub fn diff_ends(named: &DiffEnds, cx: &ReadContext<'_>) -> Result<FoundEnds, OmError> {
    let (volume, bucket) = diff_bucket(&named.volume, &named.bucket, cx)?;
    let found = |name: &str| -> Result<String, OmError> {
        find::readable(cx.view, &volume, &bucket, name)?;
        let info: SnapshotInfo = find::existing(cx.view, &volume, &bucket, name)?;
        Ok(find::text(find::uuid_bytes(info.snapshot_id.as_ref())))
    };
    let key = format!("{}-{}", found(&named.from)?, found(&named.to)?);
    let ends = DiffEnds { volume, bucket, from: named.from.clone(), to: named.to.clone() };
    Ok(FoundEnds { ends, key })
}
