//! SetVolumeProperty: a new owner, or new quotas.

use std::ops::ControlFlow;

use proto::ozone::{
    BucketInfo, OmResponse, SetVolumePropertyRequest, SetVolumePropertyResponse, Type, VolumeInfo,
};

use super::{create, owner};
use crate::authorizer::{Guard, Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::volume;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::usage::limit;
use crate::state::view::View;
use crate::tables::{Table, bucket_key, prefix_end, volume_key};

pub(crate) struct SetVolumeProperty;

impl Command for SetVolumeProperty {
    const TYPE: Type = Type::SetVolumeProperty;
    const AUDIT: &'static str = "UPDATE_VOLUME";
    const RIGHTS: Rights<SetVolumePropertyRequest> = Rights::Required(rights);
    request_part!(set_volume_property_request: SetVolumePropertyRequest);

    fn audit(request: &SetVolumePropertyRequest) -> AuditParams {
        let number = |quota: u64| quota.cast_signed().to_string();
        let mut params = audit::volume(&request.volume_name);
        params.extend(request.owner_name.clone().map(|owner| ("owner", owner)));
        params.extend(request.quota_in_bytes.map(|q| ("quotaInBytes", number(q))));
        params.extend(request.quota_in_namespace.map(|q| ("quotaInNamespace", number(q))));
        params
    }
}

fn rights(request: &SetVolumePropertyRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let right = if request.owner_name.is_some() { Right::WriteAcl } else { Right::Write };
    guard.require(Target::volume(&request.volume_name), right)
}

fn prepare(
    request: &mut SetVolumePropertyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let nothing = request.owner_name.is_none()
        && request.quota_in_bytes.is_none()
        && request.quota_in_namespace.is_none();
    if nothing {
        return Err(OmError::InvalidRequest("no property of the volume is given".to_owned()));
    }
    create::check_quota(request.quota_in_bytes.map(|q| q.cast_signed()), "bytes")?;
    create::check_quota(request.quota_in_namespace.map(|q| q.cast_signed()), "namespace")?;
    request.modification_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for SetVolumeProperty {
    const PREPARE: Decision<SetVolumePropertyRequest> = Decision::Fields(prepare);

    fn apply(
        request: SetVolumePropertyRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut info = volume::find(cx.view, &request.volume_name)?;
        let mut changed = false;
        if let Some(new_owner) = request.owner_name
            && new_owner != info.owner_name
        {
            owner::remove(cx, &info.owner_name, &info.volume)?;
            owner::add(cx, &new_owner, &info.volume, info.object_id.unwrap_or_default())?;
            info.owner_name = new_owner;
            changed = true;
        }
        if let Some(quota) = request.quota_in_bytes {
            check_space(cx.view, &info, quota.cast_signed())?;
            info.quota_in_bytes = Some(quota);
            changed = true;
        }
        if let Some(quota) = request.quota_in_namespace {
            let used = info.used_namespace.unwrap_or(0);
            if limit(Some(quota.cast_signed())).is_some_and(|quota| quota < used) {
                return Err(OmError::QuotaExceeded(format!(
                    "Total number of buckets {used} in this volume should not be greater than volume \
                     namespace quota {quota}"
                )));
            }
            info.quota_in_namespace = Some(quota.cast_signed());
            changed = true;
        }
        if changed {
            info.modification_time = request.modification_time;
            info.update_id = Some(cx.tx.index);
            cx.put(Table::VolumeTable, volume_key(&info.volume), &info);
        }
        let mut r = response::ok(Type::SetVolumeProperty);
        r.set_volume_property_response =
            Some(Box::new(SetVolumePropertyResponse { response: Some(changed) }));
        Ok(r)
    }
}

/// A volume's space quota covers the quotas of its buckets, and each of them must have one.
fn check_space(view: &dyn View, volume: &VolumeInfo, quota: i64) -> Result<(), OmError> {
    let Some(quota) = limit(Some(quota)) else { return Ok(()) };
    match buckets_quota(view, &volume.volume, None)? {
        None => Err(OmError::QuotaError(
            "Can not set volume space quota on volume as some of buckets in this volume have no \
             quota set."
                .to_owned(),
        )),
        Some(total) if total > quota => Err(OmError::QuotaExceeded(format!(
            "Total buckets quota in this volume should not be greater than volume quota : the \
             total space quota is:{total}. But the volume space quota is:{quota}"
        ))),
        Some(_) => Ok(()),
    }
}

/// The sum of the space quotas of a volume's buckets but `except`; `None` if one has no quota.
/// Links count nothing: their keys are another bucket's.
pub(crate) fn buckets_quota(
    view: &dyn View,
    volume: &str,
    except: Option<&str>,
) -> Result<Option<u64>, OmError> {
    let first = bucket_key(volume, "");
    let mut total = Some(0u64);
    let end = prefix_end(&first);
    try_scan(view, Table::BucketTable, &first, end.as_deref(), &mut |key, value| {
        let bucket: BucketInfo = row::decode_slice(Table::BucketTable, key, value)?;
        if bucket.source_bucket.is_some() || except == Some(bucket.bucket_name.as_str()) {
            return Ok(ControlFlow::Continue(()));
        }
        match limit(bucket.quota_in_bytes) {
            Some(quota) => total = total.map(|t| t.saturating_add(quota)),
            None => total = None,
        }
        Ok(if total.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(total)
}
