//! OM's door: blocks.

use framed::message::{decode, reply};
use framed::{Call, Reply, Status as Refusal};
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Status, Type};

use crate::admin::{info, members};
use crate::block::{allocate, delete, sort};
use crate::core::Core;
use crate::error::RequestError;

pub async fn answer(core: &std::sync::Arc<Core>, call: Call) -> Result<Reply, Refusal> {
    let request: ScmBlockLocationRequest = decode(call.header)?;
    let kind = request.cmd_type();
    let mut measured = core.metrics.block.call(kind.as_str_name(), call.received);
    measured.started();
    let mut response =
        ScmBlockLocationResponse { trace_id: request.trace_id.clone(), ..Default::default() };
    response.set_cmd_type(kind);
    response.set_status(Status::Ok);
    let result = match dispatch(core, kind, request, &mut response).await {
        Ok(Some(at_hand)) => Ok(at_hand),
        Ok(None) => Ok(reply(&response)),
        Err(error) => match error.block_status() {
            None => Err(error.to_status()),
            Some(status) => {
                tracing::warn!(peer = %call.peer, method = kind.as_str_name(), %error, "request refused");
                response.success = Some(false);
                response.message = Some(error.to_string());
                response.set_status(status);
                measured.finish(false);
                return Ok(reply(&response));
            }
        },
    };
    super::finish(measured, result)
}

/// Fills the response; or answers with one encoded already.
async fn dispatch(
    core: &std::sync::Arc<Core>,
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
        Type::GetClusterTree => {
            return Err(RequestError::Unsupported(kind.as_str_name().to_owned()));
        }
    }
    Ok(None)
}
