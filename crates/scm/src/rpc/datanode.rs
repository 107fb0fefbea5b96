//! The DataNodes' endpoint: GetVersion, Register, SendHeartbeat, GetContainerStorageType.

use std::pin::pin;

use framed::message::{decode, reply};
use framed::{Call, Reply, Status as Refusal};
use proto::hdds::KeyValue;
use proto::scm_datanode::{
    GetContainerStorageTypeResponseProto, ScmDatanodeRequest, ScmDatanodeResponse,
    ScmVersionResponseProto, Status, Type,
};
use types::ContainerId;

use crate::core::Core;
use crate::dispatch::report::{heartbeat, register};
use crate::error::RequestError;

/// Software version that SCM sends DataNodes, as Ozone's `softwareVersion`.
const SOFTWARE_VERSION: u32 = 1;

pub async fn answer(core: &Core, call: Call) -> Result<Reply, Refusal> {
    let request: ScmDatanodeRequest = decode(call.header)?;
    let kind = request.cmd_type();
    let mut measured = core.metrics.datanode.call(kind.as_str_name(), call.received);
    measured.started();
    let trace_id = request.trace_id.as_deref();
    let mut span = core.edge.request(kind.as_str_name(), trace_id, call.received);
    if request.send_heartbeat_request.as_ref().is_some_and(heartbeat::waits) {
        // It lasts until there is a command.
        span = span.unwatched();
    }
    let mut response =
        ScmDatanodeResponse { trace_id: request.trace_id.clone(), ..Default::default() };
    response.set_cmd_type(kind);
    response.set_status(Status::Ok);
    let dispatched = span.run(pin!(dispatch(core, kind, &request, &mut response))).await;
    if let Err(error) = dispatched {
        tracing::warn!(peer = %call.peer, method = kind.as_str_name(), %error, "request refused");
        if matches!(error, RequestError::NotLeader(_) | RequestError::Busy) {
            return super::finish(measured, Err(error.to_status()));
        }
        response.success = Some(false);
        response.message = Some(error.to_string());
        response.set_status(Status::Error);
    }
    super::finish(measured, Ok(reply(&response)))
}

async fn dispatch(
    core: &Core,
    kind: Type,
    request: &ScmDatanodeRequest,
    response: &mut ScmDatanodeResponse,
) -> Result<(), RequestError> {
    let missing =
        || RequestError::Invalid(format!("{} request without its message", kind.as_str_name()));
    match kind {
        Type::GetVersion => response.get_version_response = Some(version(core)),
        // All SCMs of a service receive it; only the leader decides and sends commands.
        Type::Register => {
            check(core)?;
            let body = request.register_request.as_ref().ok_or_else(missing)?;
            response.register_response = Some(register::register(core, body).await?);
        }
        Type::SendHeartbeat => {
            check(core)?;
            let body = request.send_heartbeat_request.as_ref().ok_or_else(missing)?;
            response.send_heartbeat_response = Some(heartbeat::heartbeat(core, body).await?);
        }
        // It never changes, so any SCM that has the container can answer.
        Type::GetContainerStorageType => {
            let body = request.get_container_storage_type_request.as_ref().ok_or_else(missing)?;
            let id = ContainerId::from_wire(body.container_id);
            let found = core.cluster().containers.get(id).map(|c| c.storage_type);
            let storage_type = found.ok_or(RequestError::ContainerNotFound(id))?.to_wire() as i32;
            response.get_container_storage_type_response =
                Some(GetContainerStorageTypeResponseProto { storage_type });
        }
    }
    Ok(())
}

fn check(core: &Core) -> Result<(), RequestError> {
    if core.is_shared() { Ok(()) } else { core.check_leader() }
}

fn version(core: &Core) -> ScmVersionResponseProto {
    let pair = |key: &str, value: String| KeyValue { key: key.to_owned(), value: Some(value) };
    ScmVersionResponseProto {
        software_version: SOFTWARE_VERSION,
        keys: vec![
            pair("scmUuid", core.identity.scm_id.to_string()),
            pair("clusterID", core.identity.cluster_id.clone()),
        ],
    }
}
