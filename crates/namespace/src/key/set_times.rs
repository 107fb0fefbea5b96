//! SetTimes: the modification time as a client wants it. Access times are not kept.

use proto::ozone::{OmResponse, SetTimesRequest, SetTimesResponse, Type};

use super::place::{Place, settle};
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::prepare::PrepareContext;
use crate::response;

pub(crate) fn prepare(
    request: &mut SetTimesRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    settle(&mut request.key_args, ctx)?;
    Ok(())
}

pub(crate) fn apply(
    request: SetTimesRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let place = Place::of_args(cx.view, &request.key_args)?;
    let mut key = place.existing(cx.view, &request.key_args)?;
    // -1 leaves the time as it is.
    match request.mtime as i64 {
        -1 => {}
        mtime if mtime < 0 => {
            return Err(OmError::InvalidRequest(format!("modification time {mtime}")));
        }
        mtime => {
            key.modification_time = mtime as u64;
            key.update_id = Some(cx.tx.index);
            cx.put(Place::COMMITTED, place.key, &key);
        }
    }
    let mut r = response::ok(Type::SetTimes);
    r.set_times_response = Some(Box::new(SetTimesResponse {}));
    Ok(r)
}
