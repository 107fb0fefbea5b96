//! The leader's step before the log: check the request and decide all that is not determined by
//! the tables (time, ids, secrets, settings, blocks), in the request's own fields.

use proto::hdds::ExcludeListProto;
use proto::ozone::{KeyLocation, OmRequest, Type};
use types::ReplicationConfig;

use crate::error::OmError;
use crate::route::{self, Route};
use crate::settings::Settings;
use crate::view::View;
use crate::{acl, bucket, file, key, locations, multipart, s3secret, tagging, volume};

/// Where the leader gets what must never repeat or be guessed.
pub trait Fresh {
    /// An id no other request gets: the session of an open key.
    fn id(&self) -> u64;
    /// Bytes of a UUID (version 7, so that ids sort by time): an upload's id.
    fn uuid(&self) -> [u8; 16];
    /// Random bytes from a cryptographic source: a secret key.
    fn secret(&self) -> [u8; 32];
}

/// What `prepare` decides from.
pub struct PrepareContext<'a> {
    /// The leader's clock, milliseconds since 1970.
    pub now_ms: u64,
    /// The tables. May lag behind the log: checks here spare work, those of `apply` count.
    pub view: &'a dyn View,
    /// Who asks.
    pub user: &'a str,
    /// The groups of who asks, the primary one first.
    pub groups: &'a [String],
    /// Settings.
    pub settings: &'a Settings,
    /// Ids and secrets.
    pub fresh: &'a dyn Fresh,
}

/// Blocks that the request needs before it can be proposed; hand them to [`give_blocks`].
#[derive(Debug, Clone, PartialEq)]
pub struct BlockDemand {
    /// Replication of the pipelines.
    pub replication: ReplicationConfig,
    /// How many blocks.
    pub count: u32,
    /// Bytes of one block.
    pub size: u64,
    /// What the client wants avoided.
    pub exclude: Option<ExcludeListProto>,
    /// Owner of the containers.
    pub owner: String,
}

/// A request that is ready for the log once it has its blocks.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The request, fully decided but for its blocks.
    pub request: OmRequest,
    /// Blocks to allocate first.
    pub blocks: Option<BlockDemand>,
}

/// Checks a write and decides what the log entry must say.
///
/// # Errors
/// When the request is refused; nothing needs to be logged then.
pub fn prepare(mut request: OmRequest, ctx: &PrepareContext<'_>) -> Result<Prepared, OmError> {
    if route::route(&request) != Route::Write {
        return Err(unsupported(request.cmd_type));
    }
    acl::check_write(&mut request, ctx)?;
    let blocks = decide(&mut request, ctx)?;
    Ok(Prepared { request, blocks })
}

/// The refusal of a command that nobody answers.
pub(crate) fn unsupported(cmd_type: i32) -> OmError {
    OmError::NotSupported(format!("{} is not supported", route::name(cmd_type)))
}

/// A sub-message that the command cannot do without.
pub(crate) fn part<'a, T>(field: &'a mut Option<Box<T>>, name: &str) -> Result<&'a mut T, OmError> {
    field.as_deref_mut().ok_or_else(|| OmError::missing(name))
}

fn decide(r: &mut OmRequest, ctx: &PrepareContext<'_>) -> Result<Option<BlockDemand>, OmError> {
    let command = Type::try_from(r.cmd_type).map_err(|_| unsupported(r.cmd_type))?;
    match command {
        Type::CreateKey => {
            return key::create::prepare(part(&mut r.create_key_request, "CreateKeyRequest")?, ctx);
        }
        Type::CreateFile => {
            let part = part(&mut r.create_file_request, "CreateFileRequest")?;
            return file::create::prepare(part, ctx);
        }
        Type::CreateDirectory => {
            let part = part(&mut r.create_directory_request, "CreateDirectoryRequest")?;
            file::create_directory::prepare(part, ctx)
        }
        Type::AllocateBlock => {
            let part = part(&mut r.allocate_block_request, "AllocateBlockRequest")?;
            return key::allocate_block::prepare(part, ctx);
        }
        Type::CommitKey => {
            key::commit::prepare(part(&mut r.commit_key_request, "CommitKeyRequest")?, ctx)
        }
        Type::RenameKey => {
            key::rename::prepare(part(&mut r.rename_key_request, "RenameKeyRequest")?, ctx)
        }
        Type::RenameKeys => {
            key::rename_keys::prepare(part(&mut r.rename_keys_request, "RenameKeysRequest")?, ctx)
        }
        Type::DeleteKey => {
            key::delete::prepare(part(&mut r.delete_key_request, "DeleteKeyRequest")?, ctx)
        }
        Type::DeleteKeys => {
            key::delete_keys::prepare(part(&mut r.delete_keys_request, "DeleteKeysRequest")?, ctx)
        }
        Type::PurgeKeys => {
            key::purge::prepare(part(&mut r.purge_keys_request, "PurgeKeysRequest")?, ctx)
        }
        Type::SetTimes => {
            key::set_times::prepare(part(&mut r.set_times_request, "SetTimesRequest")?, ctx)
        }
        Type::RecoverLease => {
            key::lease::prepare(part(&mut r.recover_lease_request, "RecoverLeaseRequest")?, ctx)
        }
        Type::PutObjectTagging => {
            let part = part(&mut r.put_object_tagging_request, "PutObjectTaggingRequest")?;
            tagging::prepare(&mut part.key_args, ctx)
        }
        Type::DeleteObjectTagging => {
            let part = part(&mut r.delete_object_tagging_request, "DeleteObjectTaggingRequest")?;
            tagging::prepare(&mut part.key_args, ctx)
        }
        Type::InitiateMultiPartUpload => {
            let part =
                part(&mut r.initiate_multi_part_upload_request, "MultipartInfoInitiateRequest")?;
            multipart::initiate::prepare(part, ctx)
        }
        Type::CommitMultiPartUpload => {
            let part =
                part(&mut r.commit_multi_part_upload_request, "MultipartCommitUploadPartRequest")?;
            multipart::commit_part::prepare(part, ctx)
        }
        Type::CompleteMultiPartUpload => {
            let part =
                part(&mut r.complete_multi_part_upload_request, "MultipartUploadCompleteRequest")?;
            multipart::complete::prepare(part, ctx)
        }
        Type::AbortMultiPartUpload => {
            let part = part(&mut r.abort_multi_part_upload_request, "MultipartUploadAbortRequest")?;
            multipart::abort::prepare(part, ctx)
        }
        Type::CreateVolume => {
            volume::create::prepare(part(&mut r.create_volume_request, "CreateVolumeRequest")?, ctx)
        }
        Type::SetVolumeProperty => {
            let part = part(&mut r.set_volume_property_request, "SetVolumePropertyRequest")?;
            volume::set_property::prepare(part, ctx)
        }
        Type::CreateBucket => {
            bucket::create::prepare(part(&mut r.create_bucket_request, "CreateBucketRequest")?, ctx)
        }
        Type::SetBucketProperty => {
            let part = part(&mut r.set_bucket_property_request, "SetBucketPropertyRequest")?;
            bucket::set_property::prepare(part, ctx)
        }
        Type::AddAcl => {
            let part = part(&mut r.add_acl_request, "AddAclRequest")?;
            acl::prepare(&mut part.obj, &mut part.modification_time, ctx)
        }
        Type::RemoveAcl => {
            let part = part(&mut r.remove_acl_request, "RemoveAclRequest")?;
            acl::prepare(&mut part.obj, &mut part.modification_time, ctx)
        }
        Type::SetAcl => {
            let part = part(&mut r.set_acl_request, "SetAclRequest")?;
            acl::prepare(&mut part.obj, &mut part.modification_time, ctx)
        }
        Type::GetS3Secret => s3secret::get::prepare(r, ctx),
        Type::SetS3Secret => {
            s3secret::set::prepare(part(&mut r.set_s3_secret_request, "SetS3SecretRequest")?)
        }
        // Nothing to decide: the tables say it all.
        _ => Ok(()),
    }?;
    Ok(None)
}

/// Puts the blocks that `prepare` demanded into the request. Pipelines and tokens are left out:
/// they are for the response, not for the log or the tables.
pub fn give_blocks(request: &mut OmRequest, mut blocks: Vec<KeyLocation>) {
    blocks.iter_mut().for_each(locations::strip);
    if let Some(create) = &mut request.create_key_request {
        create.key_args.key_locations = blocks;
    } else if let Some(create) = &mut request.create_file_request {
        create.key_args.key_locations = blocks;
    } else if let Some(allocate) = &mut request.allocate_block_request {
        allocate.key_location = blocks.pop();
    }
}
