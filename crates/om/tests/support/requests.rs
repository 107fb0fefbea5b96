//! Requests as clients make them.

#![allow(dead_code)]

use proto::hdds;
use proto::ozone::*;

pub fn request(command: Type) -> OmRequest {
    OmRequest {
        cmd_type: command as i32,
        trace_id: Some(String::new()),
        client_id: "client-1".to_owned(),
        user_info: Some(Box::new(UserInfo {
            user_name: Some("ann".to_owned()),
            ..UserInfo::default()
        })),
        version: Some(3),
        ..OmRequest::default()
    }
}

pub fn info_volume(volume: &str) -> OmRequest {
    let info = InfoVolumeRequest { volume_name: volume.into() };
    OmRequest { info_volume_request: Some(Box::new(info)), ..request(Type::InfoVolume) }
}

pub fn create_volume(volume: &str) -> OmRequest {
    let volume_info = VolumeInfo {
        admin_name: "ann".to_owned(),
        owner_name: "ann".to_owned(),
        volume: volume.to_owned(),
        ..VolumeInfo::default()
    };
    OmRequest {
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info })),
        ..request(Type::CreateVolume)
    }
}

pub fn create_bucket(volume: &str, bucket: &str) -> OmRequest {
    let bucket_info = BucketInfo {
        volume_name: volume.to_owned(),
        bucket_name: bucket.to_owned(),
        storage_type: hdds::StorageTypeProto::Disk as i32,
        bucket_layout: Some(BucketLayoutProto::ObjectStore as i32),
        ..BucketInfo::default()
    };
    OmRequest {
        create_bucket_request: Some(Box::new(CreateBucketRequest { bucket_info })),
        ..request(Type::CreateBucket)
    }
}

pub fn key_args(volume: &str, bucket: &str, key: &str, size: u64) -> KeyArgs {
    KeyArgs {
        volume_name: volume.to_owned(),
        bucket_name: bucket.to_owned(),
        key_name: key.to_owned(),
        data_size: Some(size),
        r#type: Some(hdds::ReplicationType::Ratis as i32),
        factor: Some(hdds::ReplicationFactor::Three as i32),
        ..KeyArgs::default()
    }
}

pub fn create_key(args: KeyArgs) -> OmRequest {
    OmRequest {
        create_key_request: Some(Box::new(CreateKeyRequest { key_args: args, client_id: None })),
        ..request(Type::CreateKey)
    }
}

pub fn commit_key(args: KeyArgs, session: u64) -> OmRequest {
    OmRequest {
        commit_key_request: Some(Box::new(CommitKeyRequest {
            key_args: args,
            client_id: session,
            hsync: Some(false),
            recovery: Some(false),
        })),
        ..request(Type::CommitKey)
    }
}

pub fn allocate_block(
    args: KeyArgs,
    session: u64,
    exclude: Option<hdds::ExcludeListProto>,
) -> OmRequest {
    OmRequest {
        allocate_block_request: Some(Box::new(AllocateBlockRequest {
            key_args: args,
            client_id: session,
            exclude_list: exclude,
            key_location: None,
        })),
        ..request(Type::AllocateBlock)
    }
}

pub fn get_key_info(args: KeyArgs) -> OmRequest {
    OmRequest {
        get_key_info_request: Some(Box::new(GetKeyInfoRequest {
            key_args: args,
            assume_s3_context: Some(false),
        })),
        ..request(Type::GetKeyInfo)
    }
}

pub fn info_bucket(volume: &str, bucket: &str) -> OmRequest {
    OmRequest {
        info_bucket_request: Some(Box::new(InfoBucketRequest {
            volume_name: volume.to_owned(),
            bucket_name: bucket.to_owned(),
        })),
        ..request(Type::InfoBucket)
    }
}

pub fn delete_key(volume: &str, bucket: &str, key: &str) -> OmRequest {
    OmRequest {
        delete_key_request: Some(Box::new(DeleteKeyRequest {
            key_args: KeyArgs { data_size: None, ..key_args(volume, bucket, key, 0) },
        })),
        ..request(Type::DeleteKey)
    }
}

pub fn rename_key(volume: &str, bucket: &str, from: &str, to: &str) -> OmRequest {
    OmRequest {
        rename_key_request: Some(Box::new(RenameKeyRequest {
            key_args: key_args(volume, bucket, from, 0),
            to_key_name: to.to_owned(),
        })),
        ..request(Type::RenameKey)
    }
}

pub fn list_keys(volume: &str, bucket: &str, start: &str, prefix: &str, count: i32) -> OmRequest {
    OmRequest {
        list_keys_request: Some(Box::new(ListKeysRequest {
            volume_name: volume.to_owned(),
            bucket_name: bucket.to_owned(),
            start_key: Some(start.to_owned()),
            prefix: Some(prefix.to_owned()),
            count: Some(count),
        })),
        ..request(Type::ListKeysLight)
    }
}

pub fn get_s3_secret(access_id: &str) -> OmRequest {
    OmRequest {
        get_s3_secret_request: Some(Box::new(GetS3SecretRequest {
            kerberos_id: access_id.to_owned(),
            create_if_not_exist: Some(false),
        })),
        ..request(Type::GetS3Secret)
    }
}

pub fn list_parts(volume: &str, bucket: &str, key: &str, upload: &str) -> OmRequest {
    OmRequest {
        list_multipart_upload_parts_request: Some(Box::new(MultipartUploadListPartsRequest {
            volume: volume.to_owned(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            upload_id: upload.to_owned(),
            part_numbermarker: Some(0),
            max_parts: Some(100),
        })),
        ..request(Type::ListMultiPartUploadParts)
    }
}
