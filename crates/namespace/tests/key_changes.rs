//! Commands on committed keys: rename, delete many, times, tags.

use namespace::Table;
use proto::ozone::*;

use crate::harness::*;

#[test]
fn a_renamed_key_is_the_same_object() {
    let mut om = Om::new();
    om.put("a", 10);
    om.put("b", 1);
    let before = om.key("a").unwrap();
    assert_eq!(om.refused(rename_key(args(BUCKET, "a"), "b")), Status::KeyAlreadyExists);
    assert_eq!(om.refused(rename_key(args(BUCKET, "none"), "c")), Status::KeyNotFound);
    assert_eq!(om.refused(rename_key(args(BUCKET, "a"), "")), Status::InvalidKeyName);
    assert_eq!(om.refused(rename_key(args(BUCKET, ""), "c")), Status::InvalidKeyName);
    om.ok(rename_key(args(BUCKET, "a"), "dir/c"));
    assert_eq!(om.rows(Table::KeyTable), ["/vol1/bucket1/b", "/vol1/bucket1/dir/c"]);
    let after = om.key("dir/c").unwrap();
    assert_eq!(after.key_name, "dir/c");
    assert_eq!((after.object_id, after.data_size), (before.object_id, before.data_size));
    assert_eq!(after.update_id, Some(om.log.len() as u64));
    assert_eq!(om.used(), (33, 2, 0, 0));
}

#[test]
fn renames_in_one_request_see_each_other() {
    let mut om = Om::new();
    for key in ["a", "b", "x"] {
        om.put(key, 1);
    }
    let pair = |from: &str, to: &str| RenameKeysMap {
        from_key_name: from.to_owned(),
        to_key_name: to.to_owned(),
    };
    let rename = |pairs: Vec<RenameKeysMap>| OmRequest {
        rename_keys_request: Some(Box::new(RenameKeysRequest {
            rename_keys_args: RenameKeysArgs {
                volume_name: VOL.to_owned(),
                bucket_name: BUCKET.to_owned(),
                rename_keys_map: pairs,
                ..RenameKeysArgs::default()
            },
        })),
        ..request(Type::RenameKeys)
    };
    let r = om.submit(rename(vec![
        pair("a", "c"),
        pair("b", "a"),
        pair("a", "x"),
        pair("none", "y"),
        pair("b", "z"),
    ]));
    assert_eq!((status(&r), r.success), (Status::PartialRename, Some(false)));
    let r = r.rename_keys_response.unwrap();
    assert_eq!(r.status, Some(false));
    assert_eq!(r.un_renamed_keys, [pair("a", "x"), pair("none", "y"), pair("b", "z")]);
    assert_eq!(om.rows(Table::KeyTable), ["/vol1/bucket1/a", "/vol1/bucket1/c", "/vol1/bucket1/x"]);
    let r = om.ok(rename(vec![pair("c", "b")])).rename_keys_response.unwrap();
    assert_eq!((r.status, r.un_renamed_keys.len()), (Some(true), 0));
}

#[test]
fn many_keys_are_deleted_and_the_others_named() {
    let mut om = Om::new();
    for key in ["a", "b", "c"] {
        om.put(key, 1);
    }
    let r = om.submit(delete_keys(&["a", "none", "b", "a"]));
    assert_eq!((status(&r), r.success), (Status::PartialDelete, Some(false)));
    let r = r.delete_keys_response.unwrap();
    assert_eq!(r.status, Some(false));
    assert_eq!(r.un_deleted_keys.unwrap().keys, ["none", "a"]);
    let errors: Vec<_> =
        r.errors.iter().map(|e| (e.key.as_deref(), e.error_code.as_deref())).collect();
    assert_eq!(errors, [(Some("none"), Some("KEY_NOT_FOUND")), (Some("a"), Some("KEY_NOT_FOUND"))]);
    assert_eq!(om.rows(Table::KeyTable), ["/vol1/bucket1/c"]);
    assert_eq!(om.deleted().len(), 2);
    assert_eq!(om.used(), (3, 1, 6, 2));
    let r = om.ok(delete_keys(&["c"])).delete_keys_response.unwrap();
    assert_eq!((r.status, r.errors.len()), (Some(true), 0));
    assert_eq!(om.used(), (0, 0, 9, 3));
}

#[test]
fn times_are_set_unless_they_are_minus_one() {
    let mut om = Om::new();
    om.put("k", 1);
    let set = |key: &str, mtime: i64| OmRequest {
        set_times_request: Some(Box::new(SetTimesRequest {
            key_args: args(BUCKET, key),
            mtime: mtime as u64,
            atime: 0,
        })),
        ..request(Type::SetTimes)
    };
    om.ok(set("k", 77));
    assert_eq!(om.key("k").unwrap().modification_time, 77);
    om.ok(set("k", -1));
    assert_eq!(om.key("k").unwrap().modification_time, 77);
    assert_eq!(om.refused(set("k", -2)), Status::InvalidRequest);
    assert_eq!(om.refused(set("none", 1)), Status::KeyNotFound);
}

#[test]
fn tags_are_put_got_and_deleted() {
    let mut om = Om::new();
    om.put("k", 1);
    let modified = om.key("k").unwrap().modification_time;
    let put = |key: &str, tags: Vec<_>| OmRequest {
        put_object_tagging_request: Some(Box::new(PutObjectTaggingRequest {
            key_args: KeyArgs { tags, ..args(BUCKET, key) },
        })),
        ..request(Type::PutObjectTagging)
    };
    let get = OmRequest {
        get_object_tagging_request: Some(Box::new(GetObjectTaggingRequest {
            key_args: args(BUCKET, "k"),
        })),
        ..request(Type::GetObjectTagging)
    };
    let delete = OmRequest {
        delete_object_tagging_request: Some(Box::new(DeleteObjectTaggingRequest {
            key_args: args(BUCKET, "k"),
        })),
        ..request(Type::DeleteObjectTagging)
    };
    let tags = |om: &mut Om| om.ok(get.clone()).get_object_tagging_response.unwrap().tags;
    assert!(tags(&mut om).is_empty());
    om.ok(put("k", vec![entry("a", "1"), entry("b", "2")]));
    om.ok(put("k", vec![entry("a", "3"), entry("c", "4")]));
    assert_eq!(tags(&mut om), [entry("a", "3"), entry("c", "4")]);
    om.ok(delete);
    assert!(tags(&mut om).is_empty());
    assert_eq!(om.key("k").unwrap().modification_time, modified);
    assert_eq!(om.refused(put("none", vec![])), Status::KeyNotFound);
}

#[test]
fn an_echo_is_as_long_as_asked() {
    let mut om = Om::new();
    let echo = |read_only| OmRequest {
        echo_rpc_request: Some(Box::new(EchoRpcRequest {
            payload_req: Some(vec![1, 2, 3].into()),
            payload_size_resp: Some(7),
            read_only: Some(read_only),
        })),
        ..request(Type::EchoRpc)
    };
    for read_only in [true, false] {
        let r = om.ok(echo(read_only)).echo_rpc_response.unwrap();
        assert_eq!(r.payload.unwrap(), &[1, 2, 3, 1, 2, 3, 1][..]);
    }
}
