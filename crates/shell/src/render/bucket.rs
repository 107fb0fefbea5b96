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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(b: &BucketInfo) -> String {
        let value = bucket(b);
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.join(" ")
    }

    #[test]
    fn a_bucket_looks_like_ozones() {
        let own = BucketInfo { quota_in_bytes: Some(-1), ..BucketInfo::default() };
        let wanted = "metadata volumeName name storageType versioning listCacheSize usedBytes \
                      usedNamespace creationTime modificationTime sourcePathExist quotaInBytes \
                      quotaInNamespace bucketLayout owner pendingDeleteBytes \
                      pendingDeleteNamespace link";
        assert_eq!(fields(&own), wanted);
        assert_eq!(bucket(&own)["quotaInBytes"], -1);
        assert_eq!(bucket(&own)["link"], false);
    }

    #[test]
    fn a_link_says_what_it_stands_for() {
        let link = BucketInfo {
            source_volume: Some("vol1".to_owned()),
            source_bucket: Some("bucket1".to_owned()),
            ..BucketInfo::default()
        };
        let value = bucket(&link);
        assert_eq!(
            (&value["sourceVolume"], &value["sourceBucket"]),
            (&"vol1".into(), &"bucket1".into())
        );
        assert_eq!(value["link"], true);
    }
}
