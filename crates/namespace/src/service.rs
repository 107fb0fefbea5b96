//! Commands about the service itself that the rules can answer.

use bytes::Bytes;
use proto::ozone::{EchoRpcRequest, EchoRpcResponse, OmResponse, Type};

use crate::response;

/// Largest payload that an echo gives back, as in Ozone.
const ECHO_MAX_BYTES: usize = 2_097_151;

/// A payload of the size the client asked for: the request's own, repeated or cut.
pub(crate) fn echo(request: &EchoRpcRequest) -> OmResponse {
    let wanted = usize::try_from(request.payload_size_resp.unwrap_or(0)).unwrap_or(0);
    let wanted = wanted.min(ECHO_MAX_BYTES);
    let payload = match request.payload_req.as_ref() {
        Some(sent) if sent.len() >= wanted => sent.slice(..wanted),
        Some(sent) if !sent.is_empty() => sent.iter().copied().cycle().take(wanted).collect(),
        _ => Bytes::from(vec![0; wanted]),
    };
    let mut r = response::ok(Type::EchoRpc);
    r.echo_rpc_response = Some(Box::new(EchoRpcResponse { payload: Some(payload) }));
    r
}
