//! Values of `om.db`.

use proto::hdds::{BlockId, ContainerBlockId, EcReplicationConfig, Uuid};
use proto::ozone::{
    BucketEncryptionInfoProto, BucketInfo, BucketLayoutProto, DirectoryInfo,
    ExtendedUserAccessIdInfo, FileChecksumProto, FileEncryptionInfoProto, KeyInfo, KeyLocation,
    KeyLocationList, MultipartKeyInfo, MultipartPartInfo, OzoneAclInfo, PartKeyInfo,
    PersistedUserVolumeInfo, PrefixInfo, RepeatedKeyInfo, S3Secret, SnapshotInfo,
    SnapshotStatusProto, TenantState, TenantUserPrincipalInfo, VolumeInfo,
};
use serde_json::{Value, json};

use super::{add, hex, id, map, replication};
use crate::render;

/// One ACL entry. Ozone's tool omits the rights; scripts that read it ignore the additional field.
fn acl(entry: &OzoneAclInfo) -> Value {
    let mut shown = render::acl::acl(entry);
    if let Some(fields) = shown.as_object_mut() {
        fields.shift_remove("aclSet");
    }
    shown
}

fn acls(entries: &[OzoneAclInfo]) -> Value {
    entries.iter().map(acl).collect()
}

pub(super) fn volume(volume: &VolumeInfo) -> Value {
    json!({
        "metadata": map(&volume.metadata),
        "objectID": id(volume.object_id),
        "updateID": id(volume.update_id),
        "adminName": volume.admin_name,
        "ownerName": volume.owner_name,
        "volume": volume.volume,
        "creationTime": volume.creation_time(),
        "modificationTime": volume.modification_time(),
        "quotaInBytes": id(volume.quota_in_bytes),
        "quotaInNamespace": volume.quota_in_namespace(),
        "usedNamespace": volume.used_namespace(),
        "acls": acls(&volume.volume_acls),
        "refCount": volume.ref_count(),
    })
}

pub(super) fn bucket(bucket: &BucketInfo) -> Value {
    let storage = proto::hdds::StorageTypeProto::try_from(bucket.storage_type).ok();
    let layout = match bucket.bucket_layout() {
        BucketLayoutProto::FileSystemOptimized => "FILE_SYSTEM_OPTIMIZED",
        BucketLayoutProto::ObjectStore => "OBJECT_STORE",
        BucketLayoutProto::Legacy => "LEGACY",
    };
    let mut shown = json!({
        "metadata": map(&bucket.metadata),
        "objectID": id(bucket.object_id),
        "updateID": id(bucket.update_id),
        "volumeName": bucket.volume_name,
        "bucketName": bucket.bucket_name,
        "acls": acls(&bucket.acls),
        "isVersionEnabled": bucket.is_version_enabled,
        "storageType": storage.map_or("UNKNOWN", |s| s.as_str_name()),
        "creationTime": bucket.creation_time(),
        "modificationTime": bucket.modification_time(),
    });
    let fields = &mut shown;
    add(fields, "bekInfo", bucket.beinfo.as_ref().map(|info| json!({ "keyName": info.key_name })));
    let default = bucket.default_replication_config.as_ref().map(|config| {
        let ec = config.ec_replication_config.as_ref();
        json!({ "replicationConfig": replication(config.r#type, config.factor, ec) })
    });
    add(fields, "defaultReplicationConfig", default);
    add(fields, "sourceVolume", bucket.source_volume.as_deref().map(Value::from));
    add(fields, "sourceBucket", bucket.source_bucket.as_deref().map(Value::from));
    add(fields, "usedBytes", Some(id(bucket.used_bytes)));
    add(fields, "usedNamespace", Some(id(bucket.used_namespace)));
    add(fields, "quotaInBytes", Some(bucket.quota_in_bytes().into()));
    add(fields, "quotaInNamespace", Some(bucket.quota_in_namespace().into()));
    add(fields, "snapshotUsedBytes", Some(id(bucket.snapshot_used_bytes)));
    add(fields, "snapshotUsedNamespace", Some(id(bucket.snapshot_used_namespace)));
    add(fields, "bucketLayout", bucket.bucket_layout.map(|_| layout.into()));
    add(fields, "owner", bucket.owner.as_deref().map(Value::from));
    shown
}

pub(super) fn user_volumes(volumes: &PersistedUserVolumeInfo) -> Value {
    json!({
        "volumeNames": volumes.volume_names,
        "objectID": id(volumes.object_id),
        "updateID": id(volumes.update_id),
    })
}

pub(super) fn key(key: &KeyInfo) -> Value {
    let mut shown = json!({
        "metadata": map(&key.metadata),
        "objectID": id(key.object_id),
        "updateID": id(key.update_id),
        "parentObjectID": id(key.parent_id),
        "volumeName": key.volume_name,
        "bucketName": key.bucket_name,
        "keyName": key.key_name,
        "dataSize": id(Some(key.data_size)),
        "keyLocationVersions": key.key_location_list.iter().map(version).collect::<Vec<_>>(),
        "creationTime": key.creation_time,
        "modificationTime": key.modification_time,
        "replicationConfig":
            replication(key.r#type, key.factor, key.ec_replication_config.as_ref()),
    });
    let fields = &mut shown;
    add(fields, "encInfo", key.file_encryption_info.as_deref().map(encryption));
    add(fields, "fileChecksum", key.file_checksum.as_deref().map(checksum));
    add(fields, "isFile", Some(key.is_file().into()));
    let name = key.key_name.trim_end_matches('/');
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    add(fields, "fileName", Some(name.into()));
    add(fields, "ownerName", key.owner_name.as_deref().map(Value::from));
    add(fields, "acls", Some(acls(&key.acls)));
    add(fields, "tags", Some(map(&key.tags)));
    let generation = key.expected_data_generation;
    add(fields, "expectedDataGeneration", generation.map(|g| id(Some(g))));
    shown
}

fn version(list: &KeyLocationList) -> Value {
    let version = list.version();
    let blocks: Vec<Value> = list.key_locations.iter().map(location).collect();
    json!({
        "version": version,
        "locationVersionMap": { version.to_string(): blocks },
        "isMultipartKey": list.is_multipart_key(),
    })
}

fn location(location: &KeyLocation) -> Value {
    let block = &location.block_id;
    json!({
        "blockID": {
            "containerBlockID": {
                "containerID": block.container_block_id.container_id,
                "localID": block.container_block_id.local_id,
            },
            "blockCommitSequenceId": id(block.block_commit_sequence_id),
        },
        "length": location.length,
        "offset": location.offset,
        "createVersion": location.create_version(),
        "partNumber": location.part_number(),
        "underConstruction": false,
    })
}

fn encryption(info: &FileEncryptionInfoProto) -> Value {
    // The data key itself is omitted.
    json!({ "keyName": info.key_name, "ezKeyVersionName": info.ez_key_version_name })
}

fn checksum(sum: &FileChecksumProto) -> Value {
    match (&sum.composite_crc, &sum.md5_crc) {
        (Some(crc), _) => json!({ "crc": crc.crc, "bytesPerCrc": crc.bytes_per_crc }),
        (None, Some(md5)) => json!({ "md5": hex(&md5.md5), "bytesPerCRC": md5.bytes_per_crc }),
        (None, None) => json!({}),
    }
}

pub(super) fn directory(directory: &DirectoryInfo) -> Value {
    let mut shown = json!({
        "metadata": map(&directory.metadata),
        "objectID": id(Some(directory.object_id)),
        "updateID": id(Some(directory.update_id)),
        "parentObjectID": id(Some(directory.parent_id)),
        "name": directory.name,
    });
    add(&mut shown, "owner", directory.owner_name.as_deref().map(Value::from));
    add(&mut shown, "creationTime", Some(directory.creation_time.into()));
    add(&mut shown, "modificationTime", Some(directory.modification_time.into()));
    add(&mut shown, "acls", Some(acls(&directory.acls)));
    shown
}

pub(super) fn deleted_keys(keys: &RepeatedKeyInfo) -> Value {
    json!({
        "omKeyInfoList": keys.key_info.iter().map(key).collect::<Vec<_>>(),
        "bucketId": id(keys.bucket_id),
    })
}

pub(super) fn upload(upload: &MultipartKeyInfo) -> Value {
    let mut shown = json!({
        "metadata": {},
        "objectID": id(upload.object_id),
        "updateID": id(upload.update_id),
        "uploadID": upload.upload_id,
    });
    let fields = &mut shown;
    for (name, value) in [
        ("volumeName", &upload.volume_name),
        ("bucketName", &upload.bucket_name),
        ("keyName", &upload.key_name),
        ("ownerName", &upload.owner_name),
    ] {
        add(fields, name, value.as_deref().map(Value::from));
    }
    add(fields, "acls", Some(acls(&upload.acls)));
    add(fields, "creationTime", Some(upload.creation_time.into()));
    let ec = upload.ec_replication_config.as_ref();
    add(fields, "replicationConfig", Some(replication(upload.r#type, upload.factor, ec)));
    let parts: Vec<Value> = upload.part_key_info_list.iter().map(inline_part).collect();
    add(fields, "partKeyInfoMap", Some(json!({ "sorted": parts })));
    add(fields, "parentID", Some(id(upload.parent_id)));
    add(fields, "schemaVersion", Some(upload.schema_version().into()));
    shown
}

fn inline_part(part: &PartKeyInfo) -> Value {
    json!({
        "partName": part.part_name,
        "partNumber": part.part_number,
        "partKeyInfo": key(&part.part_key_info),
    })
}

pub(super) fn part(part: &MultipartPartInfo) -> Value {
    let mut shown = json!({
        "partName": part.part_name(),
        "partNumber": part.part_number(),
        "dataSize": part.data_size(),
        "modificationTime": part.modification_time(),
        "objectID": id(part.object_id),
        "updateID": id(part.update_id),
        "keyLocationInfos": part.key_location_list.iter().map(version).collect::<Vec<_>>(),
    });
    add(&mut shown, "eTag", part.e_tag.as_deref().map(Value::from));
    add(&mut shown, "encInfo", part.file_encryption_info.as_deref().map(encryption));
    add(&mut shown, "fileChecksum", part.file_checksum.as_deref().map(checksum));
    shown
}

pub(super) fn s3_secret(secret: &S3Secret) -> Value {
    json!({
        "kerberosID": secret.kerberos_id,
        "awsSecret": secret.aws_secret,
        "isDeleted": false,
        "transactionLogIndex": 0,
    })
}

pub(super) fn prefix(prefix: &PrefixInfo) -> Value {
    json!({
        "metadata": map(&prefix.metadata),
        "objectID": id(prefix.object_id),
        "updateID": id(prefix.update_id),
        "name": prefix.name,
        "acls": acls(&prefix.acls),
    })
}

fn uuid(id: &Uuid) -> Value {
    let (high, low) = (id.most_sig_bits.cast_unsigned(), id.least_sig_bits.cast_unsigned());
    uuid::Uuid::from_u64_pair(high, low).to_string().into()
}

pub(super) fn snapshot(snapshot: &SnapshotInfo) -> Value {
    let mut shown = json!({});
    let fields = &mut shown;
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    add(fields, "snapshotId", snapshot.snapshot_id.as_ref().map(uuid));
    add(fields, "name", text(&snapshot.name));
    add(fields, "volumeName", text(&snapshot.volume_name));
    add(fields, "bucketName", text(&snapshot.bucket_name));
    let status = snapshot.snapshot_status.and_then(|s| SnapshotStatusProto::try_from(s).ok());
    add(fields, "snapshotStatus", status.map(|s| s.as_str_name().into()));
    add(fields, "creationTime", Some(snapshot.creation_time().into()));
    add(fields, "deletionTime", Some(id(snapshot.deletion_time)));
    let (path, global) =
        (&snapshot.path_previous_snapshot_id, &snapshot.global_previous_snapshot_id);
    add(fields, "pathPreviousSnapshotId", path.as_ref().map(uuid));
    add(fields, "globalPreviousSnapshotId", global.as_ref().map(uuid));
    add(fields, "snapshotPath", text(&snapshot.snapshot_path));
    add(fields, "deepClean", Some(snapshot.deep_clean().into()));
    add(fields, "sstFiltered", Some(snapshot.sst_filtered().into()));
    for (name, number) in [
        ("referencedSize", snapshot.referenced_size),
        ("referencedReplicatedSize", snapshot.referenced_replicated_size),
        ("exclusiveSize", snapshot.exclusive_size),
        ("exclusiveReplicatedSize", snapshot.exclusive_replicated_size),
    ] {
        add(fields, name, Some(id(number)));
    }
    add(fields, "deepCleanedDeletedDir", Some(snapshot.deep_cleaned_deleted_dir().into()));
    for (name, info) in [
        ("createTransactionInfo", &snapshot.create_transaction_info),
        ("lastTransactionInfo", &snapshot.last_transaction_info),
    ] {
        add(fields, name, info.as_ref().map(|bytes| super::text(bytes).into()));
    }
    shown
}

pub(super) fn tenant(tenant: &TenantState) -> Value {
    json!({
        "tenantId": tenant.tenant_id(),
        "bucketNamespaceName": tenant.bucket_namespace_name(),
        "userRoleName": tenant.user_role_name(),
        "adminRoleName": tenant.admin_role_name(),
        "bucketNamespacePolicyName": tenant.bucket_namespace_policy_name(),
        "bucketPolicyName": tenant.bucket_policy_name(),
    })
}

pub(super) fn tenant_access_id(info: &ExtendedUserAccessIdInfo) -> Value {
    json!({
        "tenantId": info.tenant_id(),
        "userPrincipal": info.user_principal(),
        "isAdmin": info.is_admin(),
        "isDelegatedAdmin": info.is_delegated_admin(),
    })
}

pub(super) fn tenant_principal(info: &TenantUserPrincipalInfo) -> Value {
    json!({ "accessIds": info.access_ids })
}

fn example_acls() -> Vec<OzoneAclInfo> {
    vec![OzoneAclInfo { rights: vec![1].into(), ..OzoneAclInfo::default() }]
}

fn example_ec() -> Option<EcReplicationConfig> {
    // The common case is not erasure-coded, and has other fields.
    None
}

pub(super) fn example_volume() -> VolumeInfo {
    VolumeInfo { volume_acls: example_acls(), ..VolumeInfo::default() }
}

pub(super) fn example_bucket() -> BucketInfo {
    BucketInfo {
        acls: example_acls(),
        beinfo: Some(BucketEncryptionInfoProto::default()),
        default_replication_config: Some(proto::hdds::DefaultReplicationConfig::default()),
        source_volume: Some(String::new()),
        source_bucket: Some(String::new()),
        bucket_layout: Some(BucketLayoutProto::ObjectStore as i32),
        owner: Some(String::new()),
        ..BucketInfo::default()
    }
}

fn example_versions() -> KeyLocationList {
    let block_id = BlockId {
        container_block_id: ContainerBlockId::default(),
        block_commit_sequence_id: Some(0),
    };
    let location = KeyLocation { block_id, ..KeyLocation::default() };
    KeyLocationList { key_locations: vec![location], ..KeyLocationList::default() }
}

pub(super) fn example_key() -> KeyInfo {
    KeyInfo {
        key_location_list: vec![example_versions()],
        file_encryption_info: Some(Box::default()),
        file_checksum: Some(Box::new(FileChecksumProto {
            composite_crc: Some(Default::default()),
            ..FileChecksumProto::default()
        })),
        owner_name: Some(String::new()),
        acls: example_acls(),
        expected_data_generation: Some(0),
        ec_replication_config: example_ec(),
        ..KeyInfo::default()
    }
}

pub(super) fn example_directory() -> DirectoryInfo {
    DirectoryInfo {
        acls: example_acls(),
        owner_name: Some(String::new()),
        ..DirectoryInfo::default()
    }
}

pub(super) fn example_upload() -> MultipartKeyInfo {
    let name = || Some(String::new());
    MultipartKeyInfo {
        volume_name: name(),
        bucket_name: name(),
        key_name: name(),
        owner_name: name(),
        acls: example_acls(),
        part_key_info_list: vec![PartKeyInfo {
            part_key_info: example_key(),
            ..PartKeyInfo::default()
        }],
        ..MultipartKeyInfo::default()
    }
}

pub(super) fn example_part() -> MultipartPartInfo {
    MultipartPartInfo {
        e_tag: Some(String::new()),
        key_location_list: Some(example_versions()),
        ..MultipartPartInfo::default()
    }
}

pub(super) fn example_prefix() -> PrefixInfo {
    PrefixInfo { acls: example_acls(), ..PrefixInfo::default() }
}

pub(super) fn example_snapshot() -> SnapshotInfo {
    let (id, name) = (|| Some(Uuid::default()), || Some(String::new()));
    SnapshotInfo {
        snapshot_id: id(),
        name: name(),
        volume_name: name(),
        bucket_name: name(),
        snapshot_status: Some(SnapshotStatusProto::SnapshotActive as i32),
        path_previous_snapshot_id: id(),
        global_previous_snapshot_id: id(),
        snapshot_path: name(),
        create_transaction_info: Some(Default::default()),
        last_transaction_info: Some(Default::default()),
        ..SnapshotInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds::KeyValue;

    use super::*;

    /// The output of Ozone 2.2.0's own tool for such a row, without rights.
    #[test]
    fn a_key_looks_like_ozones() {
        let info = KeyInfo {
            volume_name: "vol1".into(),
            bucket_name: "fso".into(),
            key_name: "f1".into(),
            data_size: 6,
            r#type: proto::hdds::ReplicationType::Ratis as i32,
            factor: Some(proto::hdds::ReplicationFactor::One as i32),
            object_id: Some((-9223372036854771709_i64).cast_unsigned()),
            update_id: Some(17),
            parent_id: Some((-9223372036854771710_i64).cast_unsigned()),
            creation_time: 1795498309811,
            modification_time: 1795498309881,
            key_location_list: vec![example_versions()],
            is_file: Some(true),
            owner_name: Some("root".into()),
            metadata: vec![KeyValue { key: "a".into(), value: Some("b".into()) }],
            ..KeyInfo::default()
        };
        let expected = json!({
            "metadata": { "a": "b" },
            "objectID": -9223372036854771709_i64,
            "updateID": 17,
            "parentObjectID": -9223372036854771710_i64,
            "volumeName": "vol1",
            "bucketName": "fso",
            "keyName": "f1",
            "dataSize": 6,
            "keyLocationVersions": [{
                "version": 0,
                "locationVersionMap": { "0": [{
                    "blockID": {
                        "containerBlockID": { "containerID": 0, "localID": 0 },
                        "blockCommitSequenceId": 0,
                    },
                    "length": 0, "offset": 0, "createVersion": 0, "partNumber": -1,
                    "underConstruction": false,
                }] },
                "isMultipartKey": false,
            }],
            "creationTime": 1795498309811_i64,
            "modificationTime": 1795498309881_i64,
            "replicationConfig": { "replicationFactor": "ONE", "replicationType": "RATIS" },
            "isFile": true,
            "fileName": "f1",
            "ownerName": "root",
            "acls": [],
            "tags": {},
        });
        assert_eq!(key(&info).to_string(), expected.to_string(), "in this order");
    }
}
