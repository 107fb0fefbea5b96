//! InfoVolume.

use proto::ozone::{InfoVolumeRequest, InfoVolumeResponse, OmResponse, Type};

use super::find;
use crate::error::OmError;
use crate::read::ReadContext;
use crate::response;

pub(crate) fn read(
    request: &InfoVolumeRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    let info = find::find(cx.view, &request.volume_name)?;
    let mut r = response::ok(Type::InfoVolume);
    r.info_volume_response = Some(Box::new(InfoVolumeResponse { volume_info: Some(info) }));
    Ok(r)
}
