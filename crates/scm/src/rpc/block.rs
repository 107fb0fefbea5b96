//! OM's endpoint: blocks.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use framed::message::{decode, reply};
use framed::{Call, Reply, Status as Refusal};
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Status, Type};

use crate::core::Core;
use crate::dispatch::admin::{info, members};
use crate::dispatch::block::{allocate, delete, sort, tree};
use crate::error::RequestError;

/// Answers a framed call.
pub async fn answer(core: &Arc<Core>, call: Call) -> Result<Reply, Refusal> {
    let request: ScmBlockLocationRequest = decode(call.header)?;
    respond(core, request, call.peer, call.received).await.map_err(|error| error.to_status())
}

/// Answers a request of any endpoint. A refusal for which the protocol has a status is part of the
/// response.
pub async fn respond(
    core: &Arc<Core>,
    request: ScmBlockLocationRequest,
    peer: SocketAddr,
    received: Instant,
) -> Result<Reply, RequestError> {
    let kind = request.cmd_type();
    let mut measured = core.metrics.block.call(kind.as_str_name(), received);
    measured.started();
    let mut span = core.edge.request(kind.as_str_name(), request.trace_id.as_deref(), received);
    let mut response =
        ScmBlockLocationResponse { trace_id: request.trace_id.clone(), ..Default::default() };
    response.set_cmd_type(kind);
    response.set_status(Status::Ok);
    let dispatched = span.run(pin!(dispatch(core, kind, request, &mut response))).await;
    let error = match dispatched {
        Ok(at_hand) => {
            measured.finish(true);
            return Ok(at_hand.unwrap_or_else(|| reply(&response)));
        }
        Err(error) => error,
    };
    measured.finish(false);
    let Some(status) = error.block_status() else { return Err(error) };
    tracing::warn!(%peer, method = kind.as_str_name(), %error, "request refused");
    response.success = Some(false);
    response.message = Some(error.to_string());
    response.set_status(status);
    Ok(reply(&response))
}

/// Fills the response; or answers with one encoded already.
async fn dispatch(
    core: &Arc<Core>,
    kind: Type,
    request: ScmBlockLocationRequest,
    response: &mut ScmBlockLocationResponse,
) -> Result<Option<Reply>, RequestError> {
    let missing =
        || RequestError::Invalid(format!("{} request without its message", kind.as_str_name()));
    match kind {
        Type::AllocateScmBlock => {
            core.check_leader()?;
            let body = request.allocate_scm_block_request.as_ref().ok_or_else(missing)?;
            let blocks = allocate::allocate(core, body).await?;
            return Ok(Some(allocate::encode(response, &blocks)));
        }
        Type::DeleteScmKeyBlocks => {
            core.check_leader()?;
            let body = request.delete_scm_key_blocks_request.ok_or_else(missing)?;
            response.delete_scm_key_blocks_response = Some(delete::delete(core, body).await?);
        }
        Type::GetScmInfo => response.get_scm_info_response = Some(info::scm_info(core)),
        Type::SortDatanodes => {
            let body = request.sort_datanodes_request.as_ref().ok_or_else(missing)?;
            response.sort_datanodes_response = Some(sort::sort(core, body).await);
        }
        Type::AddScm => {
            let body = request.add_scm_request_proto.as_ref().ok_or_else(missing)?;
            response.add_scm_response = Some(members::add(core, body).await?);
        }
        Type::GetClusterTree => response.get_cluster_tree_response = Some(tree::tree(core)),
    }
    Ok(None)
}
