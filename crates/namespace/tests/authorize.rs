//! The native authorizer: rights of users, and the texts of refusals.

use namespace::Authorization;
use prost::Message;
use prost::encoding::WireType;
use proto::ozone::list_volume_request::Scope;
use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};
use proto::ozone::ozone_obj::{ObjectType, StoreType};
use proto::ozone::*;
use types::Principals;

use crate::harness::*;
use crate::multipart;

const READ: u8 = 1;
const WRITE: u8 = 1 << 1;
const CREATE: u8 = 1 << 2;
const LIST: u8 = 1 << 3;
const DELETE: u8 = 1 << 4;
const READ_ACL: u8 = 1 << 5;
const WRITE_ACL: u8 = 1 << 6;

fn names(users: &[&str], groups: &[&str]) -> Principals {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Principals { users: owned(users), groups: owned(groups) }
}

/// Volume `vol1` and bucket `bucket1` of ann with key `k`, judged from now on. `root` and the
/// group `wheel` administer.
fn guarded() -> Om {
    let mut om = Om::new();
    om.put("k", 1);
    om.settings.authorization = Authorization {
        enabled: true,
        admins: names(&["root"], &["wheel"]),
        s3_admins: names(&["s3boss"], &[]),
        read_only_admins: names(&["auditor"], &[]),
        blacklist: names(&["mallory"], &[]),
        read_blacklist: names(&["blind"], &[]),
        list_all_volumes: false,
    };
    om
}

fn obj(kind: ObjectType, path: &str) -> OzoneObj {
    OzoneObj { res_type: kind as i32, store_type: StoreType::Ozone as i32, path: path.to_owned() }
}

fn user_acl(name: &str, rights: u8) -> OzoneAclInfo {
    OzoneAclInfo {
        r#type: OzoneAclType::User as i32,
        name: name.to_owned(),
        rights: vec![rights].into(),
        acl_scope: OzoneAclScope::Access as i32,
    }
}

fn add_acl(obj: OzoneObj, acl: OzoneAclInfo) -> OmRequest {
    let r = AddAclRequest { obj, acl, modification_time: None };
    OmRequest { add_acl_request: Some(Box::new(r)), ..request(Type::AddAcl) }
}

fn get_acl(obj: OzoneObj) -> OmRequest {
    let r = GetAclRequest { obj };
    OmRequest { get_acl_request: Some(Box::new(r)), ..request(Type::GetAcl) }
}

/// Gives bob rights on volume, bucket and key, and has him ask.
fn bob_with(volume: u8, bucket: u8, key: u8) -> Om {
    let mut om = guarded();
    om.be("root", "root");
    for (kind, path, rights) in [
        (ObjectType::Volume, "/vol1", volume),
        (ObjectType::Bucket, "/vol1/bucket1", bucket),
        (ObjectType::Key, "/vol1/bucket1/k", key),
    ] {
        if rights != 0 {
            om.ok(add_acl(obj(kind, path), user_acl("bob", rights)));
        }
    }
    om.be("bob", "users");
    om
}

fn message(om: &mut Om, request: OmRequest) -> String {
    let response = om.submit(request);
    assert_eq!(status(&response), Status::PermissionDenied, "{:?}", response.message);
    response.message.unwrap()
}

fn list(volume: &str) -> OmRequest {
    list_keys(ListKeysRequest {
        volume_name: volume.to_owned(),
        bucket_name: BUCKET.to_owned(),
        start_key: None,
        prefix: Some("k".to_owned()),
        count: Some(10),
    })
}

fn volumes(scope: Scope, user: &str) -> OmRequest {
    list_volume(ListVolumeRequest {
        scope: scope as i32,
        user_name: Some(user.to_owned()),
        prefix: None,
        prev_key: None,
        max_keys: Some(10),
    })
}

fn set_times() -> OmRequest {
    let r = SetTimesRequest { key_args: args(BUCKET, "k"), mtime: 5, atime: 5 };
    OmRequest { set_times_request: Some(Box::new(r)), ..request(Type::SetTimes) }
}

fn quota(names: u64) -> OmRequest {
    set_volume(SetVolumePropertyRequest {
        volume_name: VOL.to_owned(),
        quota_in_namespace: Some(names),
        ..SetVolumePropertyRequest::default()
    })
}

fn owner(name: &str) -> OmRequest {
    set_volume(SetVolumePropertyRequest {
        volume_name: VOL.to_owned(),
        owner_name: Some(name.to_owned()),
        ..SetVolumePropertyRequest::default()
    })
}

/// A request, and the rights on volume, bucket and key that just suffice for it.
fn table() -> Vec<(&'static str, OmRequest, [u8; 3])> {
    vec![
        ("info volume", info_volume(VOL), [READ, 0, 0]),
        ("volume quota", quota(1 << 40), [WRITE, 0, 0]),
        ("volume owner", owner("bob"), [WRITE_ACL, 0, 0]),
        ("create bucket", create_bucket(VOL, "bucket2"), [WRITE, 0, 0]),
        ("info bucket", info_bucket(BUCKET), [READ, READ, 0]),
        ("bucket acls", get_acl(obj(ObjectType::Bucket, "/vol1/bucket1")), [READ, READ_ACL, 0]),
        (
            "change bucket acls",
            add_acl(obj(ObjectType::Bucket, "/vol1/bucket1"), user_acl("eve", READ)),
            [READ, WRITE_ACL, 0],
        ),
        ("list keys", list(VOL), [READ, LIST, 0]),
        ("create key", create_key(args(BUCKET, "new")), [READ, WRITE, 0]),
        ("overwrite key", create_key(args(BUCKET, "k")), [READ, WRITE, 0]),
        ("look up key", lookup_key(args(BUCKET, "k")), [READ, READ, READ]),
        ("key info", get_key_info(args(BUCKET, "k"), false), [READ, READ, READ]),
        ("delete key", delete_key(args(BUCKET, "k")), [READ, READ, DELETE]),
        ("rename key", rename_key(args(BUCKET, "k"), "l"), [READ, READ | WRITE, DELETE]),
        ("set times", set_times(), [READ, READ, WRITE_ACL]),
        ("start upload", initiate(args(BUCKET, "big")), [READ, WRITE, 0]),
        ("key acls", get_acl(obj(ObjectType::Key, "/vol1/bucket1/k")), [READ, READ, READ_ACL]),
        (
            "change key acls",
            add_acl(obj(ObjectType::Key, "/vol1/bucket1/k"), user_acl("eve", READ)),
            [READ, READ, WRITE_ACL],
        ),
    ]
}

#[test]
fn each_command_needs_its_rights_and_no_more() {
    for (name, request, [volume, bucket, key]) in table() {
        let answer = bob_with(volume, bucket, key).submit(request.clone());
        assert_eq!(status(&answer), Status::Ok, "{name}: {:?}", answer.message);
        for missing in [READ, WRITE, CREATE, LIST, DELETE, READ_ACL, WRITE_ACL] {
            let without = |rights: u8| rights & !missing;
            let cases = [
                (without(volume), bucket, key),
                (volume, without(bucket), key),
                (volume, bucket, without(key)),
            ];
            for (v, b, k) in cases.into_iter().filter(|c| *c != (volume, bucket, key)) {
                let answer = bob_with(v, b, k).submit(request.clone());
                assert_eq!(status(&answer), Status::PermissionDenied, "{name}: {v} {b} {k}");
            }
        }
        // All other rights together are not sufficient.
        let answer = bob_with(0, 0xff, 0xff).submit(request.clone());
        assert_eq!(status(&answer), Status::PermissionDenied, "{name}");
    }
}

#[test]
fn refusals_are_in_ozones_words() {
    let mut om = bob_with(0, 0, 0);
    let denied = |right: &str, object: &str| {
        format!("User bob doesn't have {right} permission to access {object}")
    };
    let said = message(&mut om, info_volume(VOL));
    assert_eq!(said, denied("READ", "VOLUME Volume:vol1 "));
    let said = message(&mut om, lookup_key(args(BUCKET, "k")));
    assert_eq!(said, denied("READ", "VOLUME Volume:vol1 Bucket:bucket1 Key:k"));
    let mut om = bob_with(READ, 0, 0);
    let said = message(&mut om, info_bucket(BUCKET));
    assert_eq!(said, denied("READ", "BUCKET Volume:vol1 Bucket:bucket1 "));
    let said = message(&mut om, create_key(args(BUCKET, "new")));
    assert_eq!(said, denied("CREATE", "KEY Volume:vol1 Bucket:bucket1 Key:new"));
    let said = message(&mut om, create_volume("mine"));
    assert_eq!(said, denied("CREATE", "VOLUME Volume:mine "));
    let args = BucketArgs {
        volume_name: VOL.to_owned(),
        bucket_name: BUCKET.to_owned(),
        quota_in_bytes: Some(1 << 40),
        ..BucketArgs::default()
    };
    let said = message(&mut om, set_bucket(args));
    assert_eq!(said, "Bucket properties are allowed to changed by Admin and Owner");
}

#[test]
fn owners_and_administrators_need_no_acls() {
    // Without any ACL left.
    let mut om = guarded();
    for (kind, path) in [
        (ObjectType::Key, "/vol1/bucket1/k"),
        (ObjectType::Bucket, "/vol1/bucket1"),
        (ObjectType::Volume, "/vol1"),
    ] {
        let r = SetAclRequest { obj: obj(kind, path), acl: Vec::new(), modification_time: None };
        om.ok(OmRequest { set_acl_request: Some(Box::new(r)), ..request(Type::SetAcl) });
    }
    for (user, group, may_write) in [
        ("ann", "staff", true),
        ("root", "root", true),
        ("carol", "wheel", true),
        ("auditor", "users", false),
    ] {
        om.be(user, group);
        om.ok(lookup_key(args(BUCKET, "k")));
        om.ok(list(VOL));
        let created = status(&om.submit(create_key(args(BUCKET, "by-them"))));
        let expected = if may_write { Status::Ok } else { Status::PermissionDenied };
        assert_eq!(created, expected, "{user}");
    }
    om.be("bob", "users");
    assert_eq!(om.refused(lookup_key(args(BUCKET, "k"))), Status::PermissionDenied);
    om.be("mallory", "wheel");
    assert_eq!(om.refused(info_volume(VOL)), Status::PermissionDenied, "wherever she belongs");
    om.be("blind", "wheel");
    assert_eq!(om.refused(info_volume(VOL)), Status::PermissionDenied);
    om.ok(create_volume("vol2"));
}

#[test]
fn a_bucket_owner_rules_the_bucket_once_let_into_the_volume() {
    let mut om = bob_with(READ | WRITE, 0, 0);
    let mut info = bucket_info(VOL, "bobs");
    info.owner = Some("bob".to_owned());
    om.ok(make_bucket(info));
    om.be("ann", "staff");
    let r = SetAclRequest {
        obj: obj(ObjectType::Bucket, "/vol1/bobs"),
        acl: Vec::new(),
        modification_time: None,
    };
    om.ok(OmRequest { set_acl_request: Some(Box::new(r)), ..request(Type::SetAcl) });
    om.be("bob", "users");
    om.put_in("bobs", "k", 1);
    om.ok(lookup_key(args("bobs", "k")));
    om.ok(delete_key(args("bobs", "k")));
    om.be("carol", "users");
    assert_eq!(om.refused(info_bucket("bobs")), Status::PermissionDenied);
}

#[test]
fn a_session_is_its_writers() {
    let mut om = bob_with(READ, READ | WRITE, 0);
    let (id, blocks) = om.open(BUCKET, "shared", 1);
    let finish = commit(BUCKET, "shared", id, 1, used(blocks, 1));
    om.be("root", "root");
    om.ok(add_acl(obj(ObjectType::Volume, "/vol1"), user_acl("carol", READ)));
    om.ok(add_acl(obj(ObjectType::Bucket, "/vol1/bucket1"), user_acl("carol", WRITE)));
    om.be("carol", "users");
    assert_eq!(om.refused(finish.clone()), Status::PermissionDenied, "carol did not open it");
    om.be("bob", "users");
    om.ok(finish);
}

#[test]
fn prefixes_of_the_very_name_are_asked_too() {
    let mut om = bob_with(READ, READ, 0);
    om.be("root", "root");
    om.put("dir/", 0);
    let everybody = OzoneAclInfo { r#type: OzoneAclType::World as i32, ..user_acl("", 0xff) };
    om.ok(add_acl(obj(ObjectType::Key, "/vol1/bucket1/dir/"), everybody));
    om.be("bob", "users");
    om.ok(lookup_key(args(BUCKET, "dir/")));
    om.be("root", "root");
    om.ok(add_acl(obj(ObjectType::Prefix, "/vol1/bucket1/dir/"), user_acl("carol", READ)));
    om.be("bob", "users");
    assert_eq!(om.refused(lookup_key(args(BUCKET, "dir/"))), Status::PermissionDenied);
    om.be("root", "root");
    om.ok(add_acl(obj(ObjectType::Prefix, "/vol1/bucket1/dir/"), user_acl("bob", READ)));
    om.be("bob", "users");
    om.ok(lookup_key(args(BUCKET, "dir/")));
}

#[test]
fn of_many_keys_those_that_may_not_be_touched_stay() {
    let mut om = bob_with(READ, READ | WRITE, DELETE);
    om.be("ann", "staff");
    om.put("other", 1);
    om.be("bob", "users");
    let mut delete = delete_keys(&["k", "other", "none"]);
    // Refusals in a client's request are ignored.
    let args = delete.delete_keys_request.as_mut().unwrap().delete_keys.as_mut().unwrap();
    args.refused = vec!["k".to_owned()];
    let response = om.submit(delete);
    assert_eq!(status(&response), Status::PartialDelete);
    let response = response.delete_keys_response.unwrap();
    let errors: Vec<(&str, &str)> = response
        .errors
        .iter()
        .map(|e| (e.key.as_deref().unwrap(), e.error_code.as_deref().unwrap()))
        .collect();
    assert_eq!(errors, [("other", "ACCESS_DENIED"), ("none", "KEY_NOT_FOUND")]);
    assert!(om.key("k").is_none() && om.key("other").is_some());
}

#[test]
fn links_open_what_their_reader_may_see() {
    let mut om = guarded();
    om.be("root", "root");
    om.ok(create_volume("vol2"));
    let link = |name: &str| BucketInfo {
        source_volume: Some(VOL.to_owned()),
        source_bucket: Some(BUCKET.to_owned()),
        ..bucket_info("vol2", name)
    };
    om.ok(make_bucket(link("link")));
    for (kind, path) in [
        (ObjectType::Volume, "/vol1"),
        (ObjectType::Bucket, "/vol1/bucket1"),
        (ObjectType::Key, "/vol1/bucket1/k"),
    ] {
        om.ok(add_acl(obj(kind, path), user_acl("bob", READ)));
    }
    let through = KeyArgs { volume_name: "vol2".to_owned(), ..args("link", "k") };
    om.be("bob", "users");
    assert_eq!(om.refused(lookup_key(through.clone())), Status::PermissionDenied, "the link");
    om.be("root", "root");
    om.ok(add_acl(obj(ObjectType::Volume, "/vol2"), user_acl("bob", READ)));
    // A link has the ACLs that it was made with.
    let open = BucketInfo { acls: vec![user_acl("bob", READ)], ..link("open") };
    om.ok(make_bucket(open));
    om.be("bob", "users");
    assert_eq!(om.refused(lookup_key(through)), Status::PermissionDenied, "the link");
    let through = |bucket: &str| KeyArgs { volume_name: "vol2".to_owned(), ..args(bucket, "k") };
    om.ok(lookup_key(through("open")));
    // A user that may change the source's ACLs may do so through a link that they may read.
    let change = |path: &str| add_acl(obj(ObjectType::Bucket, path), user_acl("carol", READ));
    assert_eq!(om.refused(change("/vol2/open")), Status::PermissionDenied, "the source");
    om.be("root", "root");
    om.ok(add_acl(obj(ObjectType::Bucket, "/vol1/bucket1"), user_acl("bob", WRITE_ACL)));
    om.be("bob", "users");
    assert_eq!(om.refused(change("/vol2/link")), Status::PermissionDenied, "the link");
    om.ok(change("/vol2/open"));
}

#[test]
fn volumes_are_listed_that_their_reader_may_list() {
    let mut om = guarded();
    om.be("root", "root");
    om.ok(create_volume("vol2"));
    om.ok(add_acl(obj(ObjectType::Volume, "/vol2"), user_acl("bob", LIST)));
    let shown = |om: &mut Om, request| -> Vec<String> {
        let listed = om.ok(request).list_volume_response.unwrap().volume_info;
        listed.into_iter().map(|v| v.volume).collect()
    };
    assert_eq!(shown(&mut om, volumes(Scope::VolumesByCluster, "")), ["vol1", "vol2"]);
    assert_eq!(shown(&mut om, volumes(Scope::VolumesByUser, "bob")), ["vol2"]);
    om.be("bob", "users");
    assert_eq!(shown(&mut om, volumes(Scope::UserVolumes, "")), ["vol2"]);
    assert_eq!(om.refused(volumes(Scope::VolumesByCluster, "")), Status::PermissionDenied);
    assert_eq!(om.refused(volumes(Scope::VolumesByUser, "ann")), Status::PermissionDenied);
    om.settings.authorization.list_all_volumes = true;
    assert_eq!(shown(&mut om, volumes(Scope::VolumesByCluster, "")), ["vol1", "vol2"]);
}

#[test]
fn secrets_are_their_users_and_the_s3_administrators() {
    let mut om = guarded();
    let secret = |id: &str| {
        let r = GetS3SecretRequest { kerberos_id: id.to_owned(), create_if_not_exist: Some(true) };
        OmRequest { get_s3_secret_request: Some(Box::new(r)), ..request(Type::GetS3Secret) }
    };
    om.be("bob", "users");
    om.ok(secret("bob"));
    assert_eq!(om.refused(secret("ann")), Status::UserMismatch);
    om.be("s3boss", "users");
    om.ok(secret("ann"));
}

#[test]
fn what_is_not_named_or_not_known_is_refused_to_strangers() {
    let mut om = guarded();
    om.be("bob", "users");
    // Their own volumes, and requests without stored data.
    let harmless = [Type::EchoRpc, Type::GetS3VolumeContext, Type::ListVolume];
    for command in 0..=300 {
        let nothing = OmRequest { cmd_type: command, ..request(Type::InfoVolume) };
        // Each command with each of its messages, empty.
        let mut all = nothing.encode_to_vec();
        for field in 11..=200u32 {
            prost::encoding::encode_key(field, WireType::LengthDelimited, &mut all);
            all.push(0);
        }
        let empty = OmRequest::decode(all.as_slice()).unwrap_or_else(|_| nothing.clone());
        for asked in [nothing, empty] {
            if Type::try_from(command).is_ok_and(|command| harmless.contains(&command)) {
                continue;
            }
            let answer = om.submit(asked);
            assert_eq!(answer.success, Some(false), "{answer:?}");
            assert_ne!(status(&answer), Status::InternalError, "{answer:?}");
        }
    }
    let list = |scope: i32| ListVolumeRequest { scope, ..Default::default() };
    for scope in [0, 4, -1, i32::MAX] {
        let list = Some(Box::new(list(scope)));
        let list = OmRequest { list_volume_request: list, ..request(Type::ListVolume) };
        assert_eq!(om.refused(list), Status::InvalidRequest, "scope {scope}");
    }
}

#[test]
fn who_may_complete_an_upload_may_see_its_parts() {
    let mut om = bob_with(READ, WRITE, WRITE);
    let upload = multipart::start(&mut om, "k");
    om.be("root", "root");
    let part = multipart::put_part(&mut om, "k", &upload, 1, 5);
    let list = multipart::list_parts("k", &upload, 0, 10);
    om.be("eve", "users");
    assert_eq!(om.refused(list.clone()), Status::PermissionDenied);
    om.be("bob", "users");
    let listed = om.ok(list).list_multipart_upload_parts_response.unwrap();
    assert_eq!(listed.parts_list.len(), 1);
    om.ok(complete(multipart::of_upload("k", &upload), vec![part]));
}
