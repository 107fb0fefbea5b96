//! Buckets and links.

use namespace::Table;
use proto::hdds::{DefaultReplicationConfig, ReplicationFactor, ReplicationType};
use proto::ozone::*;

use crate::harness::*;

fn info(om: &mut Om, bucket: &str) -> BucketInfo {
    om.ok(info_bucket(bucket)).info_bucket_response.unwrap().bucket_info.unwrap()
}

#[test]
fn a_created_bucket_keeps_what_it_was_given() {
    let mut om = Om::bare();
    om.ok(create_volume(VOL));
    om.ok(make_bucket(BucketInfo {
        is_version_enabled: true,
        metadata: vec![entry("colour", "blue")],
        quota_in_bytes: Some(1 << 40),
        quota_in_namespace: Some(1000),
        bucket_layout: None,
        ..bucket_info(VOL, BUCKET)
    }));
    let info = info(&mut om, BUCKET);
    assert_eq!(info.object_id, Some((2 << 62) | (2 << 8)));
    assert_eq!(info.update_id, Some(2));
    assert!(info.is_version_enabled);
    assert_eq!(info.metadata, [entry("colour", "blue")]);
    assert_eq!((info.quota_in_bytes, info.quota_in_namespace), (Some(1 << 40), Some(1000)));
    assert_eq!(info.bucket_layout, Some(BucketLayoutProto::ObjectStore as i32));
    assert_eq!(info.owner.as_deref(), Some(USER));
    assert_eq!(info.acls.len(), 2);
    assert_eq!((info.used_bytes, info.used_namespace), (Some(0), Some(0)));
    let volume: VolumeInfo = om.row(Table::VolumeTable, "/vol1").unwrap();
    assert_eq!(volume.used_namespace, Some(1));
}

#[test]
fn buckets_are_refused_by_the_rules() {
    let mut om = Om::new();
    assert_eq!(om.refused(create_bucket(VOL, BUCKET)), Status::BucketAlreadyExists);
    assert_eq!(om.refused(create_bucket("none", BUCKET)), Status::VolumeNotFound);
    assert_eq!(om.refused(create_bucket(VOL, "No")), Status::InvalidBucketName);
    assert_eq!(om.refused(info_bucket("none")), Status::BucketNotFound);
    assert_eq!(om.refused(delete_bucket("none")), Status::BucketNotFound);
    let half = BucketInfo { source_volume: Some(VOL.to_owned()), ..bucket_info(VOL, "link") };
    assert_eq!(om.refused(make_bucket(half)), Status::InvalidRequest);
    let zero = BucketInfo { quota_in_bytes: Some(0), ..bucket_info(VOL, "bucket2") };
    assert_eq!(om.refused(make_bucket(zero)), Status::QuotaError);
}

#[test]
fn there_are_no_more_buckets_than_there_may_be() {
    let mut om = Om::new();
    om.ok(create_volume("vol2"));
    // There is one already.
    om.settings.max_buckets = 3;
    om.ok(create_bucket(VOL, "bucket2"));
    let link = BucketInfo {
        source_volume: Some(VOL.to_owned()),
        source_bucket: Some(BUCKET.to_owned()),
        ..bucket_info("vol2", "link")
    };
    om.ok(make_bucket(link));
    for volume in [VOL, "vol2"] {
        assert_eq!(om.refused(create_bucket(volume, "bucket3")), Status::TooManyBuckets);
    }
    om.ok(delete_bucket("bucket2"));
    om.ok(create_bucket("vol2", "bucket3"));
}

#[test]
fn without_s3s_rules_buckets_of_other_layouts_may_have_underscores() {
    let mut om = Om::new();
    let bucket = |name: &str, layout: BucketLayoutProto| {
        make_bucket(BucketInfo { bucket_layout: Some(layout as i32), ..bucket_info(VOL, name) })
    };
    use BucketLayoutProto::{FileSystemOptimized, Legacy, ObjectStore};
    assert_eq!(om.refused(bucket("a_b", Legacy)), Status::InvalidBucketName);
    om.settings.strict_s3_names = false;
    om.ok(bucket("a_b", Legacy));
    om.ok(bucket("a_c", FileSystemOptimized));
    assert_eq!(om.refused(bucket("a_d", ObjectStore)), Status::InvalidBucketName);
    // A bucket whose client names no layout has the default one.
    om.settings.default_bucket_layout = ObjectStore;
    assert_eq!(om.refused(make_bucket(bucket_info(VOL, "a_e"))), Status::InvalidBucketName);
}

fn encrypted() -> BucketEncryptionInfoProto {
    BucketEncryptionInfoProto { key_name: "key1".to_owned(), ..Default::default() }
}

#[test]
fn a_bucket_whose_keys_are_to_be_encrypted_is_refused() {
    let mut om = Om::new();
    let with_key = BucketInfo { beinfo: Some(encrypted()), ..bucket_info(VOL, "secret") };
    assert_eq!(om.refused(make_bucket(with_key.clone())), Status::InvalidKmsProvider);
    let link = BucketInfo {
        source_volume: Some(VOL.to_owned()),
        source_bucket: Some(BUCKET.to_owned()),
        ..with_key
    };
    assert_eq!(om.refused(make_bucket(link)), Status::InvalidKmsProvider);
    for value in ["true", "TRUE"] {
        let metadata = vec![entry("gdprEnabled", value)];
        let gdpr = BucketInfo { metadata, ..bucket_info(VOL, "secret") };
        assert_eq!(om.refused(make_bucket(gdpr)), Status::NotSupportedOperation);
    }
    assert_eq!(om.rows(Table::BucketTable), ["/vol1/bucket1"]);
    let metadata = vec![entry("gdprEnabled", "false")];
    om.ok(make_bucket(BucketInfo { metadata, ..bucket_info(VOL, "plain") }));
}

#[test]
fn a_bucket_does_not_become_encrypted() {
    let mut om = Om::new();
    let of = |args: BucketArgs| {
        let (volume_name, bucket_name) = (VOL.to_owned(), BUCKET.to_owned());
        set_bucket(BucketArgs { volume_name, bucket_name, ..args })
    };
    let with_key = BucketArgs { bek_info: Some(encrypted()), ..Default::default() };
    assert_eq!(om.refused(of(with_key)), Status::InvalidKmsProvider);
    let gdpr = BucketArgs { metadata: vec![entry("gdprEnabled", "true")], ..Default::default() };
    assert_eq!(om.refused(of(gdpr)), Status::NotSupportedOperation);
    assert_eq!(om.bucket(BUCKET).beinfo, None);
    assert_eq!(om.bucket(BUCKET).metadata, []);
}

#[test]
fn nothing_is_written_into_a_bucket_that_is_encrypted_already() {
    let mut om = Om::new();
    // An entry of a release that did not refuse it: logged entries are applied.
    let mut entry = om.prepared(create_bucket(VOL, "secret")).unwrap();
    let info = &mut entry.create_bucket_request.as_mut().unwrap().bucket_info;
    info.beinfo = Some(encrypted());
    info.bucket_layout = Some(BucketLayoutProto::Legacy as i32);
    assert_eq!(status(&om.log_and_apply(entry)), Status::Ok);
    let key = || args("secret", "k");
    assert_eq!(om.refused(create_key(key())), Status::InvalidKmsProvider);
    assert_eq!(om.refused(create_file(key(), false, false)), Status::InvalidKmsProvider);
    assert_eq!(om.refused(initiate(key())), Status::InvalidKmsProvider);
    om.ok(info_bucket("secret"));
    om.ok(delete_bucket("secret"));
}

#[test]
fn only_an_empty_bucket_is_deleted() {
    let mut om = Om::new();
    // A name that begins like the bucket's must not count.
    om.ok(create_bucket(VOL, "bucket12"));
    om.put_in("bucket12", "k", 1);
    om.put("k", 1);
    assert_eq!(om.refused(delete_bucket(BUCKET)), Status::BucketNotEmpty);
    om.ok(delete_key(args(BUCKET, "k")));
    let upload = om.ok(initiate(args(BUCKET, "m")));
    assert_eq!(om.refused(delete_bucket(BUCKET)), Status::BucketNotEmpty);
    let id = upload.initiate_multi_part_upload_response.unwrap().multipart_upload_id;
    om.ok(abort(KeyArgs { multipart_upload_id: Some(id), ..args(BUCKET, "m") }));
    om.ok(delete_bucket(BUCKET));
    assert_eq!(om.rows(Table::BucketTable), ["/vol1/bucket12"]);
}

#[test]
fn properties_are_set_one_by_one() {
    let mut om = Om::new();
    let set = |args: BucketArgs| {
        set_bucket(BucketArgs {
            volume_name: VOL.to_owned(),
            bucket_name: BUCKET.to_owned(),
            ..args
        })
    };
    let replication = DefaultReplicationConfig {
        r#type: ReplicationType::Ratis as i32,
        factor: Some(ReplicationFactor::One as i32),
        ec_replication_config: None,
    };
    om.ok(set(BucketArgs { is_version_enabled: Some(true), ..Default::default() }));
    om.ok(set(BucketArgs { quota_in_bytes: Some(1 << 30), ..Default::default() }));
    om.ok(set(BucketArgs { quota_in_namespace: Some(5), ..Default::default() }));
    om.ok(set(BucketArgs { metadata: vec![entry("a", "1")], ..Default::default() }));
    om.ok(set(BucketArgs {
        default_replication_config: Some(replication.clone()),
        ..Default::default()
    }));
    om.ok(set(BucketArgs { owner_name: Some("bob".to_owned()), ..Default::default() }));
    let info = info(&mut om, BUCKET);
    assert!(info.is_version_enabled);
    assert_eq!((info.quota_in_bytes, info.quota_in_namespace), (Some(1 << 30), Some(5)));
    assert_eq!(info.metadata, [entry("a", "1")]);
    assert_eq!(info.default_replication_config, Some(replication));
    assert_eq!(info.owner.as_deref(), Some("bob"));

    let again = om.ok(set(BucketArgs { owner_name: Some("bob".to_owned()), ..Default::default() }));
    assert_eq!(again.set_bucket_property_response.unwrap().response, Some(false));

    // One replica from now on.
    om.put("k", 1000);
    assert_eq!(om.used().0, 1000);
    let small = BucketArgs { quota_in_bytes: Some(999), ..Default::default() };
    assert_eq!(om.refused(set(small)), Status::QuotaError);
    om.put("k2", 1);
    let few = BucketArgs { quota_in_namespace: Some(1), ..Default::default() };
    assert_eq!(om.refused(set(few)), Status::QuotaError);
}

#[test]
fn buckets_are_listed_by_prefix_and_page() {
    let mut om = Om::bare();
    om.ok(create_volume(VOL));
    om.ok(create_volume("vol12"));
    for name in ["data-b", "data-a", "logs", "data-c"] {
        om.ok(create_bucket(VOL, name));
    }
    om.ok(create_bucket("vol12", "data-x"));
    let mut list = |prefix: &str, after: &str, count: i32| -> Vec<String> {
        let r = om.ok(list_buckets(ListBucketsRequest {
            volume_name: VOL.to_owned(),
            start_key: Some(after.to_owned()),
            prefix: Some(prefix.to_owned()),
            count: Some(count),
            has_snapshot: None,
        }));
        r.list_buckets_response.unwrap().bucket_info.into_iter().map(|b| b.bucket_name).collect()
    };
    assert_eq!(list("", "", 10), ["data-a", "data-b", "data-c", "logs"]);
    assert_eq!(list("data", "", 2), ["data-a", "data-b"]);
    assert_eq!(list("data", "data-b", 2), ["data-c"]);
    assert_eq!(list("data", "data-c", 2), Vec::<String>::new());
    assert_eq!(list("", "data-c", 2), ["logs"]);
    let mut none = ListBucketsRequest { volume_name: "none".to_owned(), ..Default::default() };
    assert_eq!(om.refused(list_buckets(none.clone())), Status::VolumeNotFound);
    none.volume_name = VOL.to_owned();
    none.has_snapshot = Some(true);
    let r = om.ok(list_buckets(none)).list_buckets_response.unwrap();
    assert!(r.bucket_info.is_empty());
}

fn link(name: &str, to: &str) -> OmRequest {
    make_bucket(BucketInfo {
        source_volume: Some(VOL.to_owned()),
        source_bucket: Some(to.to_owned()),
        ..bucket_info(VOL, name)
    })
}

#[test]
fn keys_written_through_a_link_are_its_sources() {
    let mut om = Om::new();
    om.ok(link("link2", "link1"));
    om.ok(link("link1", BUCKET));
    let r = om.put_in("link2", "k", 10);
    assert_eq!(status(&r), Status::Ok);
    assert_eq!(om.rows(Table::KeyTable), ["/vol1/bucket1/k"]);
    let r = om.ok(get_key_info(args("link2", "k"), false)).get_key_info_response.unwrap();
    assert_eq!(r.key_info.unwrap().bucket_name, BUCKET);
    let shown = info(&mut om, "link2");
    assert_eq!((shown.bucket_name.as_str(), shown.used_bytes), ("link2", Some(30)));
    om.ok(delete_key(args("link1", "k")));
    assert!(om.rows(Table::KeyTable).is_empty());
    // A link is deleted whatever its source holds, and a dangling one still shows.
    om.put("k", 1);
    om.ok(delete_bucket("link1"));
    assert_eq!(info(&mut om, "link2").used_bytes, Some(0));
    assert_eq!(om.refused(get_key_info(args("link2", "k"), false)), Status::BucketNotFound);
}

#[test]
fn of_a_link_only_the_owner_is_changed() {
    let mut om = Om::new();
    om.ok(link("link", BUCKET));
    let of = |args: BucketArgs| {
        let (volume_name, bucket_name) = (VOL.to_owned(), "link".to_owned());
        set_bucket(BucketArgs { volume_name, bucket_name, ..args })
    };
    om.ok(of(BucketArgs { owner_name: Some("bob".to_owned()), ..Default::default() }));
    let owners = [om.bucket("link").owner, om.bucket(BUCKET).owner];
    assert_eq!(owners.map(Option::unwrap), ["bob", USER]);
    let replication = DefaultReplicationConfig {
        r#type: ReplicationType::Ratis as i32,
        factor: Some(ReplicationFactor::One as i32),
        ec_replication_config: None,
    };
    for args in [
        BucketArgs { quota_in_bytes: Some(1 << 30), ..Default::default() },
        BucketArgs { default_replication_config: Some(replication), ..Default::default() },
        BucketArgs { is_version_enabled: Some(true), ..Default::default() },
        BucketArgs { metadata: vec![entry("a", "1")], ..Default::default() },
    ] {
        assert_eq!(om.refused(of(args)), Status::NotSupportedOperation);
    }
}

#[test]
fn the_layout_that_counts_is_the_sources() {
    let mut om = Om::new();
    let mut fso = link("link", BUCKET);
    let info = &mut fso.create_bucket_request.as_mut().unwrap().bucket_info;
    info.bucket_layout = Some(BucketLayoutProto::FileSystemOptimized as i32);
    om.ok(fso);
    om.put_in("link", "k", 1);
    om.ok(lookup_key(args("link", "k")));
    om.ok(rename_key(args("link", "k"), "j"));
    om.ok(delete_key(args("link", "j")));
}

#[test]
fn a_loop_of_links_is_detected() {
    let mut om = Om::new();
    om.ok(link("link1", "link2"));
    om.ok(link("link2", "link1"));
    let looped = Status::DetectedLoopInBucketLinks;
    assert_eq!(om.refused(create_key(args("link1", "k"))), looped);
    assert_eq!(om.refused(info_bucket("link1")), looped);
}

#[test]
fn commands_of_later_releases_say_their_name() {
    let mut om = Om::new();
    for command in [Type::RefetchSecretKey, Type::DbUpdates, Type::CreateTenant] {
        let r = om.submit(request(command));
        assert_eq!(status(&r), Status::NotSupportedOperation);
        assert!(r.message.unwrap().contains(command.as_str_name()));
        assert_eq!((r.cmd_type, r.trace_id.as_deref()), (command as i32, Some("trace")));
    }
    assert_eq!(om.refused(request(Type::CreateKey)), Status::InvalidRequest);
    assert_eq!(om.refused(request(Type::InfoVolume)), Status::InvalidRequest);
}
