//! Refuses requests without the necessary rights, before a command is prepared or answered.

use proto::ozone::OmRequest;

use crate::authorizer::{Guard, Right, Target};
use crate::error::OmError;
use crate::registry;
use crate::state::context::{PrepareContext, ReadContext};
use crate::state::settings::Settings;

/// Refuses a write that the user has no right to. Of writes to many keys, only those keys are
/// marked refused that may not be touched.
pub(crate) fn check_write(r: &mut OmRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let Settings { authorization: policy, s3_volume, .. } = ctx.settings;
    if !policy.enabled {
        clear_marks(r);
        return Ok(());
    }
    let guard = Guard { view: ctx.view, policy, user: ctx.user, groups: ctx.groups, s3_volume };
    registry::judge(registry::command_of(r)?, r, &guard)?;
    clear_marks(r);
    mark_refused(&guard, r)
}

/// Refuses a read that the user has no right to.
pub(crate) fn check_read(r: &OmRequest, cx: &ReadContext<'_>) -> Result<(), OmError> {
    let Settings { authorization: policy, s3_volume, .. } = cx.settings;
    if !policy.enabled {
        return Ok(());
    }
    let guard = Guard { view: cx.view, policy, user: cx.user, groups: cx.groups, s3_volume };
    registry::judge(registry::command_of(r)?, r, &guard)
}

/// Marks are the leader's: values from a client are ignored.
fn clear_marks(r: &mut OmRequest) {
    if let Some(delete) = r.delete_keys_request.as_mut().and_then(|d| d.delete_keys.as_mut()) {
        delete.refused.clear();
    }
    if let Some(rename) = &mut r.rename_keys_request {
        rename.rename_keys_args.refused.clear();
    }
}

fn mark_refused(guard: &Guard<'_>, r: &mut OmRequest) -> Result<(), OmError> {
    if let Some(delete) = r.delete_keys_request.as_mut().and_then(|d| d.delete_keys.as_mut()) {
        let (volume, bucket) = guard.resolve(&delete.volume_name, &delete.bucket_name)?;
        let may = |key: &str| guard.require(Target::key(&volume, &bucket, key), Right::Delete);
        (delete.keys, delete.refused) =
            std::mem::take(&mut delete.keys).into_iter().partition(|key| !refused(may(key)));
    }
    if let Some(rename) = &mut r.rename_keys_request {
        let args = &mut rename.rename_keys_args;
        let (volume, bucket) = guard.resolve(&args.volume_name, &args.bucket_name)?;
        let may = |from: &str, to: &str| {
            guard.require(Target::key(&volume, &bucket, from), Right::Delete)?;
            guard.require(Target::key(&volume, &bucket, to), Right::Create)
        };
        (args.rename_keys_map, args.refused) = std::mem::take(&mut args.rename_keys_map)
            .into_iter()
            .partition(|pair| !refused(may(&pair.from_key_name, &pair.to_key_name)));
    }
    Ok(())
}

/// Returns `true` if access to a key is denied. The command itself finds other errors.
fn refused(verdict: Result<(), OmError>) -> bool {
    matches!(verdict, Err(OmError::PermissionDenied(_)))
}
