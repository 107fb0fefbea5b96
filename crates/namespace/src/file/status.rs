//! GetFileStatus, and the status of a path in either kind of bucket.

use proto::ozone::{
    GetFileStatusRequest, GetFileStatusResponse, KeyArgs, KeyInfo, OmResponse,
    OzoneFileStatusProto, Type,
};

use super::legacy;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::key::lookup;
use crate::new_key::require_paths;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::row::Bucket;
use crate::state::tree::find::{Entry, Found, find};
use crate::state::tree::{Tree, directory, path};

pub(crate) struct GetFileStatus;

impl Command for GetFileStatus {
    const TYPE: Type = Type::GetFileStatus;
    const AUDIT: &'static str = "GET_FILE_STATUS";
    const RIGHTS: Rights<GetFileStatusRequest> =
        Rights::Required(|request, guard| guard.require_path(&request.key_args));
    request_part!(get_file_status_request: GetFileStatusRequest);

    fn audit(request: &GetFileStatusRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for GetFileStatus {
    fn read(request: &GetFileStatusRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let args = &request.key_args;
        let mut status = of_path(args, cx)?.ok_or_else(|| {
            OmError::FileNotFound(format!(
                "Unable to get file status: volume: {} bucket: {} key: {}",
                args.volume_name, args.bucket_name, args.key_name
            ))
        })?;
        if let Some(key) = &mut status.key_info {
            lookup::narrow(key, args);
        }
        let mut r = response::ok(Type::GetFileStatus);
        r.get_file_status_response = Some(Box::new(GetFileStatusResponse { status }));
        Ok(r)
    }
}

/// Status of the path of `args`.
pub(crate) fn of_path(
    args: &KeyArgs,
    cx: &ReadContext<'_>,
) -> Result<Option<OzoneFileStatusProto>, OmError> {
    let (mut volume, mut name) = (args.volume_name.clone(), args.bucket_name.clone());
    let bucket = bucket::resolve(cx.view, &mut volume, &mut name)?;
    require_paths(&bucket)?;
    let key = path::normalize(&args.key_name);
    if key.is_empty() {
        return Ok(Some(of_directory(directory::of_bucket(&bucket), cx)));
    }
    if !bucket.is_tree() {
        return legacy::status(cx, &bucket, &key);
    }
    let tree = Tree::of(cx.view, &bucket)?;
    Ok(find(&tree, &key)?.map(|found| of_found(found, &bucket, &key, cx)))
}

fn of_found(
    found: Found,
    bucket: &Bucket,
    key: &str,
    cx: &ReadContext<'_>,
) -> OzoneFileStatusProto {
    match found.entry {
        Entry::File(file) => of_file(*file, cx),
        Entry::Directory(entry) => {
            of_directory(directory::as_key(&entry, bucket, key.to_owned()), cx)
        }
    }
}

/// The status of a file.
pub(crate) fn of_file(key: KeyInfo, cx: &ReadContext<'_>) -> OzoneFileStatusProto {
    OzoneFileStatusProto {
        key_info: Some(key),
        block_size: Some(cx.settings.block_size),
        is_directory: Some(false),
    }
}

/// The status of a directory.
pub(crate) fn of_directory(key: KeyInfo, cx: &ReadContext<'_>) -> OzoneFileStatusProto {
    OzoneFileStatusProto {
        key_info: Some(key),
        block_size: Some(cx.settings.block_size),
        is_directory: Some(true),
    }
}
