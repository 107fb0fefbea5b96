//! Status of a path of a LEGACY bucket.

use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, OzoneFileStatusProto};

use crate::error::OmError;
use crate::file::status::{of_directory, of_file};
use crate::state::context::ReadContext;
use crate::state::row::Bucket;
use crate::state::tree::directory::of_bucket;
use crate::state::view;
use crate::tables::{Table, object_key, prefix_end};

/// The file or directory at `path`, which has no slashes too many and is not empty.
pub(crate) fn status(
    cx: &ReadContext<'_>,
    bucket: &Bucket,
    path: &str,
) -> Result<Option<OzoneFileStatusProto>, OmError> {
    let row = |name: &str| object_key(&bucket.volume_name, &bucket.bucket_name, name);
    if let Some(key) = view::get::<KeyInfo>(cx.view, Table::KeyTable, &row(path))? {
        return Ok(Some(of_file(key, cx)));
    }
    let name = format!("{path}/");
    if let Some(key) = view::get::<KeyInfo>(cx.view, Table::KeyTable, &row(&name))? {
        return Ok(Some(of_directory(as_directory(key), cx)));
    }
    let below = row(&name);
    let mut implied = false;
    cx.view.scan(Table::KeyTable, &below, prefix_end(&below).as_deref(), &mut |_, _| {
        implied = true;
        ControlFlow::Break(())
    })?;
    Ok(implied.then(|| of_directory(implied_directory(bucket, name), cx)))
}

/// A directory's key, written by a client or by this OM.
pub(super) fn as_directory(mut key: KeyInfo) -> KeyInfo {
    key.is_file = Some(false);
    key
}

/// A directory that exists only as a prefix of keys.
pub(super) fn implied_directory(bucket: &Bucket, name: String) -> KeyInfo {
    KeyInfo { key_name: name, object_id: None, update_id: None, ..of_bucket(bucket) }
}
