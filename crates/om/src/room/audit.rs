//! What the audit log says of a request: Ozone's name of the operation and its parameters, made
//! from the request before it is consumed, and only when the log is kept.

use std::net::IpAddr;

use proto::hdds::ReplicationFactor;
use proto::ozone::{KeyArgs, OmRequest, Type};
use service::{AuditEvent, AuditLog};

/// Parameters of an operation.
type Params = Vec<(&'static str, String)>;

/// A line to be.
pub(super) struct Note {
    op: &'static str,
    params: Params,
}

impl Note {
    /// Writes the line.
    pub(super) fn log(&self, log: &AuditLog, user: &str, ip: IpAddr, failure: Option<&str>) {
        let params: Vec<(&str, &str)> = self.params.iter().map(|(n, v)| (*n, v.as_str())).collect();
        log.log(&AuditEvent {
            user,
            ip: &ip.to_string(),
            op: self.op,
            params: &params,
            result: failure.map_or(Ok(()), Err),
        });
    }
}

/// What is to be said of `request`.
pub(super) fn note(request: &OmRequest) -> Note {
    let command = Type::try_from(request.cmd_type).unwrap_or(Type::UnknownCommand);
    Note { op: operation(command), params: params(command, request).unwrap_or_default() }
}

/// Ozone's name (`OMAction`) of a command.
fn operation(command: Type) -> &'static str {
    match command {
        Type::CreateVolume => "CREATE_VOLUME",
        Type::SetVolumeProperty => "UPDATE_VOLUME",
        Type::DeleteVolume => "DELETE_VOLUME",
        Type::InfoVolume => "READ_VOLUME",
        Type::ListVolume => "LIST_VOLUMES",
        Type::CreateBucket => "CREATE_BUCKET",
        Type::SetBucketProperty => "UPDATE_BUCKET",
        Type::DeleteBucket => "DELETE_BUCKET",
        Type::InfoBucket => "READ_BUCKET",
        Type::ListBuckets => "LIST_BUCKETS",
        Type::CreateKey => "ALLOCATE_KEY",
        Type::AllocateBlock => "ALLOCATE_BLOCK",
        Type::CommitKey => "COMMIT_KEY",
        Type::CreateFile => "CREATE_FILE",
        Type::CreateDirectory => "CREATE_DIRECTORY",
        Type::GetFileStatus => "GET_FILE_STATUS",
        Type::LookupFile => "LOOKUP_FILE",
        Type::ListStatus | Type::ListStatusLight => "LIST_STATUS",
        Type::PurgeDirectories => "PURGE_DIRECTORIES",
        Type::RenameKey => "RENAME_KEY",
        Type::RenameKeys => "RENAME_KEYS",
        Type::DeleteKey => "DELETE_KEY",
        Type::DeleteKeys => "DELETE_KEYS",
        Type::PurgeKeys => "PURGE_KEYS",
        Type::DeleteOpenKeys => "DELETE_OPEN_KEY",
        Type::SetTimes => "SET_TIMES",
        Type::LookupKey => "READ_KEY",
        Type::GetKeyInfo => "GET_KEY_INFO",
        Type::ListKeys | Type::ListKeysLight => "LIST_KEYS",
        Type::PutObjectTagging => "PUT_OBJECT_TAGGING",
        Type::GetObjectTagging => "GET_OBJECT_TAGGING",
        Type::DeleteObjectTagging => "DELETE_OBJECT_TAGGING",
        Type::InitiateMultiPartUpload => "INITIATE_MULTIPART_UPLOAD",
        Type::CommitMultiPartUpload => "COMMIT_MULTIPART_UPLOAD_PARTKEY",
        Type::CompleteMultiPartUpload => "COMPLETE_MULTIPART_UPLOAD",
        Type::AbortMultiPartUpload => "ABORT_MULTIPART_UPLOAD",
        Type::AbortExpiredMultiPartUploads => "ABORT_EXPIRED_MULTIPART_UPLOAD",
        Type::ListMultiPartUploadParts => "LIST_MULTIPART_UPLOAD_PARTS",
        Type::ListMultipartUploads => "LIST_MULTIPART_UPLOADS",
        Type::AddAcl => "ADD_ACL",
        Type::RemoveAcl => "REMOVE_ACL",
        Type::SetAcl => "SET_ACL",
        Type::GetAcl => "GET_ACL",
        Type::GetS3Secret => "GET_S3_SECRET",
        Type::SetS3Secret => "SET_S3_SECRET",
        Type::RevokeS3Secret => "REVOKE_S3_SECRET",
        Type::GetS3VolumeContext => "GET_S3_VOLUME_CONTEXT",
        Type::SetSafeMode => "SET_SAFEMODE",
        other => other.as_str_name(),
    }
}

fn params(command: Type, r: &OmRequest) -> Option<Params> {
    Some(match command {
        Type::CreateVolume => {
            let v = &r.create_volume_request.as_ref()?.volume_info;
            vec![
                ("admin", v.admin_name.clone()),
                ("owner", v.owner_name.clone()),
                ("volume", v.volume.clone()),
            ]
        }
        Type::SetVolumeProperty => {
            let v = r.set_volume_property_request.as_ref()?;
            let mut params = vec![("volume", v.volume_name.clone())];
            params.extend(v.owner_name.clone().map(|o| ("owner", o)));
            params.extend(v.quota_in_bytes.map(|q| ("quotaInBytes", (q as i64).to_string())));
            params
                .extend(v.quota_in_namespace.map(|q| ("quotaInNamespace", (q as i64).to_string())));
            params
        }
        Type::DeleteVolume => {
            vec![("volume", r.delete_volume_request.as_ref()?.volume_name.clone())]
        }
        Type::InfoVolume => vec![("volume", r.info_volume_request.as_ref()?.volume_name.clone())],
        Type::CreateBucket => {
            let b = &r.create_bucket_request.as_ref()?.bucket_info;
            bucket(&b.volume_name, &b.bucket_name)
        }
        Type::SetBucketProperty => {
            let b = r.set_bucket_property_request.as_ref()?.bucket_args.as_ref()?;
            bucket(&b.volume_name, &b.bucket_name)
        }
        Type::DeleteBucket => {
            let b = r.delete_bucket_request.as_ref()?;
            bucket(&b.volume_name, &b.bucket_name)
        }
        Type::InfoBucket => {
            let b = r.info_bucket_request.as_ref()?;
            bucket(&b.volume_name, &b.bucket_name)
        }
        Type::ListBuckets => vec![("volume", r.list_buckets_request.as_ref()?.volume_name.clone())],
        Type::ListKeys | Type::ListKeysLight => {
            let list = r.list_keys_request.as_ref()?;
            let mut params = bucket(&list.volume_name, &list.bucket_name);
            params.extend(list.prefix.clone().map(|p| ("prefix", p)));
            params
        }
        Type::RenameKey => {
            let rename = r.rename_key_request.as_ref()?;
            let mut params = key(&rename.key_args);
            params.push(("toKeyName", rename.to_key_name.clone()));
            params
        }
        Type::DeleteKeys => {
            let keys = r.delete_keys_request.as_ref()?.delete_keys.as_ref()?;
            let mut params = bucket(&keys.volume_name, &keys.bucket_name);
            params.push(("deletedKeysList", keys.keys.join(",")));
            params
        }
        Type::GetS3Secret => {
            vec![("S3GetSecretUser", r.get_s3_secret_request.as_ref()?.kerberos_id.clone())]
        }
        Type::SetS3Secret => {
            let access_id = r.set_s3_secret_request.as_ref()?.access_id.clone();
            vec![("accessId", access_id.unwrap_or_default())]
        }
        Type::RevokeS3Secret => {
            vec![("S3RevokeSecretUser", r.revoke_s3_secret_request.as_ref()?.kerberos_id.clone())]
        }
        Type::PurgeKeys => {
            let purge = r.purge_keys_request.as_ref()?;
            let count: usize = purge.deleted_keys.iter().map(|b| b.keys.len()).sum();
            vec![("keys", count.to_string())]
        }
        Type::PurgeDirectories => {
            let purge = r.purge_directories_request.as_ref()?;
            vec![("directories", purge.deleted_path.len().to_string())]
        }
        _ => key(key_args(command, r)?),
    })
}

fn key_args(command: Type, r: &OmRequest) -> Option<&KeyArgs> {
    Some(match command {
        Type::CreateKey => &r.create_key_request.as_ref()?.key_args,
        Type::AllocateBlock => &r.allocate_block_request.as_ref()?.key_args,
        Type::CommitKey => &r.commit_key_request.as_ref()?.key_args,
        Type::CreateFile => &r.create_file_request.as_ref()?.key_args,
        Type::CreateDirectory => &r.create_directory_request.as_ref()?.key_args,
        Type::GetFileStatus => &r.get_file_status_request.as_ref()?.key_args,
        Type::LookupFile => &r.lookup_file_request.as_ref()?.key_args,
        Type::ListStatus | Type::ListStatusLight => &r.list_status_request.as_ref()?.key_args,
        Type::DeleteKey => &r.delete_key_request.as_ref()?.key_args,
        Type::LookupKey => &r.lookup_key_request.as_ref()?.key_args,
        Type::GetKeyInfo => &r.get_key_info_request.as_ref()?.key_args,
        Type::SetTimes => &r.set_times_request.as_ref()?.key_args,
        Type::PutObjectTagging => &r.put_object_tagging_request.as_ref()?.key_args,
        Type::GetObjectTagging => &r.get_object_tagging_request.as_ref()?.key_args,
        Type::DeleteObjectTagging => &r.delete_object_tagging_request.as_ref()?.key_args,
        Type::InitiateMultiPartUpload => &r.initiate_multi_part_upload_request.as_ref()?.key_args,
        Type::CommitMultiPartUpload => &r.commit_multi_part_upload_request.as_ref()?.key_args,
        Type::CompleteMultiPartUpload => &r.complete_multi_part_upload_request.as_ref()?.key_args,
        Type::AbortMultiPartUpload => &r.abort_multi_part_upload_request.as_ref()?.key_args,
        _ => return None,
    })
}

fn bucket(volume: &str, bucket: &str) -> Params {
    vec![("volume", volume.to_owned()), ("bucket", bucket.to_owned())]
}

fn key(args: &KeyArgs) -> Params {
    let mut params = Vec::with_capacity(6);
    params.push(("volume", args.volume_name.clone()));
    params.push(("bucket", args.bucket_name.clone()));
    params.push(("key", args.key_name.clone()));
    params.push(("dataSize", args.data_size.unwrap_or(0).to_string()));
    if let Some(kind) = args.r#type.and_then(|t| proto::hdds::ReplicationType::try_from(t).ok())
        && kind != proto::hdds::ReplicationType::None
    {
        let factor = args.factor.and_then(|f| ReplicationFactor::try_from(f).ok());
        let factor = factor.map_or("", |f| f.as_str_name());
        params.push(("replicationConfig", [kind.as_str_name(), factor].join("/")));
    }
    if let Some(upload) = &args.multipart_upload_id {
        params.push(("uploadID", upload.clone()));
    }
    params
}

#[cfg(test)]
mod tests {
    use proto::ozone::CommitKeyRequest;

    use super::*;

    #[test]
    fn a_key_operation_names_volume_bucket_and_key() {
        let key_args = KeyArgs {
            volume_name: "v".to_owned(),
            bucket_name: "b".to_owned(),
            key_name: "d/k".to_owned(),
            data_size: Some(7),
            r#type: Some(1),
            factor: Some(3),
            ..KeyArgs::default()
        };
        let commit = CommitKeyRequest { key_args, ..CommitKeyRequest::default() };
        let request = OmRequest {
            cmd_type: Type::CommitKey as i32,
            commit_key_request: Some(Box::new(commit)),
            ..OmRequest::default()
        };
        let note = note(&request);
        assert_eq!(note.op, "COMMIT_KEY");
        let expected = [
            ("volume", "v"),
            ("bucket", "b"),
            ("key", "d/k"),
            ("dataSize", "7"),
            ("replicationConfig", "RATIS/THREE"),
        ];
        let found: Vec<(&str, &str)> = note.params.iter().map(|(n, v)| (*n, v.as_str())).collect();
        assert_eq!(found, expected);
    }
}
