//! AbortExpiredMultiPartUploads: aborts uploads that the clean-up service found expired.

use std::collections::HashSet;

use proto::ozone::{
    KeyArgs, MultipartKeyInfo, MultipartUploadsExpiredAbortRequest,
    MultipartUploadsExpiredAbortResponse, OmResponse, Type,
};

use super::abort;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::{OmError, ViewError};
use crate::state::context::ApplyContext;
use crate::state::view;
use crate::tables::{self, Table};

pub(crate) struct AbortExpiredMultiPartUploads;

impl Command for AbortExpiredMultiPartUploads {
    const TYPE: Type = Type::AbortExpiredMultiPartUploads;
    const AUDIT: &'static str = "ABORT_EXPIRED_MULTIPART_UPLOAD";
    const RIGHTS: Rights<MultipartUploadsExpiredAbortRequest> = Rights::Om;
    request_part!(multipart_uploads_expired_abort_request: MultipartUploadsExpiredAbortRequest);
}

impl Write for AbortExpiredMultiPartUploads {
    const PREPARE: Decision<MultipartUploadsExpiredAbortRequest> = Decision::Nothing;

    fn apply(
        request: MultipartUploadsExpiredAbortRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut done = HashSet::new();
        for in_bucket in request.expired_multipart_uploads_per_bucket {
            let bucket_key = tables::bucket_key(&in_bucket.volume_name, &in_bucket.bucket_name);
            // A bucket with uploads cannot be deleted; without the bucket there is nothing to
            // abort.
            let found = view::unless_damaged(cx.view.bucket(&bucket_key))?;
            let Some(mut bucket) = found else { continue };
            for expired in in_bucket.multipart_uploads {
                let key = expired.name.into_bytes();
                if !done.insert(key.clone()) {
                    continue;
                }
                // Completed or aborted in the meantime: nothing to do.
                let found =
                    view::get::<MultipartKeyInfo>(cx.view, Table::MultipartInfoTable, &key)?;
                let Some(upload) = found else { continue };
                let names = KeyArgs {
                    volume_name: in_bucket.volume_name.clone(),
                    bucket_name: in_bucket.bucket_name.clone(),
                    key_name: upload.key_name.clone().unwrap_or_default(),
                    ..KeyArgs::default()
                };
                let before = (bucket.clone(), cx.effects.len());
                match abort::remove(cx, &mut bucket, key, &upload, &names) {
                    // An upload with a damaged row stays; the others go.
                    Err(OmError::View(ViewError::Damaged { .. })) => {
                        bucket = before.0;
                        cx.effects.truncate(before.1);
                    }
                    removed => removed?,
                }
            }
            cx.put_bucket(bucket_key, bucket);
        }
        let mut r = response::ok(Type::AbortExpiredMultiPartUploads);
        r.multipart_uploads_expired_abort_response =
            Some(Box::new(MultipartUploadsExpiredAbortResponse {}));
        Ok(r)
    }
}
