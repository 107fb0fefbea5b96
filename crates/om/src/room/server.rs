//! Questions about the server itself: which servers there are, and SCM's safe mode.

use std::sync::OnceLock;

use bytes::Bytes;
use framed::Status;
use prost::Message;
use proto::hdds::{NodeType, UpgradeFinalizationStatus, upgrade_finalization_status};
use proto::ozone::{
    FinalizeUpgradeProgressResponse, FinalizeUpgradeResponse, FsServerDefaultsProto, OmRequest,
    OmResponse, OmRoleInfo, SafeMode, ServiceInfo, ServiceListResponse, ServicePort,
    SetSafeModeResponse, Status as OmStatus, Type, service_port,
};

use super::Room;
use super::outcome::refusal;

/// The version clients choose their features by: ATOMIC_CREATE_IF_NOT_EXISTS, the highest one
/// that Ozone's 2.2 clients know.
const OM_VERSION: i32 = 12;

/// What this server tells of itself.
#[derive(Debug, Clone)]
pub(crate) struct ServerFacts {
    pub(crate) node_id: String,
    /// The name clients reach this host by.
    pub(crate) host: String,
    pub(crate) rpc_port: u16,
    /// Known once the status page is served.
    pub(crate) http_port: OnceLock<u16>,
    pub(crate) scm_host: String,
    pub(crate) scm_port: u16,
}

fn finalized() -> UpgradeFinalizationStatus {
    let status = upgrade_finalization_status::Status::AlreadyFinalized;
    UpgradeFinalizationStatus { status: status as i32, messages: Vec::new() }
}

impl Room {
    pub(super) async fn about_server(&self, request: OmRequest) -> Result<Bytes, Status> {
        let mut response = OmResponse {
            cmd_type: request.cmd_type,
            success: Some(true),
            status: OmStatus::Ok as i32,
            ..OmResponse::default()
        };
        match Type::try_from(request.cmd_type) {
            Ok(Type::ServiceList) => {
                response.service_list_response = Some(Box::new(self.service_list()));
            }
            // There is one layout, and a directory of another is refused at the start.
            Ok(Type::FinalizeUpgrade) => {
                let answer = FinalizeUpgradeResponse { status: finalized() };
                response.finalize_upgrade_response = Some(Box::new(answer));
            }
            Ok(Type::FinalizeUpgradeProgress) => {
                let answer = FinalizeUpgradeProgressResponse { status: finalized() };
                response.finalize_upgrade_progress_response = Some(Box::new(answer));
            }
            Ok(Type::SetSafeMode) => {
                let wish = request.set_safe_mode_request.as_ref().map(|r| r.safe_mode());
                let scm = &self.parts.scm;
                let answer = match wish {
                    Some(SafeMode::Get) => scm.in_safe_mode().await,
                    Some(SafeMode::Leave | SafeMode::ForceExit) => scm.leave_safe_mode().await,
                    Some(SafeMode::Enter) | None => {
                        return Ok(refusal(
                            request.cmd_type,
                            request.trace_id,
                            OmStatus::NotSupportedOperation,
                            "safe mode cannot be entered by request".to_owned(),
                        ));
                    }
                };
                match answer {
                    Ok(answer) => {
                        let answer = SetSafeModeResponse { response: Some(answer) };
                        response.set_safe_mode_response = Some(Box::new(answer));
                    }
                    Err(e) => {
                        let status = OmStatus::InternalError;
                        return Ok(refusal(
                            request.cmd_type,
                            request.trace_id,
                            status,
                            e.to_string(),
                        ));
                    }
                }
            }
            _ => return Ok(self.unsupported(&request)),
        }
        response.trace_id = request.trace_id;
        Ok(Bytes::from(response.encode_to_vec()))
    }

    fn service_list(&self) -> ServiceListResponse {
        let facts = &self.parts.facts;
        let port = |kind: service_port::Type, value: u16| ServicePort {
            r#type: kind as i32,
            value: u32::from(value),
        };
        let mut ports = vec![port(service_port::Type::Rpc, facts.rpc_port)];
        ports.extend(facts.http_port.get().map(|p| port(service_port::Type::Http, *p)));
        let role = if self.is_leader() { "LEADER" } else { "FOLLOWER" };
        let om = ServiceInfo {
            node_type: NodeType::Om as i32,
            hostname: facts.host.clone(),
            service_ports: ports,
            om_role: Some(OmRoleInfo {
                node_id: facts.node_id.clone(),
                server_role: role.to_owned(),
            }),
            om_version: Some(OM_VERSION),
            server_defaults: Some(FsServerDefaultsProto::default()),
        };
        let scm = ServiceInfo {
            node_type: NodeType::Scm as i32,
            hostname: facts.scm_host.clone(),
            service_ports: vec![port(service_port::Type::Rpc, facts.scm_port)],
            ..ServiceInfo::default()
        };
        ServiceListResponse { service_info: vec![om, scm], ..ServiceListResponse::default() }
    }
}
