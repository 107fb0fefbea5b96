//! ACLs of volumes, buckets and keys.

use proto::ozone::ozone_acl_info::{OzoneAclScope, OzoneAclType};
use proto::ozone::ozone_obj::{ObjectType, StoreType};
use proto::ozone::*;

use crate::harness::*;

fn obj(kind: ObjectType, path: &str) -> OzoneObj {
    OzoneObj { res_type: kind as i32, store_type: StoreType::Ozone as i32, path: path.to_owned() }
}

fn acl(name: &str, rights: &'static [u8]) -> OzoneAclInfo {
    OzoneAclInfo {
        r#type: OzoneAclType::User as i32,
        name: name.to_owned(),
        rights: rights.into(),
        acl_scope: OzoneAclScope::Access as i32,
    }
}

fn add(obj: &OzoneObj, acl: OzoneAclInfo) -> OmRequest {
    let r = AddAclRequest { obj: obj.clone(), acl, modification_time: None };
    OmRequest { add_acl_request: Some(Box::new(r)), ..request(Type::AddAcl) }
}

fn get(om: &mut Om, obj: &OzoneObj) -> Vec<OzoneAclInfo> {
    let r = GetAclRequest { obj: obj.clone() };
    let r = OmRequest { get_acl_request: Some(Box::new(r)), ..request(Type::GetAcl) };
    om.ok(r).get_acl_response.unwrap().acls
}

#[test]
fn acls_are_added_removed_and_set_on_every_kind_of_object() {
    let mut om = Om::new();
    om.put("dir/key", 1);
    for obj in [
        obj(ObjectType::Volume, "/vol1"),
        obj(ObjectType::Bucket, "/vol1/bucket1"),
        obj(ObjectType::Key, "/vol1/bucket1/dir/key"),
    ] {
        let defaults = get(&mut om, &obj);
        assert_eq!(defaults.len(), 2);
        let r = om.ok(add(&obj, acl("bob", &[0x01]))).add_acl_response.unwrap();
        assert!(r.response);
        let r = om.ok(add(&obj, acl("bob", &[0x01]))).add_acl_response.unwrap();
        assert!(!r.response, "there already");
        assert_eq!(get(&mut om, &obj)[2], acl("bob", &[0x01]));

        let remove = RemoveAclRequest {
            obj: obj.clone(),
            acl: acl("bob", &[0x01]),
            modification_time: None,
        };
        let remove =
            OmRequest { remove_acl_request: Some(Box::new(remove)), ..request(Type::RemoveAcl) };
        assert!(om.ok(remove.clone()).remove_acl_response.unwrap().response);
        assert!(!om.ok(remove).remove_acl_response.unwrap().response);
        assert_eq!(get(&mut om, &obj), defaults);

        let set = SetAclRequest {
            obj: obj.clone(),
            acl: vec![acl("eve", &[0x80])],
            modification_time: None,
        };
        om.ok(OmRequest { set_acl_request: Some(Box::new(set)), ..request(Type::SetAcl) });
        assert_eq!(get(&mut om, &obj), [acl("eve", &[0x80])]);
    }
    assert_eq!(om.used(), (3, 1, 0, 0), "the counters are as they were");
}

#[test]
fn a_change_of_a_links_acls_is_one_of_its_sources() {
    let mut om = Om::new();
    let make_link = |name: &str, to: &str| {
        make_bucket(BucketInfo {
            source_volume: Some(VOL.to_owned()),
            source_bucket: Some(to.to_owned()),
            ..bucket_info(VOL, name)
        })
    };
    om.ok(make_link("link1", BUCKET));
    om.ok(make_link("link2", "link1"));
    let link = obj(ObjectType::Bucket, "/vol1/link2");
    let source = obj(ObjectType::Bucket, "/vol1/bucket1");
    let (before, own) = (get(&mut om, &source), get(&mut om, &link));

    assert!(om.ok(add(&link, acl("bob", &[0x01]))).add_acl_response.unwrap().response);
    assert_eq!(get(&mut om, &source)[2], acl("bob", &[0x01]));
    let remove =
        RemoveAclRequest { obj: link.clone(), acl: acl("bob", &[0x01]), modification_time: None };
    om.ok(OmRequest { remove_acl_request: Some(Box::new(remove)), ..request(Type::RemoveAcl) });
    assert_eq!(get(&mut om, &source), before);
    let set = SetAclRequest {
        obj: link.clone(),
        acl: vec![acl("eve", &[0x80])],
        modification_time: None,
    };
    om.ok(OmRequest { set_acl_request: Some(Box::new(set)), ..request(Type::SetAcl) });
    assert_eq!(get(&mut om, &source), [acl("eve", &[0x80])]);
    assert_eq!(get(&mut om, &link), own, "a link's own ACLs stay as they were");

    om.ok(make_link("dangling", "none"));
    let dangling = obj(ObjectType::Bucket, "/vol1/dangling");
    assert_eq!(om.refused(add(&dangling, acl("bob", &[1]))), Status::BucketNotFound);
}

#[test]
fn paths_must_fit_their_kind() {
    let mut om = Om::new();
    for (kind, path, expected) in [
        (ObjectType::Volume, "/none", Status::VolumeNotFound),
        (ObjectType::Bucket, "/vol1/none", Status::BucketNotFound),
        (ObjectType::Key, "/vol1/bucket1/none", Status::KeyNotFound),
        (ObjectType::Volume, "/vol1/bucket1", Status::InvalidPathInAclRequest),
        (ObjectType::Bucket, "/vol1", Status::InvalidPathInAclRequest),
        (ObjectType::Key, "/vol1/bucket1/", Status::InvalidPathInAclRequest),
        (ObjectType::Volume, "", Status::InvalidPathInAclRequest),
        (ObjectType::Prefix, "/vol1/bucket1/p", Status::InvalidPathInAclRequest),
        (ObjectType::Prefix, "/vol1/none/p/", Status::BucketNotFound),
    ] {
        assert_eq!(om.refused(add(&obj(kind, path), acl("bob", &[1]))), expected, "{path}");
    }
}

#[test]
fn keys_inherit_the_default_acls_of_their_bucket() {
    let mut om = Om::new();
    let bucket = obj(ObjectType::Bucket, "/vol1/bucket1");
    let mut default = acl("bob", &[0x03]);
    default.acl_scope = OzoneAclScope::Default as i32;
    om.ok(add(&bucket, default));
    om.put("k", 1);
    let names: Vec<String> = om.key("k").unwrap().acls.into_iter().map(|a| a.name).collect();
    assert_eq!(names, ["ann", "staff", "bob"]);
    let key = obj(ObjectType::Key, "/vol1/bucket1/k");
    assert_eq!(get(&mut om, &key)[2], acl("bob", &[0x03]));
}

#[test]
fn prefixes_have_acls_that_keys_below_inherit_instead_of_the_buckets() {
    let mut om = Om::new();
    let default = |name: &str| OzoneAclInfo {
        acl_scope: OzoneAclScope::Default as i32,
        ..acl(name, &[0x01])
    };
    let prefix = obj(ObjectType::Prefix, "/vol1/bucket1/a/b/");
    om.ok(add(&obj(ObjectType::Bucket, "/vol1/bucket1"), default("bob")));
    assert!(get(&mut om, &prefix).is_empty());
    om.ok(add(&prefix, default("carol")));
    assert_eq!(get(&mut om, &prefix), [default("carol"), default("bob")], "with the bucket's");
    om.put("a/b/c/k", 1);
    om.put("a/k", 1);
    let mut names = |key: &str| -> Vec<String> {
        get(&mut om, &obj(ObjectType::Key, key)).into_iter().map(|a| a.name).collect()
    };
    assert_eq!(names("/vol1/bucket1/a/b/c/k"), ["ann", "staff", "carol", "bob"]);
    assert_eq!(names("/vol1/bucket1/a/k"), ["ann", "staff", "bob"]);

    let remove = |acl| {
        let r = RemoveAclRequest { obj: prefix.clone(), acl, modification_time: None };
        OmRequest { remove_acl_request: Some(Box::new(r)), ..request(Type::RemoveAcl) }
    };
    om.ok(remove(default("carol")));
    om.ok(remove(default("bob")));
    assert!(om.rows(namespace::Table::PrefixTable).is_empty(), "nothing is left of it");
    assert_eq!(om.refused(remove(default("bob"))), Status::PrefixNotFound);
}
