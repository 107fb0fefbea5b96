//! Requests about the server itself: the list of servers, SCM's safe mode, quota repair, and
//! answers about unsupported features.

use std::sync::Arc;

use bytes::Bytes;
use framed::Status;
use proto::hdds::NodeType;
use proto::ozone::{
    FsServerDefaultsProto, GetQuotaRepairStatusResponse, OmRequest, OmResponse, OmRoleInfo,
    SafeMode, ServiceInfo, ServiceListResponse, ServicePort, SetSafeModeResponse,
    StartQuotaRepairResponse, Status as OmStatus, Type, service_port,
};

use super::outcome::refusal;
use super::{Dispatcher, unsupported};
use crate::members::Member;

/// The version clients choose their features by: ATOMIC_CREATE_IF_NOT_EXISTS, the highest one
/// that Ozone's 2.2 clients know.
const OM_VERSION: i32 = 12;

impl Dispatcher {
    pub(super) async fn about_server(
        self: &Arc<Self>,
        request: OmRequest,
        user: &str,
    ) -> Result<Bytes, Status> {
        if request.cmd_type == Type::PrepareStatus as i32 {
            return self.prepare_status(&request).await;
        }
        self.leading()?;
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
            Ok(Type::DbUpdates) => {
                if let Err(refused) = self.admit_admin(&request, user, "read updates.") {
                    return Ok(refused);
                }
                let wish = request.db_updates_request.unwrap_or_default();
                response.db_updates_response = Some(Box::new(self.updates(&wish)));
            }
            Ok(Type::SetSafeMode) => {
                let wish = request.set_safe_mode_request.as_ref().map(|r| r.safe_mode());
                if wish != Some(SafeMode::Get)
                    && let Err(refused) = self.admit_admin(&request, user, "change safe mode.")
                {
                    return Ok(refused);
                }
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
            Ok(Type::TransferLeadership) => {
                if let Err(refused) = self.admit_admin(&request, user, "transfer leadership.") {
                    return Ok(refused);
                }
                if let Err(refused) = self.transfer_leadership(&request).await {
                    return Ok(refused);
                }
                response.transfer_om_leadership_response = Some(Box::default());
            }
            Ok(Type::StartQuotaRepair) => {
                if let Err(refused) = self.admit_admin(&request, user, "repair quota.") {
                    return Ok(refused);
                }
                let start = request.start_quota_repair_request.unwrap_or_default();
                if !self.repair_quota(start.buckets) {
                    let status = OmStatus::InternalError;
                    let message = "Quota repair is already running".to_owned();
                    return Ok(refusal(request.cmd_type, request.trace_id, status, message));
                }
                let answer = StartQuotaRepairResponse {};
                response.start_quota_repair_response = Some(Box::new(answer));
            }
            Ok(Type::GetQuotaRepairStatus) => {
                if let Err(refused) = self.admit_admin(&request, user, "see quota repairs.") {
                    return Ok(refused);
                }
                let status = Some(self.repairs.status());
                let answer = GetQuotaRepairStatusResponse { status };
                response.get_quota_repair_status_response = Some(Box::new(answer));
            }
            Ok(
                Type::SnapshotDiff
                | Type::SubmitSnapshotDiff
                | Type::ListSnapshotDiffJobs
                | Type::CancelSnapshotDiff,
            ) => {
                if let Err(refused) = self.about_diffs(&request, user, &mut response).await {
                    return refused;
                }
            }
            Ok(command) if unsupported::answer(command, &mut response) => {}
            _ => return Ok(unsupported::refuse(&request)),
        }
        response.trace_id = request.trace_id;
        Ok(unsupported::encoded(&response))
    }

    /// Refuses a user that is no administrator, if requests are authorized by user.
    fn admit_admin(&self, request: &OmRequest, user: &str, deed: &str) -> Result<(), Bytes> {
        if self.is_admin(user) {
            return Ok(());
        }
        let status = OmStatus::PermissionDenied;
        let message = format!("Only Ozone admins are allowed to {deed}");
        Err(refusal(request.cmd_type, request.trace_id.clone(), status, message))
    }

    /// Returns `true` if a user administers this OM; all users do if requests are not authorized.
    pub(crate) fn is_admin(&self, user: &str) -> bool {
        let policy = &self.parts.settings.authorization;
        !policy.enabled || policy.admins.include(user, &self.parts.groups.of(user))
    }

    /// Returns `true` if a user is a read-only administrator of this OM.
    pub(crate) fn may_see_all(&self, user: &str) -> bool {
        let policy = &self.parts.settings.authorization;
        policy.read_only_admins.include(user, &self.parts.groups.of(user))
    }

    pub(super) fn service_list(&self) -> ServiceListResponse {
        let facts = &self.parts.facts;
        let port = |kind: service_port::Type, value: u16| ServicePort {
            r#type: kind as i32,
            value: u32::from(value),
        };
        let leader = self.parts.group.leader().leader;
        let om = |member: &Member| {
            let me = member.raft_id == facts.members.me.raft_id;
            let rpc = if me { facts.rpc_port } else { member.rpc.port };
            let mut ports = vec![port(service_port::Type::Rpc, rpc)];
            if me {
                let http = facts.http_port.get();
                ports.extend(http.map(|p| port(service_port::Type::Http, *p)));
            } else {
                ports.push(port(service_port::Type::Http, member.http.port));
            }
            if facts.members.shared {
                ports.push(port(service_port::Type::Ratis, member.raft.port));
            }
            let leads = leader == Some(member.raft_id);
            ServiceInfo {
                node_type: NodeType::Om as i32,
                hostname: member.rpc.connect().host,
                service_ports: ports,
                om_role: Some(OmRoleInfo {
                    node_id: member.node_id.clone(),
                    server_role: self.role_of(member.raft_id, leads).to_owned(),
                }),
                om_version: Some(OM_VERSION),
                server_defaults: Some(FsServerDefaultsProto::default()),
            }
        };
        let membership = self.parts.group.membership();
        let all = facts.members.all();
        let belongs = all.iter().filter(|member| membership.contains(member.raft_id));
        let mut service_info: Vec<ServiceInfo> = belongs.map(om).collect();
        service_info.push(ServiceInfo {
            node_type: NodeType::Scm as i32,
            hostname: facts.scm_host.clone(),
            service_ports: vec![port(service_port::Type::Rpc, facts.scm_port)],
            ..ServiceInfo::default()
        });
        ServiceListResponse { service_info, ..ServiceListResponse::default() }
    }
}
