//! SetBucketProperty: owner, versioning, storage type, quotas, replication, metadata.

use proto::ozone::{OmResponse, SetBucketPropertyRequest, SetBucketPropertyResponse, Type};

use super::{encryption, quota};
use crate::authorizer::{Guard, Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::{bucket, volume};
use crate::state::limits;
use crate::state::metadata;
use crate::state::replication;
use crate::state::storage_policy;
use crate::state::usage::limit;
use crate::tables::bucket_key;

pub(crate) struct SetBucketProperty;

impl Command for SetBucketProperty {
    const TYPE: Type = Type::SetBucketProperty;
    const AUDIT: &'static str = "UPDATE_BUCKET";
    const RIGHTS: Rights<SetBucketPropertyRequest> = Rights::Required(rights);
    request_part!(set_bucket_property_request: SetBucketPropertyRequest);

    fn audit(request: &SetBucketPropertyRequest) -> AuditParams {
        let args = request.bucket_args.as_ref();
        args.map(|args| audit::bucket(&args.volume_name, &args.bucket_name)).unwrap_or_default()
    }
}

/// Owner and administrators change a bucket's properties, regardless of its ACLs.
fn rights(request: &SetBucketPropertyRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let args = request.bucket_args.as_ref().ok_or_else(|| OmError::missing("BucketArgs"))?;
    let (volume, bucket) = (&args.volume_name, &args.bucket_name);
    if args.owner_name.is_some() {
        return guard.require(Target::bucket(volume, bucket), Right::WriteAcl);
    }
    let found = bucket::find(guard.view, volume, bucket)?;
    if guard.is_admin() || found.owner.as_deref() == Some(guard.user) {
        return Ok(());
    }
    Err(OmError::PermissionDenied(
        "Bucket properties are allowed to changed by Admin and Owner".to_owned(),
    ))
}

fn prepare(
    request: &mut SetBucketPropertyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = request.bucket_args.as_mut().ok_or_else(|| OmError::missing("BucketArgs"))?;
    encryption::refuse(args.bek_info.as_ref(), &args.metadata)?;
    replication::check_default(args.default_replication_config.as_ref(), ctx.settings)?;
    limits::check_entries("metadata entries", args.metadata.len())?;
    storage_policy::normalize(&mut args.metadata)?;
    quota::check_value(args.quota_in_bytes.map(|q| q.cast_signed()), "bytes")?;
    quota::check_value(args.quota_in_namespace.map(|q| q.cast_signed()), "namespace")?;
    request.modification_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for SetBucketProperty {
    const PREPARE: Decision<SetBucketPropertyRequest> = Decision::Fields(prepare);

    fn apply(
        request: SetBucketPropertyRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.bucket_args.ok_or_else(|| OmError::missing("BucketArgs"))?;
        let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
        let same_owner = args.owner_name.is_some() && args.owner_name == bucket.owner;
        // Of a link only the owner is its own.
        if bucket.is_link() && args.owner_name.is_none() {
            return Err(OmError::NotSupported("Cannot set property on link".to_owned()));
        }
        let mut info = bucket.to_info();
        if let Some(quota) = args.quota_in_bytes.map(|q| q.cast_signed()) {
            let used = bucket.used_bytes.saturating_add(bucket.snapshot_used_bytes);
            if limit(Some(quota)).is_some_and(|quota| quota < used) {
                return Err(OmError::QuotaError(
                    "Cannot update bucket quota. Requested spaceQuota less than used spaceQuota."
                        .to_owned(),
                ));
            }
            let volume = volume::find(cx.view, &args.volume_name)?;
            quota::check_clearing(&volume, quota)?;
            quota::check_space(cx.view, &volume, &args.bucket_name, Some(quota))?;
            info.quota_in_bytes = Some(quota);
        }
        if let Some(quota) = args.quota_in_namespace.map(|q| q.cast_signed()) {
            let used = bucket.used_namespace.saturating_add(bucket.snapshot_used_namespace);
            if limit(Some(quota)).is_some_and(|quota| quota < used) {
                return Err(OmError::QuotaError(
                    "Cannot update bucket quota. NamespaceQuota requested is less than used \
                     namespaceQuota."
                        .to_owned(),
                ));
            }
            info.quota_in_namespace = Some(quota);
        }
        info.is_version_enabled = args.is_version_enabled.unwrap_or(info.is_version_enabled);
        info.storage_type = args.storage_type.unwrap_or(info.storage_type);
        info.owner = args.owner_name.or(info.owner);
        info.default_replication_config =
            args.default_replication_config.or(info.default_replication_config);
        info.beinfo = args.bek_info.or(info.beinfo);
        for entry in args.metadata {
            match storage_policy::is_unset(&entry) {
                true => metadata::remove(&mut info.metadata, &entry.key),
                false => metadata::set(&mut info.metadata, entry),
            }
        }
        if !same_owner {
            info.modification_time = request.modification_time;
            info.update_id = Some(cx.tx.index);
            cx.put_bucket(bucket_key(&args.volume_name, &args.bucket_name), bucket.with_info(info));
        }
        let mut r = response::ok(Type::SetBucketProperty);
        r.set_bucket_property_response =
            Some(Box::new(SetBucketPropertyResponse { response: Some(!same_owner) }));
        Ok(r)
    }
}
