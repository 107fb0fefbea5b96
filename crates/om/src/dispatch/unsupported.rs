//! Commands of features that this OM does not have: Ozone's answer where such a feature is off or
//! has nothing to do, and a clear refusal otherwise.

use bytes::Bytes;
use prost::Message;
use proto::hdds::{UpgradeFinalizationStatus, upgrade_finalization_status};
use proto::ozone::{
    FinalizeUpgradeProgressResponse, FinalizeUpgradeResponse, GetDelegationTokenResponseProto,
    OmRequest, OmResponse, Status as OmStatus, Type,
};

use super::outcome::refusal;

/// The refusal of a command that is not served.
pub(super) fn refuse(request: &OmRequest) -> Bytes {
    let command = Type::try_from(request.cmd_type);
    let name = command.map_or("this command", |t| t.as_str_name());
    let (status, message) = match command.unwrap_or(Type::UnknownCommand) {
        Type::CreateTenant
        | Type::DeleteTenant
        | Type::ListTenant
        | Type::TenantGetUserInfo
        | Type::TenantAssignUserAccessId
        | Type::TenantRevokeUserAccessId
        | Type::TenantAssignAdmin
        | Type::TenantRevokeAdmin
        | Type::TenantListUser
        | Type::SetRangerServiceVersion
        | Type::RangerBgSync => {
            let message = "S3 multi-tenancy feature is not enabled.";
            (OmStatus::FeatureNotEnabled, message.to_owned())
        }
        Type::RenewDelegationToken | Type::CancelDelegationToken => {
            let message = "there are no delegation tokens: security is off";
            (OmStatus::TokenErrorOther, message.to_owned())
        }
        _ => (OmStatus::NotSupportedOperation, format!("{name} is not supported")),
    };
    refusal(request.cmd_type, request.trace_id.clone(), status, message)
}

/// Answers commands that need no such feature; `false` if the command is none of those.
pub(super) fn answer(command: Type, response: &mut OmResponse) -> bool {
    // This release has one layout: a request to finalize it comes late.
    let finalized = || UpgradeFinalizationStatus {
        status: upgrade_finalization_status::Status::AlreadyFinalized as i32,
        messages: Vec::new(),
    };
    match command {
        Type::FinalizeUpgrade => {
            let answer = FinalizeUpgradeResponse { status: finalized() };
            response.finalize_upgrade_response = Some(Box::new(answer));
        }
        Type::FinalizeUpgradeProgress => {
            let answer = FinalizeUpgradeProgressResponse { status: finalized() };
            response.finalize_upgrade_progress_response = Some(Box::new(answer));
        }
        // With security off there is no token to give, which is not an error.
        Type::GetDelegationToken => {
            let answer = GetDelegationTokenResponseProto::default();
            response.get_delegation_token_response = Some(Box::new(answer));
        }
        _ => return false,
    }
    true
}

/// An encoded answer.
pub(super) fn encoded(response: &OmResponse) -> Bytes {
    Bytes::from(response.encode_to_vec())
}
