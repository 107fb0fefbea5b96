//! GetSnapshotInfo.

use proto::ozone::{OmResponse, SnapshotInfoRequest, SnapshotInfoResponse, Type};

use super::find;
use crate::authorizer::{Right, Target};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::layers::usage::Alone;
use crate::tables::snapshot_key;

pub(crate) struct GetSnapshotInfo;

impl Command for GetSnapshotInfo {
    const TYPE: Type = Type::GetSnapshotInfo;
    const AUDIT: &'static str = "SNAPSHOT_INFO";
    const RIGHTS: Rights<SnapshotInfoRequest> = Rights::Required(|request, guard| {
        let (volume, bucket) = guard.resolve(request.volume_name(), request.bucket_name())?;
        guard.require(Target::bucket(&volume, &bucket), Right::Read)
    });
    request_part!(snapshot_info_request: SnapshotInfoRequest);

    fn audit(request: &SnapshotInfoRequest) -> AuditParams {
        super::audit(&request.volume_name, &request.bucket_name, &request.snapshot_name)
    }
}

impl Read for GetSnapshotInfo {
    fn read(request: &SnapshotInfoRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        find::check_enabled(Type::GetSnapshotInfo, cx.settings)?;
        let (mut volume, mut bucket) = (request.volume_name.clone(), request.bucket_name.clone());
        find::resolve(cx.view, &mut volume, &mut bucket)?;
        let (volume, bucket) = (volume.unwrap_or_default(), bucket.unwrap_or_default());
        let mut info = find::existing(cx.view, &volume, &bucket, request.snapshot_name())?;
        let key = snapshot_key(&volume, &bucket, request.snapshot_name());
        let bucket = bucket::find(cx.view, &volume, &bucket)?;
        Alone::of(cx.view, &bucket)?.tell(cx.view, &key, &mut info)?;
        let mut r = response::ok(Type::GetSnapshotInfo);
        let answer = SnapshotInfoResponse { snapshot_info: Some(info) };
        r.snapshot_info_response = Some(Box::new(answer));
        Ok(r)
    }
}
