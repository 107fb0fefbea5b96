//! Commands that only read: answered from the tables, without the log.

use bytes::Bytes;
use prost::Message;
use proto::ozone::{ListKeysRequest, LookupKeyRequest, OmRequest, OmResponse, Type};

use crate::check_access::check_read;
use crate::error::OmError;
use crate::snapshot::path::reads_snapshot;
use crate::state::context::ReadContext;
use crate::state::view::Remembering;
use crate::{key, registry, snapshot};

/// Answers a read. Locations in the answer have no pipelines and tokens yet: the caller of this
/// function fills them in ([`crate::for_each_location`]).
pub fn read(request: &OmRequest, cx: &ReadContext<'_>) -> OmResponse {
    read_with(request, cx, || ())
}

/// As [`read`]; `authorized` is called after the check of the user's rights, for a caller that
/// measures its duration.
pub fn read_with(
    request: &OmRequest,
    cx: &ReadContext<'_>,
    authorized: impl FnOnce(),
) -> OmResponse {
    remembering(cx, |cx| match read_tables(request, cx, authorized) {
        Ok(mut response) => {
            response.trace_id = request.trace_id.clone();
            response
        }
        Err(refusal) => refusal.into_response(request.cmd_type, request.trace_id.clone()),
    })
}

/// Calls `read` with a view that caches the rows of the authorization for the read after it.
fn remembering<T>(cx: &ReadContext<'_>, read: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    if !cx.settings.authorization.enabled {
        return read(cx);
    }
    let view = Remembering::new(cx.view);
    read(&ReadContext { view: &view, ..*cx })
}

/// Answers a read as the encoded [`OmResponse`]. Lists of keys, whose entries need nothing but
/// the tables, are copied from the rows field by field, and a found key is its row,
/// without building messages: a fraction of the cost of [`read`] and the same bytes.
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
    let Some(fast) = Fast::of(request).filter(|_| !reads_snapshot(request)) else {
        return Bytes::from(read_with(request, cx, authorized).encode_to_vec());
    };
    remembering(cx, |cx| {
        let allowed = check_read(request, cx);
        authorized();
        allowed.and_then(|()| fast.encode(request, cx)).unwrap_or_else(|refusal| {
            let response = refusal.into_response(request.cmd_type, request.trace_id.clone());
            Bytes::from(response.encode_to_vec())
        })
    })
}

/// A read whose answer is made of rows' bytes.
enum Fast<'a> {
    ListKeys(&'a ListKeysRequest),
    ListKeysLight(&'a ListKeysRequest),
    LookupKey(&'a LookupKeyRequest),
    GetKeyInfo,
}

impl<'a> Fast<'a> {
    fn of(request: &'a OmRequest) -> Option<Self> {
        match Type::try_from(request.cmd_type).ok()? {
            Type::ListKeys => request.list_keys_request.as_deref().map(Self::ListKeys),
            Type::ListKeysLight => request.list_keys_request.as_deref().map(Self::ListKeysLight),
            Type::LookupKey => request.lookup_key_request.as_deref().map(Self::LookupKey),
            Type::GetKeyInfo => Some(Self::GetKeyInfo),
            _ => None,
        }
    }

    fn encode(&self, request: &OmRequest, cx: &ReadContext<'_>) -> Result<Bytes, OmError> {
        let trace_id = request.trace_id.as_deref();
        match self {
            Self::ListKeys(list) => key::list::encode(list, trace_id, cx),
            Self::ListKeysLight(list) => key::list_light::encode(list, trace_id, cx),
            Self::LookupKey(lookup) => key::lookup::encode(lookup, trace_id, cx),
            Self::GetKeyInfo => key::get_info::encode(request, cx),
        }
    }
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
