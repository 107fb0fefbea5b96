//! Commands about the service itself that the rules can answer.

use bytes::Bytes;
use proto::ozone::{EchoRpcRequest, EchoRpcResponse, OmRequest, OmResponse, Type};

use crate::command::response;
use crate::command::{Command, Decision, Read, ReadOrWrite, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, ReadContext};

/// Largest payload that an echo returns, as in Ozone.
const ECHO_MAX_BYTES: usize = 2_097_151;

pub(crate) struct EchoRpc;

impl Command for EchoRpc {
    const TYPE: Type = Type::EchoRpc;
    const AUDIT: &'static str = "EchoRPC";
    // It returns no stored data.
    const RIGHTS: Rights<EchoRpcRequest> = Rights::Anybody;
    request_part!(echo_rpc_request: EchoRpcRequest, "EchoRPCRequest");
}

impl ReadOrWrite for EchoRpc {
    fn is_read(request: &OmRequest) -> bool {
        Self::part(request).is_none_or(|echo| echo.read_only != Some(false))
    }
}

impl Write for EchoRpc {
    const PREPARE: Decision<EchoRpcRequest> = Decision::Nothing;

    fn apply(request: EchoRpcRequest, _: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        Ok(echo(&request))
    }
}

impl Read for EchoRpc {
    fn read(request: &EchoRpcRequest, _: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        Ok(echo(request))
    }
}

/// A payload of the requested size: the request's own, repeated or cut.
fn echo(request: &EchoRpcRequest) -> OmResponse {
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
