//! InfoVolume.

use proto::ozone::{InfoVolumeRequest, InfoVolumeResponse, OmResponse, Type};

use crate::authorizer::{Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::volume;

pub(crate) struct InfoVolume;

impl Command for InfoVolume {
    const TYPE: Type = Type::InfoVolume;
    const AUDIT: &'static str = "READ_VOLUME";
    const RIGHTS: Rights<InfoVolumeRequest> = Rights::Required(|request, guard| {
        guard.require(Target::volume(&request.volume_name), Right::Read)
    });
    request_part!(info_volume_request: InfoVolumeRequest);

    fn audit(request: &InfoVolumeRequest) -> AuditParams {
        audit::volume(&request.volume_name)
    }
}

impl Read for InfoVolume {
    fn read(request: &InfoVolumeRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let info = volume::find(cx.view, &request.volume_name)?;
        let mut r = response::ok(Type::InfoVolume);
        r.info_volume_response = Some(Box::new(InfoVolumeResponse { volume_info: Some(info) }));
        Ok(r)
    }
}
