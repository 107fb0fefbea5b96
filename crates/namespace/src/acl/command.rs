//! What each command needs: the table of rights, as Ozone's requests ask for them.

use proto::ozone::list_volume_request::Scope;
use proto::ozone::ozone_obj::ObjectType;
use proto::ozone::{KeyArgs, OmRequest, OzoneObj, SetBucketPropertyRequest, Type, VolumeInfo};

use super::authorize::{Guard, Target};
use super::object::Path;
use super::right::Right;
use crate::bucket::find;
use crate::error::OmError;
use crate::prepare::PrepareContext;
use crate::read::ReadContext;

/// What is refused for want of a field is refused by the command itself.
type Verdict = Option<Result<(), OmError>>;

/// Refuses a write that who asks may not do. Of writes to many keys, only those keys are marked
/// refused that may not be touched.
pub(crate) fn check_write(r: &mut OmRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let policy = &ctx.settings.authorization;
    if !policy.enabled {
        clear_marks(r);
        return Ok(());
    }
    let guard = Guard { view: ctx.view, policy, user: ctx.user, groups: ctx.groups };
    write(&guard, r).unwrap_or(Ok(()))?;
    clear_marks(r);
    mark_refused(&guard, r)
}

/// Refuses a read that who asks may not do.
pub(crate) fn check_read(r: &OmRequest, cx: &ReadContext<'_>) -> Result<(), OmError> {
    let policy = &cx.settings.authorization;
    if !policy.enabled {
        return Ok(());
    }
    let guard = Guard { view: cx.view, policy, user: cx.user, groups: cx.groups };
    read(&guard, r, cx).unwrap_or(Ok(()))
}

/// Whether a list of volumes made for `user` shows a volume: with authorization on, a user sees
/// those that they may list, whoever owns them.
pub(crate) fn lists_volume(volume: &VolumeInfo, user: &str, cx: &ReadContext<'_>) -> bool {
    let policy = &cx.settings.authorization;
    // The groups of somebody else are not known here.
    let groups = if user == cx.user { cx.groups } else { &[] };
    Guard { view: cx.view, policy, user, groups }.may_list(volume)
}

fn write(guard: &Guard<'_>, r: &OmRequest) -> Verdict {
    let command = Type::try_from(r.cmd_type).ok()?;
    Some(match command {
        Type::CreateVolume => {
            let volume = &r.create_volume_request.as_ref()?.volume_info.volume;
            guard.require(Target::volume(volume), Right::Create)
        }
        Type::SetVolumeProperty => {
            let set = r.set_volume_property_request.as_ref()?;
            let right = if set.owner_name.is_some() { Right::WriteAcl } else { Right::Write };
            guard.require(Target::volume(&set.volume_name), right)
        }
        Type::DeleteVolume => {
            let volume = &r.delete_volume_request.as_ref()?.volume_name;
            guard.require(Target::volume(volume), Right::Delete)
        }
        Type::CreateBucket => {
            let info = &r.create_bucket_request.as_ref()?.bucket_info;
            guard.require(Target::bucket(&info.volume_name, &info.bucket_name), Right::Create)
        }
        Type::SetBucketProperty => set_bucket(guard, r.set_bucket_property_request.as_ref()?)?,
        Type::DeleteBucket => {
            let delete = r.delete_bucket_request.as_ref()?;
            guard.require(Target::bucket(&delete.volume_name, &delete.bucket_name), Right::Delete)
        }
        Type::CreateKey => on_key(guard, &r.create_key_request.as_ref()?.key_args, Right::Create),
        Type::CreateFile => on_key(guard, &r.create_file_request.as_ref()?.key_args, Right::Create),
        Type::CreateDirectory => {
            on_key(guard, &r.create_directory_request.as_ref()?.key_args, Right::Create)
        }
        Type::InitiateMultiPartUpload => {
            on_key(guard, &r.initiate_multi_part_upload_request.as_ref()?.key_args, Right::Create)
        }
        Type::AllocateBlock => {
            let allocate = r.allocate_block_request.as_ref()?;
            in_session(guard, &allocate.key_args, allocate.client_id)
        }
        Type::CommitKey => {
            let commit = r.commit_key_request.as_ref()?;
            in_session(guard, &commit.key_args, commit.client_id)
        }
        Type::CommitMultiPartUpload => {
            let commit = r.commit_multi_part_upload_request.as_ref()?;
            in_session(guard, &commit.key_args, commit.client_id)
        }
        Type::CompleteMultiPartUpload => {
            on_key(guard, &r.complete_multi_part_upload_request.as_ref()?.key_args, Right::Write)
        }
        Type::AbortMultiPartUpload => {
            on_key(guard, &r.abort_multi_part_upload_request.as_ref()?.key_args, Right::Write)
        }
        Type::DeleteKey => on_key(guard, &r.delete_key_request.as_ref()?.key_args, Right::Delete),
        Type::RenameKey => {
            let rename = r.rename_key_request.as_ref()?;
            let args = &rename.key_args;
            guard.resolve(&args.volume_name, &args.bucket_name).and_then(|(volume, bucket)| {
                guard.require(Target::key(&volume, &bucket, &args.key_name), Right::Delete)?;
                guard.require(Target::key(&volume, &bucket, &rename.to_key_name), Right::Create)
            })
        }
        Type::SetTimes => on_key(guard, &r.set_times_request.as_ref()?.key_args, Right::WriteAcl),
        Type::PutObjectTagging => {
            on_key(guard, &r.put_object_tagging_request.as_ref()?.key_args, Right::Write)
        }
        Type::DeleteObjectTagging => {
            on_key(guard, &r.delete_object_tagging_request.as_ref()?.key_args, Right::Write)
        }
        Type::RecoverLease => {
            let recover = r.recover_lease_request.as_ref()?;
            let (volume, bucket) =
                (recover.volume_name.as_deref()?, recover.bucket_name.as_deref()?);
            let key = recover.key_name.as_deref()?;
            guard
                .resolve(volume, bucket)
                .and_then(|(v, b)| guard.require(Target::key(&v, &b, key), Right::Write))
        }
        Type::AddAcl => on_object(guard, &r.add_acl_request.as_ref()?.obj, Right::WriteAcl),
        Type::RemoveAcl => on_object(guard, &r.remove_acl_request.as_ref()?.obj, Right::WriteAcl),
        Type::SetAcl => on_object(guard, &r.set_acl_request.as_ref()?.obj, Right::WriteAcl),
        Type::GetS3Secret => on_secret(guard, &r.get_s3_secret_request.as_ref()?.kerberos_id),
        Type::SetS3Secret => {
            on_secret(guard, r.set_s3_secret_request.as_ref()?.access_id.as_deref()?)
        }
        Type::RevokeS3Secret => on_secret(guard, &r.revoke_s3_secret_request.as_ref()?.kerberos_id),
        // What OM asks of itself.
        Type::PurgeKeys
        | Type::PurgeDirectories
        | Type::DeleteOpenKeys
        | Type::AbortExpiredMultiPartUploads
        | Type::QuotaRepair => guard.require_admin("do what OM does by itself"),
        Type::Prepare | Type::CancelPrepare => guard.require_admin("prepare OM for an upgrade"),
        // Judged key by key.
        Type::DeleteKeys | Type::RenameKeys => Ok(()),
        _ => return None,
    })
}

fn read(guard: &Guard<'_>, r: &OmRequest, cx: &ReadContext<'_>) -> Verdict {
    let command = Type::try_from(r.cmd_type).ok()?;
    Some(match command {
        Type::InfoVolume => {
            let volume = &r.info_volume_request.as_ref()?.volume_name;
            guard.require(Target::volume(volume), Right::Read)
        }
        Type::ListVolume => {
            let list = r.list_volume_request.as_ref()?;
            let asked = match Scope::try_from(list.scope).ok()? {
                Scope::UserVolumes => Some(cx.user),
                Scope::VolumesByUser => list.user_name.as_deref().filter(|u| !u.is_empty()),
                Scope::VolumesByCluster => None,
            };
            match asked {
                Some(user) if user == cx.user => Ok(()),
                _ => guard.may_list_all_volumes(),
            }
        }
        Type::InfoBucket => {
            let info = r.info_bucket_request.as_ref()?;
            guard.require(Target::bucket(&info.volume_name, &info.bucket_name), Right::Read)
        }
        Type::ListBuckets => {
            let volume = &r.list_buckets_request.as_ref()?.volume_name;
            guard.require(Target::volume(volume), Right::List)
        }
        Type::LookupKey => on_key(guard, &r.lookup_key_request.as_ref()?.key_args, Right::Read),
        Type::LookupFile => on_key(guard, &r.lookup_file_request.as_ref()?.key_args, Right::Read),
        Type::GetObjectTagging => {
            on_key(guard, &r.get_object_tagging_request.as_ref()?.key_args, Right::Read)
        }
        Type::GetKeyInfo => {
            let get = r.get_key_info_request.as_ref()?;
            let args = &get.key_args;
            let volume = match get.assume_s3_context {
                Some(true) => &cx.settings.s3_volume,
                _ => &args.volume_name,
            };
            in_bucket(guard, volume, &args.bucket_name, &args.key_name, Right::Read)
        }
        Type::GetFileStatus => look(guard, &r.get_file_status_request.as_ref()?.key_args),
        Type::ListStatus | Type::ListStatusLight => {
            look(guard, &r.list_status_request.as_ref()?.key_args)
        }
        Type::ListKeys | Type::ListKeysLight => {
            let list = r.list_keys_request.as_ref()?;
            let prefix = list.prefix.as_deref().unwrap_or("");
            listed(guard, &list.volume_name, &list.bucket_name, prefix, &[Right::List])
        }
        Type::ListMultipartUploads => {
            let list = r.list_multipart_uploads_request.as_ref()?;
            let rights = [Right::Read, Right::List];
            listed(guard, &list.volume, &list.bucket, &list.prefix, &rights)
        }
        Type::ListMultiPartUploadParts => {
            let list = r.list_multipart_upload_parts_request.as_ref()?;
            let (volume, bucket) = (&list.volume, &list.bucket);
            listed(guard, volume, bucket, &list.key, &[Right::Read])
                .and_then(|()| in_bucket(guard, volume, bucket, &list.key, Right::Read))
        }
        Type::GetAcl => on_object(guard, &r.get_acl_request.as_ref()?.obj, Right::ReadAcl),
        Type::GetS3Secret => on_secret(guard, &r.get_s3_secret_request.as_ref()?.kerberos_id),
        Type::ListOpenFiles => guard.require_admin("list open files."),
        _ => return None,
    })
}

fn on_key(guard: &Guard<'_>, args: &KeyArgs, right: Right) -> Result<(), OmError> {
    in_bucket(guard, &args.volume_name, &args.bucket_name, &args.key_name, right)
}

fn in_bucket(
    guard: &Guard<'_>,
    volume: &str,
    bucket: &str,
    key: &str,
    right: Right,
) -> Result<(), OmError> {
    let (volume, bucket) = guard.resolve(volume, bucket)?;
    guard.require(Target::key(&volume, &bucket, key), right)
}

/// A key's writer goes on writing it.
fn in_session(guard: &Guard<'_>, args: &KeyArgs, client_id: u64) -> Result<(), OmError> {
    let session = format!("{}/{}", args.key_name, client_id as i64);
    in_bucket(guard, &args.volume_name, &args.bucket_name, &session, Right::Write)
}

/// A look at a path, of which the bucket itself is the shortest.
fn look(guard: &Guard<'_>, args: &KeyArgs) -> Result<(), OmError> {
    match args.key_name.trim_matches('/').is_empty() {
        true => listed(guard, &args.volume_name, &args.bucket_name, "", &[Right::Read]),
        false => on_key(guard, args, Right::Read),
    }
}

/// A list of a bucket's content.
fn listed(
    guard: &Guard<'_>,
    volume: &str,
    bucket: &str,
    prefix: &str,
    rights: &[Right],
) -> Result<(), OmError> {
    let (volume, bucket) = guard.resolve(volume, bucket)?;
    let target = Target { key: Some(prefix), ..Target::bucket(&volume, &bucket) };
    rights.iter().try_for_each(|right| guard.require(target, *right))
}

fn on_object(guard: &Guard<'_>, obj: &OzoneObj, right: Right) -> Result<(), OmError> {
    match Path::of(obj)? {
        Path::Volume { volume } => guard.require(Target::volume(volume), right),
        Path::Bucket { volume, bucket } => guard.require(Target::bucket(volume, bucket), right),
        Path::Key { volume, bucket, key } => {
            let (volume, bucket) = guard.resolve(volume, bucket)?;
            let target = match ObjectType::try_from(obj.res_type) {
                Ok(ObjectType::Prefix) => Target::prefix(&volume, &bucket, key),
                _ => Target::key(&volume, &bucket, key),
            };
            guard.require(target, right)
        }
    }
}

/// Owner and administrators change a bucket's properties, whatever its ACLs say.
fn set_bucket(guard: &Guard<'_>, set: &SetBucketPropertyRequest) -> Verdict {
    let args = set.bucket_args.as_ref()?;
    let (volume, bucket) = (&args.volume_name, &args.bucket_name);
    if args.owner_name.is_some() {
        return Some(guard.require(Target::bucket(volume, bucket), Right::WriteAcl));
    }
    Some(find::find(guard.view, volume, bucket).and_then(|found| {
        if guard.is_admin() || found.owner.as_deref() == Some(guard.user) {
            return Ok(());
        }
        Err(OmError::PermissionDenied(
            "Bucket properties are allowed to changed by Admin and Owner".to_owned(),
        ))
    }))
}

/// A secret is its user's own.
fn on_secret(guard: &Guard<'_>, access_id: &str) -> Result<(), OmError> {
    if access_id == guard.user || guard.is_s3_admin() {
        return Ok(());
    }
    Err(OmError::UserMismatch(format!(
        "Requested accessId '{access_id}' doesn't belong to current user '{}', nor does current \
         user have Ozone S3 or tenant admin privilege",
        guard.user
    )))
}

/// Marks are the leader's: what a client says there counts for nothing.
fn clear_marks(r: &mut OmRequest) {
    if let Some(delete) = r.delete_keys_request.as_mut().and_then(|d| d.delete_keys.as_mut()) {
        delete.refused.clear();
    }
    if let Some(rename) = &mut r.rename_keys_request {
        rename.rename_keys_args.refused.clear();
    }
}

fn mark_refused(guard: &Guard<'_>, r: &mut OmRequest) -> Result<(), OmError> {
    if let Some(delete) = r.delete_keys_request.as_mut().and_then(|d| d.delete_keys.as_mut()) {
        let (volume, bucket) = guard.resolve(&delete.volume_name, &delete.bucket_name)?;
        let may = |key: &str| guard.require(Target::key(&volume, &bucket, key), Right::Delete);
        (delete.keys, delete.refused) =
            std::mem::take(&mut delete.keys).into_iter().partition(|key| !refused(may(key)));
    }
    if let Some(rename) = &mut r.rename_keys_request {
        let args = &mut rename.rename_keys_args;
        let (volume, bucket) = guard.resolve(&args.volume_name, &args.bucket_name)?;
        let may = |from: &str, to: &str| {
            guard.require(Target::key(&volume, &bucket, from), Right::Delete)?;
            guard.require(Target::key(&volume, &bucket, to), Right::Create)
        };
        (args.rename_keys_map, args.refused) = std::mem::take(&mut args.rename_keys_map)
            .into_iter()
            .partition(|pair| !refused(may(&pair.from_key_name, &pair.to_key_name)));
    }
    Ok(())
}

/// Whether a key may not be touched. Whatever else is wrong is for the command to find.
fn refused(verdict: Result<(), OmError>) -> bool {
    matches!(verdict, Err(OmError::PermissionDenied(_)))
}
