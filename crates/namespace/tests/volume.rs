//! Volumes.

use namespace::{Table, create_s3_volume_request};
use proto::ozone::list_volume_request::Scope;
use proto::ozone::*;

use crate::harness::*;

#[test]
fn a_created_volume_has_ids_an_owner_and_default_acls() {
    let mut om = Om::bare();
    om.ok(create_volume("vol1"));
    let info = om.ok(info_volume("vol1")).info_volume_response.unwrap().volume_info.unwrap();
    assert_eq!(info.object_id, Some((2 << 62) | (1 << 8)));
    assert_eq!(info.update_id, Some(1));
    assert_eq!(info.quota_in_bytes, Some(u64::MAX));
    assert_eq!(info.quota_in_namespace, Some(-1));
    assert_eq!(info.creation_time, Some(1001));
    let acls: Vec<_> = info.volume_acls.iter().map(|a| (a.name.as_str(), &a.rights[..])).collect();
    assert_eq!(acls, [("ann", &[0x80u8][..]), ("staff", &[0x09][..])]);
    assert_eq!(om.rows(Table::VolumeTable), ["/vol1"]);
    let owned: UserVolumeInfo = om.row(Table::UserTable, USER).unwrap();
    assert_eq!(owned.volume_names, ["vol1"]);
}

#[test]
fn volumes_are_refused_by_the_rules() {
    let mut om = Om::new();
    assert_eq!(om.refused(create_volume(VOL)), Status::VolumeAlreadyExists);
    assert_eq!(om.refused(create_volume("Bad")), Status::InvalidVolumeName);
    assert_eq!(om.refused(info_volume("none")), Status::VolumeNotFound);
    assert_eq!(om.refused(delete_volume("none")), Status::VolumeNotFound);
    assert_eq!(om.refused(delete_volume(VOL)), Status::VolumeNotEmpty);
    om.settings.user_max_volumes = 1;
    assert_eq!(om.refused(create_volume("vol2")), Status::UserTooManyVolumes);
}

#[test]
fn a_deleted_volume_leaves_its_owners_list() {
    let mut om = Om::bare();
    om.ok(create_volume("vol1"));
    om.ok(create_volume("vol2"));
    om.ok(delete_volume("vol1"));
    let owned: UserVolumeInfo = om.row(Table::UserTable, USER).unwrap();
    assert_eq!(owned.volume_names, ["vol2"]);
    om.ok(delete_volume("vol2"));
    assert!(om.rows(Table::UserTable).is_empty());
    assert!(om.rows(Table::VolumeTable).is_empty());
}

#[test]
fn the_volume_of_s3_has_its_own_object_id_and_comes_once() {
    let mut om = Om::bare();
    let r = om.log_and_apply(create_s3_volume_request(5, "om", Some("staff"), "s3v"));
    assert_eq!(status(&r), Status::Ok);
    let r = om.log_and_apply(create_s3_volume_request(6, "om", None, "s3v"));
    assert_eq!(status(&r), Status::VolumeAlreadyExists);
    let info: VolumeInfo = om.row(Table::VolumeTable, "/s3v").unwrap();
    assert_eq!(info.object_id, Some(0xBFFF_FFFF_FFFF_FF00));
    let subjects: Vec<_> =
        info.volume_acls.iter().map(|acl| (acl.name.as_str(), &acl.rights[..])).collect();
    assert_eq!(subjects, [("om", &[0x80_u8][..]), ("staff", &[0x80])]);
    let r = om.ok(OmRequest {
        get_s3_volume_context_request: Some(Box::default()),
        s3_authentication: Some(Box::new(S3Authentication {
            access_id: Some("key-id".to_owned()),
            ..Default::default()
        })),
        ..request(Type::GetS3VolumeContext)
    });
    let context = r.get_s3_volume_context_response.unwrap();
    assert_eq!(context.volume_info.unwrap().volume, "s3v");
    assert_eq!(context.user_principal.as_deref(), Some("key-id"));
}

fn listed(om: &mut Om, r: ListVolumeRequest) -> Vec<String> {
    let response = om.ok(list_volume(r)).list_volume_response.unwrap();
    response.volume_info.into_iter().map(|v| v.volume).collect()
}

#[test]
fn volumes_are_listed_by_scope_prefix_and_page() {
    let mut om = Om::bare();
    for name in ["vol-b", "vol-a", "vol-c", "other"] {
        om.ok(create_volume(name));
    }
    om.ok(set_volume(SetVolumePropertyRequest {
        volume_name: "vol-c".to_owned(),
        owner_name: Some("bob".to_owned()),
        ..Default::default()
    }));
    let by = |scope: Scope, user: Option<&str>, prefix: &str, after: &str, max| ListVolumeRequest {
        scope: scope as i32,
        user_name: user.map(str::to_owned),
        prefix: Some(prefix.to_owned()),
        prev_key: Some(after.to_owned()),
        max_keys: Some(max),
    };
    let cases = [
        (by(Scope::VolumesByCluster, None, "", "", 100), vec!["other", "vol-a", "vol-b", "vol-c"]),
        (by(Scope::VolumesByCluster, None, "vol", "", 2), vec!["vol-a", "vol-b"]),
        (by(Scope::VolumesByCluster, None, "vol", "vol-b", 2), vec!["vol-c"]),
        (by(Scope::VolumesByCluster, None, "vol", "vol-c", 2), vec![]),
        (by(Scope::UserVolumes, None, "", "", 100), vec!["other", "vol-a", "vol-b"]),
        (by(Scope::VolumesByUser, Some("bob"), "", "", 100), vec!["vol-c"]),
        (by(Scope::VolumesByUser, Some(USER), "vol", "vol-a", 100), vec!["vol-b"]),
        (by(Scope::VolumesByUser, Some("eve"), "", "", 100), vec![]),
        (by(Scope::VolumesByUser, None, "", "vol-b", 100), vec!["vol-c"]),
    ];
    for (r, expected) in cases {
        assert_eq!(listed(&mut om, r.clone()), expected, "{r:?}");
    }
}

#[test]
fn setting_the_same_owner_changes_nothing() {
    let mut om = Om::new();
    let set = |owner: &str| {
        set_volume(SetVolumePropertyRequest {
            volume_name: VOL.to_owned(),
            owner_name: Some(owner.to_owned()),
            ..Default::default()
        })
    };
    let r = om.ok(set(USER)).set_volume_property_response.unwrap();
    assert_eq!(r.response, Some(false));
    assert!(om.effects.is_empty());
    let r = om.ok(set("bob")).set_volume_property_response.unwrap();
    assert_eq!(r.response, Some(true));
    assert_eq!(om.rows(Table::UserTable), ["bob"]);
}

#[test]
fn a_volumes_space_quota_covers_the_quotas_of_its_buckets() {
    let mut om = Om::bare();
    om.ok(create_volume(VOL));
    let quota = |bytes: i64| {
        set_volume(SetVolumePropertyRequest {
            volume_name: VOL.to_owned(),
            quota_in_bytes: Some(bytes as u64),
            ..Default::default()
        })
    };
    let bucket = |name: &str, bytes| {
        make_bucket(BucketInfo { quota_in_bytes: bytes, ..bucket_info(VOL, name) })
    };
    om.ok(quota(100));
    assert_eq!(om.refused(bucket("bucket1", None)), Status::QuotaError);
    assert_eq!(om.refused(bucket("bucket1", Some(101))), Status::QuotaExceeded);
    om.ok(bucket("bucket1", Some(60)));
    assert_eq!(om.refused(bucket("bucket2", Some(41))), Status::QuotaExceeded);
    om.ok(bucket("bucket2", Some(40)));
    assert_eq!(om.refused(quota(99)), Status::QuotaExceeded);
    assert_eq!(om.refused(quota(0)), Status::QuotaError);
    om.ok(quota(-1));
    om.ok(bucket("bucket3", None));
    assert_eq!(om.refused(quota(1000)), Status::QuotaError);
}

#[test]
fn a_volumes_namespace_quota_counts_its_buckets() {
    let mut om = Om::new();
    let quota = |n: i64| {
        set_volume(SetVolumePropertyRequest {
            volume_name: VOL.to_owned(),
            quota_in_namespace: Some(n as u64),
            ..Default::default()
        })
    };
    om.ok(quota(2));
    om.ok(create_bucket(VOL, "bucket2"));
    assert_eq!(om.refused(create_bucket(VOL, "bucket3")), Status::QuotaExceeded);
    assert_eq!(om.refused(quota(1)), Status::QuotaExceeded);
    om.ok(delete_bucket("bucket2"));
    om.ok(create_bucket(VOL, "bucket3"));
}
