//! InfoBucket.

use proto::ozone::{BucketInfo, InfoBucketRequest, InfoBucketResponse, OmResponse, Type};

use crate::authorizer::{Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::row::Bucket;

pub(crate) struct InfoBucket;

impl Command for InfoBucket {
    const TYPE: Type = Type::InfoBucket;
    const AUDIT: &'static str = "READ_BUCKET";
    const RIGHTS: Rights<InfoBucketRequest> = Rights::Required(|request, guard| {
        guard.require(Target::bucket(&request.volume_name, &request.bucket_name), Right::Read)
    });
    request_part!(info_bucket_request: InfoBucketRequest);

    fn audit(request: &InfoBucketRequest) -> AuditParams {
        audit::bucket(&request.volume_name, &request.bucket_name)
    }
}

impl Read for InfoBucket {
    fn read(request: &InfoBucketRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let found = bucket::find(cx.view, &request.volume_name, &request.bucket_name)?;
        let info = if found.is_link() { of_link(cx, &found)? } else { found.to_info() };
        let mut r = response::ok(Type::InfoBucket);
        r.info_bucket_response = Some(Box::new(InfoBucketResponse { bucket_info: Some(info) }));
        Ok(r)
    }
}

/// A link shows its own names, owner and ACLs, and data attributes of its source. A link whose
/// source was removed shows itself, so that it can be found and removed.
fn of_link(cx: &ReadContext<'_>, link: &Bucket) -> Result<BucketInfo, OmError> {
    let mut info = link.to_info();
    let (mut volume, mut bucket) = (link.volume_name.clone(), link.bucket_name.clone());
    let source = match bucket::resolve(cx.view, &mut volume, &mut bucket) {
        Ok(source) => source,
        Err(OmError::BucketNotFound { .. } | OmError::VolumeNotFound(_)) => return Ok(info),
        Err(e) => return Err(e),
    };
    let source = source.to_info();
    info.is_version_enabled = source.is_version_enabled;
    info.storage_type = source.storage_type;
    info.default_replication_config = source.default_replication_config;
    info.bucket_layout = source.bucket_layout;
    info.quota_in_bytes = source.quota_in_bytes;
    info.quota_in_namespace = source.quota_in_namespace;
    info.used_bytes = source.used_bytes;
    info.used_namespace = source.used_namespace;
    info.snapshot_used_bytes = source.snapshot_used_bytes;
    info.snapshot_used_namespace = source.snapshot_used_namespace;
    info.beinfo = source.beinfo;
    Ok(info)
}
