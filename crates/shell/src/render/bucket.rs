//! Buckets.

use proto::hdds::StorageTypeProto;
use proto::ozone::BucketInfo;
use serde_json::{Value, json};

use super::{pairs, quota, replication, time::millis};

/// A bucket.
pub(crate) fn bucket(b: &BucketInfo) -> Value {
    let storage = StorageTypeProto::try_from(b.storage_type).map_or("DISK", |s| s.as_str_name());
    let link = b.source_bucket.as_ref().is_some_and(|s| !s.is_empty());
    let mut value = json!({
        "metadata": pairs(&b.metadata),
        "volumeName": b.volume_name,
        "name": b.bucket_name,
        "storageType": storage,
        "versioning": b.is_version_enabled,
        "listCacheSize": 1000,
        "usedBytes": b.used_bytes(),
        "usedNamespace": b.used_namespace(),
        "creationTime": millis(b.creation_time()),
        "modificationTime": millis(b.modification_time()),
        "sourcePathExist": true,
        "quotaInBytes": quota(b.quota_in_bytes()),
        "quotaInNamespace": quota(b.quota_in_namespace()),
        "bucketLayout": b.bucket_layout().as_str_name(),
        "owner": b.owner(),
    });
    if let Some(r) = &b.default_replication_config {
        value["replicationConfig"] =
            replication::wire(r.r#type, r.factor, r.ec_replication_config.as_ref());
    }
    if link {
        value["sourceVolume"] = b.source_volume().into();
        value["sourceBucket"] = b.source_bucket().into();
    }
    value["pendingDeleteBytes"] = b.snapshot_used_bytes().into();
    value["pendingDeleteNamespace"] = b.snapshot_used_namespace().into();
    value["link"] = link.into();
    value
}
