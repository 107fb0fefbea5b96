//! ListMultipartUploads: uploads under way, ordered by key and then by upload id.
//!
//! Rows come in another order than that: `/v/b/a!/<id>` stands before `/v/b/a/<id>`, the key `a!`
//! after `a`. So a page is the least entries of the whole range, kept in a bounded ordered set.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use proto::ozone::{
    ListMultipartUploadsRequest, ListMultipartUploadsResponse, MultipartKeyInfo,
    MultipartUploadInfo, OmResponse, Type,
};

use crate::authorizer::{Guard, Right};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::row;
use crate::tables::{Table, object_key, prefix_end};

/// Key and upload id, the order of the list.
type UploadKey = (Vec<u8>, Vec<u8>);

pub(crate) struct ListMultipartUploads;

impl Command for ListMultipartUploads {
    const TYPE: Type = Type::ListMultipartUploads;
    const AUDIT: &'static str = "LIST_MULTIPART_UPLOADS";
    const RIGHTS: Rights<ListMultipartUploadsRequest> = Rights::Required(rights);
    request_part!(list_multipart_uploads_request: ListMultipartUploadsRequest);
}

fn rights(request: &ListMultipartUploadsRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let needed = [Right::Read, Right::List];
    guard.require_content(&request.volume, &request.bucket, &request.prefix, &needed)
}

impl Read for ListMultipartUploads {
    fn read(
        request: &ListMultipartUploadsRequest,
        cx: &ReadContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let (mut volume, mut bucket) = (request.volume.clone(), request.bucket.clone());
        bucket::resolve(cx.view, &mut volume, &mut bucket)?;
        let paged = request.with_pagination == Some(true);
        let page = if paged { cx.page(request.max_uploads.map(i64::from)) } else { usize::MAX };
        let (mut uploads, truncated) =
            collect(request, cx, &object_key(&volume, &bucket, ""), page)?;

        let mut list = Vec::with_capacity(uploads.len());
        for ((key, _), value) in std::mem::take(&mut uploads) {
            let upload: MultipartKeyInfo = row::decode(Table::MultipartInfoTable, &key, value)?;
            list.push(MultipartUploadInfo {
                volume_name: volume.clone(),
                bucket_name: bucket.clone(),
                key_name: String::from_utf8_lossy(&key).into_owned(),
                upload_id: upload.upload_id,
                creation_time: upload.creation_time,
                r#type: upload.r#type,
                factor: upload.factor,
                ec_replication_config: upload.ec_replication_config,
            });
        }
        let next = list.last().filter(|_| truncated);
        let mut r = response::ok(Type::ListMultipartUploads);
        r.list_multipart_uploads_response = Some(Box::new(ListMultipartUploadsResponse {
            is_truncated: Some(truncated),
            next_key_marker: next.map(|u| u.key_name.clone()),
            next_upload_id_marker: next.map(|u| u.upload_id.clone()),
            uploads_list: list,
        }));
        Ok(r)
    }
}

fn collect(
    request: &ListMultipartUploadsRequest,
    cx: &ReadContext<'_>,
    bucket: &[u8],
    page: usize,
) -> Result<(BTreeMap<UploadKey, Bytes>, bool), OmError> {
    let key_marker = request.key_marker.as_deref().unwrap_or("").as_bytes();
    let id_marker = request.upload_id_marker.as_deref().unwrap_or("").as_bytes();
    let first = [bucket, request.prefix.as_bytes()].concat();
    // Keys not before the marker have rows not before it either, though not in their order.
    let marker = [bucket, key_marker].concat();
    let start = first.as_slice().max(&marker);
    let mut uploads: BTreeMap<UploadKey, Bytes> = BTreeMap::new();
    let mut truncated = false;
    let end = prefix_end(&first);
    cx.view.scan(Table::MultipartInfoTable, start, end.as_deref(), &mut |row, value| {
        let Some((key, id)) = row.get(bucket.len()..).and_then(split_id) else {
            return ControlFlow::Continue(());
        };
        // Without an upload id, the marker skips all uploads of its key.
        let after = match id_marker {
            [] => key_marker.is_empty() || key > key_marker,
            _ => (key, id) > (key_marker, id_marker),
        };
        if after && key.starts_with(request.prefix.as_bytes()) {
            uploads.insert((key.to_vec(), id.to_vec()), Bytes::copy_from_slice(value));
            if uploads.len() > page {
                uploads.pop_last();
                truncated = true;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((uploads, truncated))
}

/// Key and upload id of a row: ids have no slash.
fn split_id(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = row.iter().rposition(|b| *b == b'/')?;
    Some((row.get(..slash)?, row.get(slash.saturating_add(1)..)?))
}
