//! LookupKey, and what it has in common with GetKeyInfo.

use proto::ozone::{KeyArgs, KeyInfo, LookupKeyRequest, LookupKeyResponse, OmResponse, Type};

use crate::audit::{self, AuditParams};
use crate::authorizer::Right;
use crate::command::{Command, Read, Rights, request_part};
use crate::context::ReadContext;
use crate::error::OmError;
use crate::key_row::KeyRow;
use crate::response;

pub(crate) struct LookupKey;

impl Command for LookupKey {
    const TYPE: Type = Type::LookupKey;
    const AUDIT: &'static str = "READ_KEY";
    const RIGHTS: Rights<LookupKeyRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Read));
    request_part!(lookup_key_request: LookupKeyRequest);

    fn audit(request: &LookupKeyRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for LookupKey {
    fn read(request: &LookupKeyRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let key = key(&request.key_args, &request.key_args.volume_name, cx)?;
        let mut r = response::ok(Type::LookupKey);
        r.lookup_key_response =
            Some(Box::new(LookupKeyResponse { key_info: Some(key), id: None, open_version: None }));
        Ok(r)
    }
}

/// The key that `args` names in `volume`, with the versions and parts that it wants.
pub(crate) fn key(args: &KeyArgs, volume: &str, cx: &ReadContext<'_>) -> Result<KeyInfo, OmError> {
    if args.key_name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    let not_found = || OmError::KeyNotFound(format!("Key:{} not found", args.key_name));
    let key_row = match KeyRow::of(cx.view, volume, &args.bucket_name, &args.key_name) {
        Err(OmError::DirectoryNotFound(_)) => return Err(not_found()),
        key_row => key_row?,
    };
    let mut key = match key_row.committed(cx.view)? {
        Some(key) => key,
        None => return key_row.directory(cx.view)?.ok_or_else(not_found),
    };
    narrow(&mut key, args);
    Ok(key)
}

/// Leaves of a key the versions and parts that `args` wants.
pub(crate) fn narrow(key: &mut KeyInfo, args: &KeyArgs) {
    if args.latest_version_location == Some(true) {
        key.key_location_list = key.key_location_list.pop().into_iter().collect();
    }
    if let Some(part) = args.multipart_number.filter(|part| *part > 0) {
        only_part(key, part);
    }
}

/// Leaves of a key that was uploaded in parts one part's blocks and size.
fn only_part(key: &mut KeyInfo, part: u32) {
    let Some(latest) = key.key_location_list.last_mut() else { return };
    latest
        .key_locations
        .retain(|l| l.part_number.and_then(|n| u32::try_from(n).ok()) == Some(part));
    key.data_size = latest.key_locations.iter().map(|l| l.length).fold(0, u64::saturating_add);
}
