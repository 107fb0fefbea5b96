//! Settings of the rules of `namespace`.

use std::time::Duration;

use config::Configuration;
use config::keys::{hdds, om as keys};
use namespace::{AllowedReplications, Authorization, Settings};
use proto::ozone::BucketLayoutProto;
use service::{GroupSettings, Groups};
use types::{Principals, ReplicationConfig, StoragePolicy};

use crate::error::Error;

/// Reads the settings of the rules of `namespace`.
pub(super) fn settings(conf: &Configuration) -> Result<Settings, Error> {
    let kind = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION_TYPE);
    let value = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION);
    let default_replication = ReplicationConfig::parse(&kind, &value).map_err(|e| {
        Error::Setting { key: hdds::OZONE_SERVER_DEFAULT_REPLICATION.name(), reason: e.to_string() }
    })?;
    let layout = conf.get(&keys::OZONE_DEFAULT_BUCKET_LAYOUT).to_ascii_uppercase();
    let default_bucket_layout = BucketLayoutProto::from_str_name(&layout).ok_or_else(|| {
        let reason = format!("there is no bucket layout {layout}");
        Error::Setting { key: keys::OZONE_DEFAULT_BUCKET_LAYOUT.name(), reason }
    })?;
    Ok(Settings {
        block_size: conf.get(&hdds::OZONE_SCM_BLOCK_SIZE).bytes(),
        preallocation_max_blocks: conf.get(&keys::OZONE_KEY_PREALLOCATION_MAX_BLOCKS),
        default_bucket_layout,
        default_replication,
        allowed_replications: allowed_replications(conf)?,
        default_storage_policy: default_storage_policy(conf)?,
        s3_volume: conf.get(&keys::OZONE_S3G_VOLUME),
        user_max_volumes: conf.get(&keys::OZONE_OM_USER_MAX_VOLUME),
        list_max_size: conf.get(&keys::OZONE_OM_SERVER_LIST_MAX_SIZE),
        hsync: conf.get(&keys::OZONE_FS_HSYNC_ENABLED)
            && conf.get(&keys::OZONE_HBASE_ENHANCEMENTS_ALLOWED),
        lease_soft_limit_ms: millis(conf.get(&keys::OZONE_OM_LEASE_SOFT_LIMIT)),
        authorization: authorization(conf)?,
        directory_list_max_size: conf.get(&keys::OZONE_FS_LISTING_PAGE_SIZE_MAX).max(1),
        filesystem_paths: conf.get(&keys::OZONE_OM_ENABLE_FILESYSTEM_PATHS),
        snapshots: conf.get(&keys::OZONE_FILESYSTEM_SNAPSHOT_ENABLED),
        snapshot_limit: conf.get(&keys::OZONE_OM_FS_SNAPSHOT_MAX_LIMIT) as usize,
        snapshot_rename: conf.get(&keys::OZONE_OM_SNAPSHOT_RENAME_ALLOWED),
        max_buckets: u64::try_from(conf.get(&keys::OZONE_OM_MAX_BUCKETS))
            .ok()
            .filter(|most| *most > 0)
            .unwrap_or(Settings::default().max_buckets),
        strict_s3_names: conf.get(&keys::OZONE_OM_NAMESPACE_S3_STRICT),
        check_key_name_characters: conf.get(&keys::OZONE_OM_KEYNAME_CHARACTER_CHECK_ENABLED),
        ..Settings::default()
    })
}

fn allowed_replications(conf: &Configuration) -> Result<AllowedReplications, Error> {
    let key = &keys::OZONE_REPLICATION_ALLOWED_CONFIGS;
    // Set to nothing it allows all, as in Ozone.
    let pattern = if conf.is_empty(key) { String::new() } else { conf.get(key) };
    AllowedReplications::new(&pattern)
        .map_err(|e| Error::Setting { key: key.name(), reason: e.to_string() })
}

/// None unless it is set: then blocks go to any disks.
fn default_storage_policy(conf: &Configuration) -> Result<Option<StoragePolicy>, Error> {
    let key = &keys::OZONE_DEFAULT_STORAGEPOLICY;
    let named = conf.get(key);
    let parse = |named: &String| {
        let wrong = |e: types::WireError| Error::Setting { key: key.name(), reason: e.to_string() };
        named.parse().map_err(wrong)
    };
    Some(&named).filter(|named| !named.is_empty()).map(parse).transpose()
}

/// Rights of users. The user that OM runs as is added to the administrators when it starts.
fn authorization(conf: &Configuration) -> Result<Authorization, Error> {
    let named = |users, groups| Principals { users: conf.get(users), groups: conf.get(groups) };
    let judge = conf.get(&keys::OZONE_ACL_AUTHORIZER_CLASS);
    let native = match judge.rsplit('.').next().unwrap_or_default() {
        "native" | "OzoneNativeAuthorizer" => true,
        "OzoneAccessAuthorizer" => false,
        _ => {
            let key = keys::OZONE_ACL_AUTHORIZER_CLASS.name();
            let reason = format!("{judge} is not available, the native authorizer is");
            return Err(Error::Setting { key, reason });
        }
    };
    let enabled = native && conf.get(&keys::OZONE_ACL_ENABLED);
    if enabled {
        refuse_unknown_groups(conf)?;
    }
    Ok(Authorization {
        enabled,
        admins: named(&hdds::OZONE_ADMINISTRATORS, &hdds::OZONE_ADMINISTRATORS_GROUPS),
        s3_admins: named(&keys::OZONE_S3_ADMINISTRATORS, &keys::OZONE_S3_ADMINISTRATORS_GROUPS),
        read_only_admins: named(
            &keys::OZONE_READONLY_ADMINISTRATORS,
            &keys::OZONE_READONLY_ADMINISTRATORS_GROUPS,
        ),
        blacklist: named(&keys::OZONE_BLACKLIST_USERS, &keys::OZONE_BLACKLIST_GROUPS),
        read_blacklist: named(
            &keys::OZONE_READ_BLACKLIST_USERS,
            &keys::OZONE_READ_BLACKLIST_GROUPS,
        ),
        list_all_volumes: conf.get(&keys::OZONE_OM_VOLUME_LISTALL_ALLOWED),
    })
}

/// Refuses a denied group without resolvable members: a group of a directory server.
fn refuse_unknown_groups(conf: &Configuration) -> Result<(), Error> {
    let groups = Groups::new(&GroupSettings::from_configuration(conf));
    for key in [&keys::OZONE_BLACKLIST_GROUPS, &keys::OZONE_READ_BLACKLIST_GROUPS] {
        if let Some(unknown) = groups.unknown(&conf.get(key)).first() {
            let (key, given) =
                (key.name(), hdds::HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES.name());
            let reason = format!(
                "this host has no group {unknown}, so no user would be denied: add it to \
                 /etc/group or {given}, or remove it from the list"
            );
            return Err(Error::Setting { key, reason });
        }
    }
    Ok(())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
