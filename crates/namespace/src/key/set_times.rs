//! SetTimes: sets the modification time that a client requests. Access times are not kept.

use proto::ozone::{OmResponse, SetTimesRequest, SetTimesResponse, Type};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::key_row::{KeyRow, resolve_names};
use crate::state::tree::directory;

pub(crate) struct SetTimes;

impl Command for SetTimes {
    const TYPE: Type = Type::SetTimes;
    const AUDIT: &'static str = "SET_TIMES";
    const RIGHTS: Rights<SetTimesRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::WriteAcl));
    request_part!(set_times_request: SetTimesRequest);

    fn audit(request: &SetTimesRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(request: &mut SetTimesRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    resolve_names(&mut request.key_args, ctx)?;
    Ok(())
}

impl Write for SetTimes {
    const PREPARE: Decision<SetTimesRequest> = Decision::Fields(prepare);

    fn apply(request: SetTimesRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let args = &request.key_args;
        let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
        if bucket.is_tree() && directory::set_time(cx, &bucket, args, request.mtime.cast_signed())?
        {
            let mut r = response::ok(Type::SetTimes);
            r.set_times_response = Some(Box::new(SetTimesResponse {}));
            return Ok(r);
        }
        let key_row = KeyRow::of_args(cx.view, args)?;
        let mut key = key_row.existing(cx.view, args)?;
        // -1 leaves the time as it is.
        match request.mtime.cast_signed() {
            -1 => {}
            mtime if mtime < 0 => {
                return Err(OmError::InvalidRequest(format!("modification time {mtime}")));
            }
            mtime => {
                key.modification_time = mtime.cast_unsigned();
                key.update_id = Some(cx.tx.index);
                key_row.put_committed(cx, key);
            }
        }
        let mut r = response::ok(Type::SetTimes);
        r.set_times_response = Some(Box::new(SetTimesResponse {}));
        Ok(r)
    }
}
