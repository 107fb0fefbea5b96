//! RecoverLease: takes a key that was synced and not closed away from its writer, so that the
//! requesting client can find out its real length and close it.

use proto::ozone::{KeyInfo, OmResponse, RecoverLeaseRequest, RecoverLeaseResponse, Type};

use crate::authorizer::{Guard, Right};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::key_row::{KeyRow, hsync};
use crate::state::metadata::{self, LEASE_RECOVERY};
use crate::tables;

pub(crate) struct RecoverLease;

impl Command for RecoverLease {
    const TYPE: Type = Type::RecoverLease;
    const AUDIT: &'static str = "RecoverLease";
    const RIGHTS: Rights<RecoverLeaseRequest> = Rights::Required(rights);
    request_part!(recover_lease_request: RecoverLeaseRequest);
}

fn rights(request: &RecoverLeaseRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let volume = request.volume_name.as_deref().ok_or_else(|| OmError::missing("volumeName"))?;
    let bucket = request.bucket_name.as_deref().ok_or_else(|| OmError::missing("bucketName"))?;
    let key = request.key_name.as_deref().ok_or_else(|| OmError::missing("keyName"))?;
    guard.require_in_bucket(volume, bucket, key, Right::Write)
}

fn prepare(request: &mut RecoverLeaseRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let volume = request.volume_name.as_mut().ok_or_else(|| OmError::missing("volumeName"))?;
    let bucket = request.bucket_name.as_mut().ok_or_else(|| OmError::missing("bucketName"))?;
    bucket::resolve(ctx.view, volume, bucket)?;
    request.now = Some(ctx.now_ms);
    request.soft_limit = Some(ctx.settings.lease_soft_limit_ms);
    Ok(())
}

impl Write for RecoverLease {
    const PREPARE: Decision<RecoverLeaseRequest> = Decision::Fields(prepare);

    fn apply(
        request: RecoverLeaseRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let volume = request.volume_name.ok_or_else(|| OmError::missing("volumeName"))?;
        let bucket = request.bucket_name.ok_or_else(|| OmError::missing("bucketName"))?;
        let name = request.key_name.ok_or_else(|| OmError::missing("keyName"))?;
        let now = request.now.ok_or_else(|| OmError::missing("time"))?;
        let key_row = KeyRow::of(cx.view, &volume, &bucket, &name)?;
        let Some(key) = key_row.committed(cx.view)? else {
            return Err(if key_row.is_directory(cx.view)? {
                OmError::NotAFile(format!("Path: {name} is a directory"))
            } else {
                OmError::KeyNotFound(format!("Key:{name} not found in keyTable."))
            });
        };
        let writer = hsync::writer(&key)
            .ok_or_else(|| OmError::KeyClosed(format!("Key: {name} is already closed")))?;
        let open_key = tables::open_key(&key_row.key, writer);
        let mut open = key_row.open(cx.view, &open_key)?.ok_or_else(|| {
            let session = String::from_utf8_lossy(&open_key);
            OmError::KeyNotFound(format!("Open Key {session} not found in openKeyTable"))
        })?;
        if hsync::check_owned(&open).is_err() {
            return Err(OmError::KeyNotFound(format!("Open Key {name} is already deleted")));
        }
        // A repeated recovery continues.
        if metadata::get(&open.metadata, LEASE_RECOVERY).is_none() {
            let soft_limit = request.soft_limit.unwrap_or_default();
            let recent = now < open.modification_time.saturating_add(soft_limit);
            if recent && request.force != Some(true) {
                return Err(OmError::UnderLeaseSoftLimit(format!(
                    "Open Key {name} updated recently and is inside soft limit period"
                )));
            }
            metadata::set_str(&mut open.metadata, LEASE_RECOVERY, "true");
            open.modification_time = now;
            open.update_id = Some(cx.tx.index);
            key_row.put_open(cx, open_key, &open);
        }
        let mut r = response::ok(Type::RecoverLease);
        r.recover_lease_response = Some(Box::new(RecoverLeaseResponse {
            response: Some(true),
            key_info: Some(key),
            open_key_info: Some(open),
        }));
        Ok(r)
    }
}

/// The session that a recovery commits: that of the writer that synced the key.
pub(super) fn session_to_recover(existing: &KeyInfo, key_row: &KeyRow) -> Result<u64, OmError> {
    hsync::writer(existing).ok_or_else(|| {
        let key = String::from_utf8_lossy(&key_row.key);
        OmError::KeyClosed(format!("Failed to recovery key, as {key} is already closed"))
    })
}

/// # Errors
/// When the session belongs to a recovery now, but its writer continues.
pub(super) fn check_not_recovering(open: &KeyInfo, open_key: &[u8]) -> Result<(), OmError> {
    if metadata::get(&open.metadata, LEASE_RECOVERY).is_none() {
        return Ok(());
    }
    let session = String::from_utf8_lossy(open_key);
    Err(OmError::UnderLeaseRecovery(format!(
        "Cannot commit key {session} with {LEASE_RECOVERY} metadata while recovery flag is not set \
         in request"
    )))
}
