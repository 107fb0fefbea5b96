//! Commands that only look: answered from the tables, without the log.

use bytes::Bytes;
use prost::Message;
use proto::ozone::{OmRequest, OmResponse, Type};

use crate::check_access::check_read;
use crate::context::ReadContext;
use crate::error::OmError;
use crate::snapshot::path::reads_snapshot;
use crate::view::Remembering;
use crate::{key, registry, snapshot};

/// Answers a read. Locations in the answer have no pipelines and tokens yet: the caller of this
/// function fills them in ([`crate::for_each_location`]).
pub fn read(request: &OmRequest, cx: &ReadContext<'_>) -> OmResponse {
    read_with(request, cx, || ())
}

/// As [`read`]; `authorized` is called once the user's rights have been looked at, for a caller
/// that measures what that takes.
pub fn read_with(
    request: &OmRequest,
    cx: &ReadContext<'_>,
    authorized: impl FnOnce(),
) -> OmResponse {
    let remembering;
    let judged;
    let cx = match cx.settings.authorization.enabled {
        false => cx,
        true => {
            remembering = Remembering::new(cx.view);
            judged = ReadContext { view: &remembering, ..*cx };
            &judged
        }
    };
    match read_tables(request, cx, authorized) {
        Ok(mut response) => {
            response.trace_id = request.trace_id.clone();
            response
        }
        Err(refusal) => refusal.into_response(request.cmd_type, request.trace_id.clone()),
    }
}

/// Answers a read as the encoded [`OmResponse`]. Lists of keys, whose entries need nothing but
/// the tables, are copied from the rows field by field, without building messages: a fraction
/// of the cost of [`read`] and the same bytes.
///
/// Answers with block locations need their pipelines first: use [`read`] for those.
pub fn read_encoded(request: &OmRequest, cx: &ReadContext<'_>) -> Bytes {
    read_encoded_with(request, cx, || ())
}

/// As [`read_encoded`], with a call as in [`read_with`].
pub fn read_encoded_with(
    request: &OmRequest,
    cx: &ReadContext<'_>,
    authorized: impl FnOnce(),
) -> Bytes {
    if request.cmd_type == Type::ListKeysLight as i32
        && !reads_snapshot(request)
        && let Some(list) = &request.list_keys_request
    {
        let allowed = check_read(request, cx);
        authorized();
        let trace = request.trace_id.as_deref();
        return match allowed.and_then(|()| key::list_light::encode(list, trace, cx)) {
            Ok(bytes) => bytes,
            Err(refusal) => {
                let response = refusal.into_response(request.cmd_type, request.trace_id.clone());
                Bytes::from(response.encode_to_vec())
            }
        };
    }
    Bytes::from(read_with(request, cx, authorized).encode_to_vec())
}

fn read_tables(
    request: &OmRequest,
    cx: &ReadContext<'_>,
    authorized: impl FnOnce(),
) -> Result<OmResponse, OmError> {
    let Some(aimed) = snapshot::path::aim(request, cx)? else {
        let allowed = check_read(request, cx);
        authorized();
        allowed?;
        return answer(request, cx);
    };
    let ReadContext { user, groups, settings, .. } = *cx;
    let cx = ReadContext { view: &aimed.view, user, groups, settings };
    let allowed = check_read(&aimed.request, &cx);
    authorized();
    allowed?;
    let mut response = answer(&aimed.request, &cx)?;
    aimed.restore(&mut response);
    Ok(response)
}

fn answer(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    registry::read(registry::command_of(request)?, request, cx)
}
