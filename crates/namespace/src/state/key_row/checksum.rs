//! Checksum settings from the start of a multipart upload, stored in the open key of the upload.

use proto::ozone::{KeyArgs, MultipartKeyInfo};

use super::KeyRow;
use crate::error::OmError;
use crate::state::metadata::{self, UPLOAD_CHECKSUM};
use crate::state::view::View;
use crate::tables::multipart_key;

/// The kind of checksum of the parts of an upload, if its creation specified one.
pub(crate) fn of_upload(
    view: &dyn View,
    upload_id: &str,
    upload: &MultipartKeyInfo,
    args: &KeyArgs,
) -> Result<Option<String>, OmError> {
    let key_row = KeyRow::of_upload(view, args, upload)?;
    let open = key_row.open(view, &multipart_key(&key_row.key, upload_id))?;
    Ok(open.and_then(|open| metadata::get(&open.metadata, UPLOAD_CHECKSUM).map(str::to_owned)))
}
