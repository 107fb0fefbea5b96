//! Finding buckets, through links too.

use crate::error::OmError;
use crate::state::row::Bucket;
use crate::state::view::View;
use crate::tables::{Table, bucket_key, volume_key};

/// Links may point to links, but not for ever.
pub(crate) const MAX_LINKS: usize = 32;

/// The bucket or link of that name.
pub(crate) fn find(view: &dyn View, volume: &str, bucket: &str) -> Result<Bucket, OmError> {
    at(view, &bucket_key(volume, bucket), volume, bucket)
}

/// Like [`find`], for the given key of the row.
pub(crate) fn at(
    view: &dyn View,
    key: &[u8],
    volume: &str,
    bucket: &str,
) -> Result<Bucket, OmError> {
    match view.bucket(key)? {
        Some(found) => Ok(found),
        None if view.exists(Table::VolumeTable, &volume_key(volume))? => {
            Err(OmError::bucket_not_found(volume, bucket))
        }
        None => Err(OmError::VolumeNotFound(volume.to_owned())),
    }
}

/// The bucket of these names after following links; the names become its own.
pub(crate) fn resolve(
    view: &dyn View,
    volume: &mut String,
    bucket: &mut String,
) -> Result<Bucket, OmError> {
    let mut found = find(view, volume, bucket)?;
    for _ in 0..MAX_LINKS {
        let (Some(v), Some(b)) = (&found.source_volume, &found.source_bucket) else {
            return Ok(found);
        };
        let (v, b) = (v.clone(), b.clone());
        found = find(view, &v, &b)?;
        (*volume, *bucket) = (v, b);
    }
    Err(OmError::LinkLoop { volume: volume.clone(), bucket: bucket.clone() })
}

/// Volume and name of the source of `bucket` after following links.
///
/// # Errors
/// When a bucket on the way does not exist, or links lead to each other.
pub fn source_bucket(
    view: &dyn View,
    volume: &str,
    bucket: &str,
) -> Result<(String, String), OmError> {
    let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
    resolve(view, &mut volume, &mut bucket)?;
    Ok((volume, bucket))
}
