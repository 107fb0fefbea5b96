//! Commands that only look: answered from the tables, without the log.

use bytes::Bytes;
use prost::Message;
use proto::ozone::{OmRequest, OmResponse, Type};

use crate::check_access::check_read;
use crate::context::ReadContext;
use crate::error::OmError;
use crate::snapshot::path::reads_snapshot;
use crate::{key, registry, snapshot};

/// Answers a read. Locations in the answer have no pipelines and tokens yet: the caller of this
/// function fills them in ([`crate::for_each_location`]).
pub fn read(request: &OmRequest, cx: &ReadContext<'_>) -> OmResponse {
    match read_tables(request, cx) {
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
    if request.cmd_type == Type::ListKeysLight as i32
        && !reads_snapshot(request)
        && let Some(list) = &request.list_keys_request
    {
        let allowed = check_read(request, cx);
        let trace = request.trace_id.as_deref();
        return match allowed.and_then(|()| key::list_light::encode(list, trace, cx)) {
            Ok(bytes) => bytes,
            Err(refusal) => {
                let response = refusal.into_response(request.cmd_type, request.trace_id.clone());
                Bytes::from(response.encode_to_vec())
            }
        };
    }
    Bytes::from(read(request, cx).encode_to_vec())
}

fn read_tables(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    let Some(aimed) = snapshot::path::aim(request, cx)? else {
        check_read(request, cx)?;
        return answer(request, cx);
    };
    let ReadContext { user, groups, settings, .. } = *cx;
    let cx = ReadContext { view: &aimed.view, user, groups, settings };
    check_read(&aimed.request, &cx)?;
    let mut response = answer(&aimed.request, &cx)?;
    aimed.restore(&mut response);
    Ok(response)
}

fn answer(request: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    registry::read(registry::command_of(request)?, request, cx)
}
