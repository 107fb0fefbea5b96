//! ListMultiPartUploadParts.

use std::ops::ControlFlow;

use proto::ozone::{
    KeyArgs, MultipartPartInfo, MultipartUploadListPartsRequest, MultipartUploadListPartsResponse,
    OmResponse, PartInfo, Type,
};

use crate::authorizer::{Guard, Right};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::{bucket, upload};
use crate::state::key_row::checksum;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::tree::path;
use crate::tables::{Table, part_key, part_prefix, prefix_end};

pub(crate) struct ListMultiPartUploadParts;

impl Command for ListMultiPartUploadParts {
    const TYPE: Type = Type::ListMultiPartUploadParts;
    const AUDIT: &'static str = "LIST_MULTIPART_UPLOAD_PARTS";
    const RIGHTS: Rights<MultipartUploadListPartsRequest> = Rights::Required(rights);
    request_part!(list_multipart_upload_parts_request: MultipartUploadListPartsRequest);
}

fn rights(request: &MultipartUploadListPartsRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let (volume, bucket, key) = (&request.volume, &request.bucket, &request.key);
    let read = || {
        guard.require_content(volume, bucket, key, &[Right::Read])?;
        guard.require_in_bucket(volume, bucket, key, Right::Read)
    };
    // A user who may complete an upload needs its parts.
    read().or_else(|refusal| {
        guard.require_in_bucket(volume, bucket, key, Right::Write).map_err(|_| refusal)
    })
}

impl Read for ListMultiPartUploadParts {
    fn read(
        request: &MultipartUploadListPartsRequest,
        cx: &ReadContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut args = KeyArgs {
            volume_name: request.volume.clone(),
            bucket_name: request.bucket.clone(),
            key_name: request.key.clone(),
            ..KeyArgs::default()
        };
        let bucket = bucket::resolve(cx.view, &mut args.volume_name, &mut args.bucket_name)?;
        if cx.settings.has_paths(&bucket) {
            path::normalize_in_place(&mut args.key_name);
        }
        upload::check_id(&request.upload_id, &args)?;
        let (_, upload) = upload::find(cx.view, &request.upload_id, &args)?;

        let checksum = checksum::of_upload(cx.view, &request.upload_id, &upload, &args)?;
        let page = cx.page(request.max_parts.map(i64::from));
        let after = request.part_numbermarker.unwrap_or(0);
        let mut parts: Vec<PartInfo> = Vec::new();
        let mut truncated = false;
        let start = part_key(&request.upload_id, after.saturating_add(1));
        let end = prefix_end(&part_prefix(&request.upload_id));
        let table = Table::MultipartPartsTable;
        try_scan(cx.view, table, &start, end.as_deref(), &mut |key, value| {
            if parts.len() == page {
                truncated = true;
                return Ok(ControlFlow::Break(()));
            }
            let part: MultipartPartInfo = row::decode_slice(table, key, value)?;
            parts.push(PartInfo {
                part_number: part.part_number.unwrap_or(0),
                part_name: part.part_name.unwrap_or_default(),
                modification_time: part.modification_time.unwrap_or(0),
                size: part.data_size.unwrap_or(0),
                e_tag: part.e_tag,
                checksum: part.checksum,
            });
            Ok(ControlFlow::Continue(()))
        })?;
        let mut r = response::ok(Type::ListMultiPartUploadParts);
        r.list_multipart_upload_parts_response = Some(Box::new(MultipartUploadListPartsResponse {
            r#type: Some(upload.r#type),
            factor: upload.factor,
            ec_replication_config: upload.ec_replication_config,
            next_part_number_marker: Some(parts.last().map_or(after, |p| p.part_number)),
            is_truncated: Some(truncated),
            parts_list: parts,
            checksum,
        }));
        Ok(r)
    }
}
