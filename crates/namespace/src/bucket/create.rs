//! CreateBucket, links included.

use std::ops::ControlFlow;

use proto::ozone::{
    BucketLayoutProto, CreateBucketRequest, CreateBucketResponse, OmResponse, Type, VolumeInfo,
};

use super::{encryption, quota};
use crate::authorizer::{self, Guard, Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::volume;
use crate::state::limits;
use crate::state::names::validate_bucket_name;
use crate::state::replication;
use crate::state::row::{self, Bucket};
use crate::state::scan::try_scan;
use crate::state::storage_policy;
use crate::state::usage::limit;
use crate::tables::{Table, bucket_key, volume_key};

pub(crate) struct CreateBucket;

impl Command for CreateBucket {
    const TYPE: Type = Type::CreateBucket;
    const AUDIT: &'static str = "CREATE_BUCKET";
    const RIGHTS: Rights<CreateBucketRequest> = Rights::Required(rights);
    request_part!(create_bucket_request: CreateBucketRequest);

    fn audit(request: &CreateBucketRequest) -> AuditParams {
        let info = &request.bucket_info;
        audit::bucket(&info.volume_name, &info.bucket_name)
    }
}

fn rights(request: &CreateBucketRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let info = &request.bucket_info;
    guard.require(Target::bucket(&info.volume_name, &info.bucket_name), Right::Create)
}

fn prepare(request: &mut CreateBucketRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let info = &mut request.bucket_info;
    encryption::refuse(info.beinfo.as_ref(), &info.metadata)?;
    if info.source_volume.is_some() != info.source_bucket.is_some() {
        return Err(OmError::InvalidRequest(
            "a link needs both the volume and the bucket that it stands for".to_owned(),
        ));
    }
    let layout = info.bucket_layout.unwrap_or(ctx.settings.default_bucket_layout as i32);
    let known = BucketLayoutProto::try_from(layout)
        .map_err(|_| OmError::InvalidRequest(format!("unknown bucket layout {layout}")))?;
    validate_bucket_name(&info.bucket_name, known, ctx.settings)?;
    info.bucket_layout = Some(layout);
    replication::check_default(info.default_replication_config.as_ref(), ctx.settings)?;
    limits::check_entries("ACLs", info.acls.len())?;
    limits::check_entries("metadata entries", info.metadata.len())?;
    storage_policy::check(&mut info.metadata)?;
    quota::check_value(info.quota_in_bytes, "bytes")?;
    quota::check_value(info.quota_in_namespace, "namespace")?;
    if info.owner.as_deref().is_none_or(str::is_empty) {
        info.owner = Some(ctx.user.to_owned());
    }
    let volume = volume::find(ctx.view, &info.volume_name)?;
    refuse_too_many(ctx)?;
    authorizer::append_defaults(&mut info.acls, ctx);
    authorizer::inherit(&mut info.acls, &volume.volume_acls);
    info.creation_time = Some(ctx.now_ms);
    info.modification_time = Some(ctx.now_ms);
    Ok(())
}

/// Refuses another bucket when there are as many as there may be. As in Ozone, buckets that are
/// being made at the same time are not counted.
fn refuse_too_many(ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let limit = ctx.settings.max_buckets;
    let mut buckets: u64 = 0;
    try_scan(ctx.view, Table::VolumeTable, b"", None, &mut |key, value| {
        let volume: VolumeInfo = row::decode_slice(Table::VolumeTable, key, value)?;
        buckets = buckets.saturating_add(volume.used_namespace.unwrap_or(0));
        Ok(match buckets >= limit {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    match buckets >= limit {
        true => Err(OmError::TooManyBuckets { limit }),
        false => Ok(()),
    }
}

impl Write for CreateBucket {
    const PREPARE: Decision<CreateBucketRequest> = Decision::Fields(prepare);

    fn apply(
        request: CreateBucketRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut info = request.bucket_info;
        let mut volume = volume::find(cx.view, &info.volume_name)?;
        let key = bucket_key(&info.volume_name, &info.bucket_name);
        if cx.view.exists(Table::BucketTable, &key)? {
            return Err(OmError::BucketExists {
                volume: info.volume_name,
                bucket: info.bucket_name,
            });
        }
        let buckets = volume.used_namespace.unwrap_or(0).saturating_add(1);
        if let Some(quota) = limit(volume.quota_in_namespace).filter(|quota| buckets > *quota) {
            return Err(OmError::QuotaExceeded(format!(
                "The namespace quota of Volume:{} exceeded: quotaInNamespace: {quota} but namespace \
                 consumed: {buckets}.",
                volume.volume
            )));
        }
        if info.source_bucket.is_none() {
            quota::check_space(cx.view, &volume, &info.bucket_name, info.quota_in_bytes)?;
        }
        info.object_id = Some(cx.object_id());
        info.update_id = Some(cx.tx.index);
        info.used_bytes = None;
        info.used_namespace = None;
        info.snapshot_used_bytes = None;
        info.snapshot_used_namespace = None;
        volume.used_namespace = Some(buckets);
        cx.put(Table::VolumeTable, volume_key(&volume.volume), &volume);
        cx.put_bucket(key, Bucket::new(info).in_volume(volume.object_id));
        let mut r = response::ok(Type::CreateBucket);
        r.create_bucket_response = Some(Box::new(CreateBucketResponse {}));
        Ok(r)
    }
}
