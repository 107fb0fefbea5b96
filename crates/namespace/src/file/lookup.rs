//! LookupFile: a file to read.

use proto::ozone::{LookupFileRequest, LookupFileResponse, OmResponse, Type};

use super::status::of_path;
use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::key::lookup;
use crate::state::context::ReadContext;

pub(crate) struct LookupFile;

impl Command for LookupFile {
    const TYPE: Type = Type::LookupFile;
    const AUDIT: &'static str = "LOOKUP_FILE";
    const RIGHTS: Rights<LookupFileRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Read));
    request_part!(lookup_file_request: LookupFileRequest);

    fn audit(request: &LookupFileRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for LookupFile {
    fn read(request: &LookupFileRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let args = &request.key_args;
        let status = of_path(args, cx)?.ok_or_else(|| {
            OmError::FileNotFound(format!(
                "Unable to get file status: volume: {} bucket: {} key: {}",
                args.volume_name, args.bucket_name, args.key_name
            ))
        })?;
        if status.is_directory == Some(true) {
            return Err(OmError::NotAFile(format!(
                "Can not write to directory: {}",
                args.key_name
            )));
        }
        let mut key_info = status.key_info;
        if let Some(key) = &mut key_info {
            lookup::narrow(key, args);
        }
        let mut r = response::ok(Type::LookupFile);
        r.lookup_file_response = Some(Box::new(LookupFileResponse { key_info }));
        Ok(r)
    }
}
