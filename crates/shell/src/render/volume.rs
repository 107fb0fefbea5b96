//! Volumes.

use proto::ozone::VolumeInfo;
use serde_json::{Value, json};

use super::{acl::acl, pairs, quota, time::millis};

/// A volume.
pub(crate) fn volume(v: &VolumeInfo) -> Value {
    json!({
        "metadata": pairs(&v.metadata),
        "name": v.volume,
        "admin": v.admin_name,
        "owner": v.owner_name,
        "quotaInBytes": quota(v.quota_in_bytes() as i64),
        "quotaInNamespace": quota(v.quota_in_namespace()),
        "usedNamespace": v.used_namespace(),
        "creationTime": millis(v.creation_time()),
        "modificationTime": millis(v.modification_time()),
        "acls": v.volume_acls.iter().map(acl).collect::<Vec<_>>(),
        "refCount": v.ref_count(),
    })
}
