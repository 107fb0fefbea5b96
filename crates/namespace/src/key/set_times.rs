//! SetTimes: the modification time as a client wants it. Access times are not kept.

use proto::ozone::{OmResponse, SetTimesRequest, SetTimesResponse, Type};

use super::place::{Place, settle};
use crate::apply::ApplyContext;
use crate::bucket::find;
use crate::error::OmError;
use crate::fso;
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
    let args = &request.key_args;
    let bucket = find::find(cx.view, &args.volume_name, &args.bucket_name)?;
    if bucket.is_tree() && fso::directory::set_time(cx, &bucket, args, request.mtime as i64)? {
        let mut r = response::ok(Type::SetTimes);
        r.set_times_response = Some(Box::new(SetTimesResponse {}));
        return Ok(r);
    }
    let place = Place::of_args(cx.view, args)?;
    let mut key = place.existing(cx.view, args)?;
    // -1 leaves the time as it is.
    match request.mtime as i64 {
        -1 => {}
        mtime if mtime < 0 => {
            return Err(OmError::InvalidRequest(format!("modification time {mtime}")));
        }
        mtime => {
            key.modification_time = mtime as u64;
            key.update_id = Some(cx.tx.index);
            place.put_committed(cx, key);
        }
    }
    let mut r = response::ok(Type::SetTimes);
    r.set_times_response = Some(Box::new(SetTimesResponse {}));
    Ok(r)
}
