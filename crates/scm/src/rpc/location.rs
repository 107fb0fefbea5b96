//! The clients' and administrators' endpoint: containers, pipelines, nodes, safe mode.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use framed::message::{decode, reply};
use framed::{Call, Reply, Status as Refusal};
use proto::container_location::scm_container_location_response::Status;
use proto::container_location::{ScmContainerLocationRequest, ScmContainerLocationResponse};

use crate::core::Core;
use crate::dispatch::admin::registry;
use crate::error::RequestError;

/// Answers a framed call: a refusal is part of the response where the protocol has a status for it.
pub async fn answer(core: &Arc<Core>, call: Call) -> Result<Reply, Refusal> {
    let mut request: ScmContainerLocationRequest = decode(call.header)?;
    let user = request.user.take();
    let (cmd_type, trace_id) = (request.cmd_type, request.trace_id.clone());
    let error = match respond(core, request, user.as_deref(), call.peer, call.received).await {
        Ok(response) => return Ok(reply(&response)),
        Err(error) => error,
    };
    let Some(status) = error.location_status() else { return Err(error.to_status()) };
    Ok(reply(&ScmContainerLocationResponse {
        cmd_type,
        trace_id,
        success: Some(false),
        message: Some(error.to_string()),
        status: status as i32,
        ..Default::default()
    }))
}

/// Answers a user's request of any endpoint: each has its own form of a refusal.
pub async fn respond(
    core: &Arc<Core>,
    request: ScmContainerLocationRequest,
    user: Option<&str>,
    peer: SocketAddr,
    received: Instant,
) -> Result<ScmContainerLocationResponse, RequestError> {
    let kind = request.cmd_type();
    let mut measured = core.metrics.client.call(kind.as_str_name(), received);
    measured.started();
    let mut span = core.edge.request(kind.as_str_name(), request.trace_id.as_deref(), received);
    let mut response =
        ScmContainerLocationResponse { trace_id: request.trace_id.clone(), ..Default::default() };
    response.set_cmd_type(kind);
    response.set_status(Status::Ok);
    let result = span.run(pin!(registry::answer(core, kind, user, request, &mut response))).await;
    if let Err(error) = &result {
        tracing::info!(%peer, method = kind.as_str_name(), %error, "request refused");
    }
    measured.finish(result.is_ok());
    result.map(|()| response)
}
