//! The replicated step: one log entry over the tables gives a response and effects.

use proto::ozone::{OmRequest, OmResponse, Type};

use crate::effect::Effect;
use crate::error::OmError;
use crate::prepare::unsupported;
use crate::tables::Table;
use crate::view::{View, ViewError};
use crate::{
    acl, bucket, file, fso, key, multipart, quota, s3secret, service, tagging, upgrade, volume,
};

/// Where in the log an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionPosition {
    /// Term of the leader that proposed it.
    pub term: u64,
    /// Index in the log.
    pub index: u64,
}

/// What an entry did.
#[derive(Debug)]
pub struct Applied {
    /// The answer to the client.
    pub response: OmResponse,
    /// The changes, to be written together with the entry's position.
    pub effects: Vec<Effect>,
}

/// What a command applies to, and the effects it has had so far.
pub(crate) struct ApplyContext<'a> {
    pub view: &'a dyn View,
    pub tx: TransactionPosition,
    pub effects: Vec<Effect>,
}

impl ApplyContext<'_> {
    /// The id of an object that this transaction makes: epoch 2 in the two top bits, the index,
    /// and eight bits for further objects of the same transaction.
    pub fn object_id(&self) -> u64 {
        (2 << 62) | ((self.tx.index << 8) & !(3 << 62))
    }

    pub fn put(&mut self, table: Table, key: Vec<u8>, value: &impl prost::Message) {
        self.effects.push(Effect::Put { table, key, value: crate::row::encode(value) });
    }

    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.effects.push(Effect::Delete { table, key });
    }

    pub fn put_bucket(&mut self, key: Vec<u8>, bucket: crate::row::Bucket) {
        self.effects.push(Effect::PutBucket { key, bucket });
    }
}

/// Applies a prepared request. The same request at the same position over the same tables gives
/// the same result on every replica.
///
/// # Errors
/// Only when the tables cannot be read: the replica must stop then, since others may have gone
/// on. A refusal is a response.
pub fn apply(
    mut request: OmRequest,
    tx: TransactionPosition,
    view: &dyn View,
) -> Result<Applied, ViewError> {
    let cmd_type = request.cmd_type;
    let trace_id = request.trace_id.take();
    let mut cx = ApplyContext { view, tx, effects: Vec::new() };
    match dispatch(request, &mut cx) {
        Ok(mut response) => {
            response.trace_id = trace_id;
            Ok(Applied { response, effects: cx.effects })
        }
        Err(OmError::View(e)) => Err(e),
        Err(refusal) => {
            Ok(Applied { response: refusal.into_response(cmd_type, trace_id), effects: Vec::new() })
        }
    }
}

fn part<T>(field: Option<Box<T>>, name: &str) -> Result<T, OmError> {
    field.map(|boxed| *boxed).ok_or_else(|| OmError::missing(name))
}

fn dispatch(r: OmRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
    let command = Type::try_from(r.cmd_type).map_err(|_| unsupported(r.cmd_type))?;
    match command {
        Type::CreateKey => key::create::apply(part(r.create_key_request, "CreateKeyRequest")?, cx),
        Type::AllocateBlock => {
            key::allocate_block::apply(part(r.allocate_block_request, "AllocateBlockRequest")?, cx)
        }
        Type::CommitKey => key::commit::apply(part(r.commit_key_request, "CommitKeyRequest")?, cx),
        Type::RenameKey => key::rename::apply(part(r.rename_key_request, "RenameKeyRequest")?, cx),
        Type::RenameKeys => {
            key::rename_keys::apply(part(r.rename_keys_request, "RenameKeysRequest")?, cx)
        }
        Type::DeleteKey => key::delete::apply(part(r.delete_key_request, "DeleteKeyRequest")?, cx),
        Type::DeleteKeys => {
            key::delete_keys::apply(part(r.delete_keys_request, "DeleteKeysRequest")?, cx)
        }
        Type::PurgeKeys => key::purge::apply(part(r.purge_keys_request, "PurgeKeysRequest")?, cx),
        Type::DeleteOpenKeys => {
            key::delete_open::apply(part(r.delete_open_keys_request, "DeleteOpenKeysRequest")?, cx)
        }
        Type::SetTimes => key::set_times::apply(part(r.set_times_request, "SetTimesRequest")?, cx),
        Type::RecoverLease => {
            key::lease::apply(part(r.recover_lease_request, "RecoverLeaseRequest")?, cx)
        }
        Type::PutObjectTagging => {
            tagging::put(part(r.put_object_tagging_request, "PutObjectTaggingRequest")?, cx)
        }
        Type::DeleteObjectTagging => tagging::delete(
            part(r.delete_object_tagging_request, "DeleteObjectTaggingRequest")?,
            cx,
        ),
        Type::InitiateMultiPartUpload => multipart::initiate::apply(
            part(r.initiate_multi_part_upload_request, "MultipartInfoInitiateRequest")?,
            cx,
        ),
        Type::CommitMultiPartUpload => multipart::commit_part::apply(
            part(r.commit_multi_part_upload_request, "MultipartCommitUploadPartRequest")?,
            cx,
        ),
        Type::CompleteMultiPartUpload => multipart::complete::apply(
            part(r.complete_multi_part_upload_request, "MultipartUploadCompleteRequest")?,
            cx,
        ),
        Type::AbortMultiPartUpload => multipart::abort::apply(
            part(r.abort_multi_part_upload_request, "MultipartUploadAbortRequest")?,
            cx,
        ),
        Type::AbortExpiredMultiPartUploads => multipart::abort_expired::apply(
            part(r.multipart_uploads_expired_abort_request, "MultipartUploadsExpiredAbortRequest")?,
            cx,
        ),
        Type::CreateFile => {
            file::create::apply(part(r.create_file_request, "CreateFileRequest")?, cx)
        }
        Type::CreateDirectory => file::create_directory::apply(
            part(r.create_directory_request, "CreateDirectoryRequest")?,
            cx,
        ),
        Type::PurgeDirectories => {
            fso::purge::apply(part(r.purge_directories_request, "PurgeDirectoriesRequest")?, cx)
        }
        Type::CreateVolume => {
            volume::create::apply(part(r.create_volume_request, "CreateVolumeRequest")?, cx)
        }
        Type::SetVolumeProperty => volume::set_property::apply(
            part(r.set_volume_property_request, "SetVolumePropertyRequest")?,
            cx,
        ),
        Type::DeleteVolume => {
            volume::delete::apply(part(r.delete_volume_request, "DeleteVolumeRequest")?, cx)
        }
        Type::CreateBucket => {
            bucket::create::apply(part(r.create_bucket_request, "CreateBucketRequest")?, cx)
        }
        Type::SetBucketProperty => bucket::set_property::apply(
            part(r.set_bucket_property_request, "SetBucketPropertyRequest")?,
            cx,
        ),
        Type::DeleteBucket => {
            bucket::delete::apply(part(r.delete_bucket_request, "DeleteBucketRequest")?, cx)
        }
        Type::AddAcl => acl::add(part(r.add_acl_request, "AddAclRequest")?, cx),
        Type::RemoveAcl => acl::remove(part(r.remove_acl_request, "RemoveAclRequest")?, cx),
        Type::SetAcl => acl::set(part(r.set_acl_request, "SetAclRequest")?, cx),
        Type::GetS3Secret => s3secret::get::apply(r, cx),
        Type::SetS3Secret => {
            s3secret::set::apply(part(r.set_s3_secret_request, "SetS3SecretRequest")?, cx)
        }
        Type::RevokeS3Secret => {
            s3secret::revoke::apply(part(r.revoke_s3_secret_request, "RevokeS3SecretRequest")?, cx)
        }
        Type::QuotaRepair => {
            quota::repair::apply(part(r.quota_repair_request, "QuotaRepairRequest")?, cx)
        }
        Type::Prepare => upgrade::prepare::apply(&part(r.prepare_request, "PrepareRequest")?, cx),
        Type::CancelPrepare => Ok(upgrade::cancel_prepare::apply(cx)),
        Type::EchoRpc => Ok(service::echo(&part(r.echo_rpc_request, "EchoRPCRequest")?)),
        _ => Err(unsupported(r.cmd_type)),
    }
}
