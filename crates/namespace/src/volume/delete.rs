//! DeleteVolume.

use std::ops::ControlFlow;

use proto::ozone::{DeleteVolumeRequest, DeleteVolumeResponse, OmResponse, Type};

use super::owner;
use crate::authorizer::{Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::find::volume;
use crate::tables::{Table, bucket_key, prefix_end, volume_key};

pub(crate) struct DeleteVolume;

impl Command for DeleteVolume {
    const TYPE: Type = Type::DeleteVolume;
    const AUDIT: &'static str = "DELETE_VOLUME";
    const RIGHTS: Rights<DeleteVolumeRequest> = Rights::Required(|request, guard| {
        guard.require(Target::volume(&request.volume_name), Right::Delete)
    });
    request_part!(delete_volume_request: DeleteVolumeRequest);

    fn audit(request: &DeleteVolumeRequest) -> AuditParams {
        audit::volume(&request.volume_name)
    }
}

impl Write for DeleteVolume {
    const PREPARE: Decision<DeleteVolumeRequest> = Decision::Nothing;

    fn apply(
        request: DeleteVolumeRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let volume = request.volume_name;
        let info = volume::find(cx.view, &volume)?;
        if let Some(count) = info.ref_count.filter(|count| *count != 0) {
            return Err(OmError::VolumeReferenced { volume, count });
        }
        let first = bucket_key(&volume, "");
        let mut empty = true;
        cx.view.scan(Table::BucketTable, &first, prefix_end(&first).as_deref(), &mut |_, _| {
            empty = false;
            ControlFlow::Break(())
        })?;
        if !empty {
            return Err(OmError::VolumeNotEmpty(volume));
        }
        owner::remove(cx, &info.owner_name, &volume)?;
        cx.delete(Table::VolumeTable, volume_key(&volume));
        let mut r = response::ok(Type::DeleteVolume);
        r.delete_volume_response = Some(Box::new(DeleteVolumeResponse {}));
        Ok(r)
    }
}
