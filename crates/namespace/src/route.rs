//! Which command is a read, a write, the server's own, or not there yet.

use proto::ozone::{OmRequest, Type};

/// Who answers a command and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// [`crate::read`], from the tables, without the log.
    Read,
    /// [`crate::prepare`], the log, [`crate::apply`].
    Write,
    /// The server itself: the answer is about the server (its peers, ports, safe mode), not
    /// about the tables.
    Server,
    /// Nobody in this release: `NOT_SUPPORTED_OPERATION`.
    Unsupported,
}

/// How `request` is answered.
pub fn route(request: &OmRequest) -> Route {
    let Ok(command) = Type::try_from(request.cmd_type) else { return Route::Unsupported };
    match command {
        Type::CreateVolume
        | Type::SetVolumeProperty
        | Type::DeleteVolume
        | Type::CreateBucket
        | Type::SetBucketProperty
        | Type::DeleteBucket
        | Type::CreateKey
        | Type::AllocateBlock
        | Type::CommitKey
        | Type::RenameKey
        | Type::RenameKeys
        | Type::DeleteKey
        | Type::DeleteKeys
        | Type::PurgeKeys
        | Type::DeleteOpenKeys
        | Type::SetTimes
        | Type::RecoverLease
        | Type::QuotaRepair
        | Type::PutObjectTagging
        | Type::DeleteObjectTagging
        | Type::InitiateMultiPartUpload
        | Type::CommitMultiPartUpload
        | Type::CompleteMultiPartUpload
        | Type::AbortMultiPartUpload
        | Type::AbortExpiredMultiPartUploads
        | Type::AddAcl
        | Type::RemoveAcl
        | Type::SetAcl
        | Type::CreateFile
        | Type::CreateDirectory
        | Type::PurgeDirectories
        | Type::Prepare
        | Type::CancelPrepare
        | Type::SetS3Secret
        | Type::RevokeS3Secret => Route::Write,
        // A look at an existing secret need not go through the log.
        Type::GetS3Secret => match &request.get_s3_secret_request {
            Some(get) if get.create_if_not_exist == Some(false) => Route::Read,
            _ => Route::Write,
        },
        Type::EchoRpc => match &request.echo_rpc_request {
            Some(echo) if echo.read_only == Some(false) => Route::Write,
            _ => Route::Read,
        },
        Type::InfoVolume
        | Type::ListVolume
        | Type::InfoBucket
        | Type::ListBuckets
        | Type::LookupKey
        | Type::GetKeyInfo
        | Type::ListKeys
        | Type::ListKeysLight
        | Type::GetObjectTagging
        | Type::ListMultiPartUploadParts
        | Type::ListMultipartUploads
        | Type::GetFileStatus
        | Type::LookupFile
        | Type::ListStatus
        | Type::ListStatusLight
        | Type::GetAcl
        | Type::ListOpenFiles
        | Type::GetS3VolumeContext => Route::Read,
        Type::ServiceList
        | Type::SetSafeMode
        | Type::StartQuotaRepair
        | Type::GetQuotaRepairStatus
        | Type::FinalizeUpgrade
        | Type::FinalizeUpgradeProgress
        | Type::PrepareStatus
        | Type::TransferLeadership
        | Type::GetDelegationToken => Route::Server,
        _ => Route::Unsupported,
    }
}

/// Whether `request` is answered without the log.
pub fn is_read(request: &OmRequest) -> bool {
    matches!(route(request), Route::Read)
}

/// The command's name for people.
pub(crate) fn name(cmd_type: i32) -> String {
    match Type::try_from(cmd_type) {
        Ok(command) => command.as_str_name().to_owned(),
        Err(_) => format!("command {cmd_type}"),
    }
}
