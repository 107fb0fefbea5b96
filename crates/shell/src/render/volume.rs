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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_looks_like_ozones() {
        let value = volume(&VolumeInfo {
            volume: "vol1".to_owned(),
            admin_name: "root".to_owned(),
            owner_name: "ann".to_owned(),
            quota_in_bytes: Some(u64::MAX),
            quota_in_namespace: Some(100),
            creation_time: Some(1_795_260_085_870),
            ..VolumeInfo::default()
        });
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let wanted = "metadata name admin owner quotaInBytes quotaInNamespace usedNamespace \
                      creationTime modificationTime acls refCount";
        assert_eq!(fields.join(" "), wanted);
        assert_eq!(value["quotaInBytes"], -1);
        assert_eq!(value["quotaInNamespace"], 100);
        assert_eq!(value["creationTime"], "2026-11-21T11:21:25.870Z");
    }
}
