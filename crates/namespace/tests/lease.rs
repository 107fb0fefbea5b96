//! Keys that are synced before they are closed, and their recovery from a writer that disappeared.

use proto::ozone::*;

use crate::harness::*;

fn recover(key: &str, force: bool) -> OmRequest {
    recover_in(BUCKET, key, force)
}

fn recover_in(bucket: &str, key: &str, force: bool) -> OmRequest {
    let r = RecoverLeaseRequest {
        volume_name: Some(VOL.to_owned()),
        bucket_name: Some(bucket.to_owned()),
        key_name: Some(key.to_owned()),
        force: Some(force),
        // A client's value is ignored.
        now: Some(u64::MAX),
        soft_limit: Some(0),
    };
    OmRequest { recover_lease_request: Some(Box::new(r)), ..request(Type::RecoverLease) }
}

fn list_open(path: &str, count: u32, token: Option<String>) -> OmRequest {
    let r = ListOpenFilesRequest { path: Some(path.to_owned()), count: Some(count), token };
    OmRequest { list_open_files_request: Some(Box::new(r)), ..request(Type::ListOpenFiles) }
}

/// Opens a key and syncs `synced` bytes of it; its session and blocks.
fn synced(om: &mut Om, key: &str, synced: u64) -> (u64, Vec<KeyLocation>) {
    let (id, blocks) = om.open(BUCKET, key, 10);
    om.ok(sync(key, id, synced, &blocks));
    (id, blocks)
}

fn sync(key: &str, id: u64, size: u64, blocks: &[KeyLocation]) -> OmRequest {
    let key_locations = used(blocks.to_vec(), size);
    commit_key(KeyArgs { data_size: Some(size), key_locations, ..args(BUCKET, key) }, id, true)
}

fn close(key: &str, id: u64, size: u64, blocks: &[KeyLocation]) -> OmRequest {
    commit(BUCKET, key, id, size, used(blocks.to_vec(), size))
}

/// The commit of a recovery, which has no session.
fn finish(key: &str, size: u64, blocks: &[KeyLocation]) -> OmRequest {
    let mut request = close(key, 0, size, blocks);
    request.commit_key_request.as_mut().unwrap().recovery = Some(true);
    request
}

fn text(om: &mut Om, request: OmRequest) -> String {
    let response = om.submit(request);
    assert_eq!(response.success, Some(false));
    response.message.unwrap()
}

#[test]
fn without_the_setting_nothing_is_synced() {
    let mut om = Om::new();
    om.settings.hsync = false;
    let (id, blocks) = om.open(BUCKET, "k", 10);
    let request = sync("k", id, 5, &blocks);
    assert_eq!(om.refused(request.clone()), Status::NotSupportedOperation);
    assert!(text(&mut om, request).starts_with("Hsync is not enabled."));
}

#[test]
fn a_synced_key_is_seen_grows_and_is_closed() {
    let mut om = Om::new();
    let (id, blocks) = synced(&mut om, "k", 4);
    assert_eq!((om.key("k").unwrap().data_size, om.used()), (4, (12, 1, 0, 0)));
    om.ok(sync("k", id, 7, &blocks));
    assert_eq!((om.key("k").unwrap().data_size, om.used()), (7, (21, 1, 0, 0)));
    om.ok(close("k", id, 9, &blocks));
    let key = om.key("k").unwrap();
    assert_eq!((key.data_size, key.metadata.len(), om.used()), (9, 0, (27, 1, 0, 0)));
    assert!(om.rows(namespace::Table::OpenKeyTable).is_empty());
    assert!(om.deleted().is_empty());
}

#[test]
fn a_lease_is_recovered_after_the_soft_limit_or_by_force() {
    let mut om = Om::new();
    let (id, blocks) = synced(&mut om, "k", 4);
    assert_eq!(om.refused(recover("k", false)), Status::KeyUnderLeaseSoftLimitPeriod);
    om.now += om.settings.lease_soft_limit_ms;
    let recovered = om.ok(recover("k", false)).recover_lease_response.unwrap();
    assert_eq!(
        local_ids(&recovered.key_info.unwrap()),
        local_ids(&recovered.open_key_info.unwrap())
    );
    // The writer is out.
    for request in [
        sync("k", id, 8, &blocks),
        close("k", id, 8, &blocks),
        allocate_block(args(BUCKET, "k"), id),
    ] {
        assert_eq!(om.refused(request), Status::KeyUnderLeaseRecovery);
    }
    om.ok(recover("k", false));
    om.ok(finish("k", 6, &blocks));
    let key = om.key("k").unwrap();
    assert_eq!((key.data_size, key.metadata.len(), om.used()), (6, 0, (18, 1, 0, 0)));
    assert!(om.rows(namespace::Table::OpenKeyTable).is_empty());
    assert_eq!(om.refused(recover("k", true)), Status::KeyAlreadyClosed);
    assert_eq!(om.refused(finish("k", 6, &blocks)), Status::KeyAlreadyClosed);
    assert_eq!(om.refused(close("k", id, 8, &blocks)), Status::KeyNotFound);

    synced(&mut om, "l", 4);
    om.ok(recover("l", true));
}

#[test]
fn there_is_nothing_to_recover_of_what_is_not_there() {
    let mut om = Om::new();
    assert_eq!(om.refused(recover("k", true)), Status::KeyNotFound);
    om.open(BUCKET, "k", 10);
    assert_eq!(om.refused(recover("k", true)), Status::KeyNotFound, "open and never synced");
    let (id, blocks) = synced(&mut om, "gone", 4);
    om.ok(delete_key(args(BUCKET, "gone")));
    assert_eq!(om.refused(recover("gone", true)), Status::KeyNotFound);
    assert_eq!(om.refused(close("gone", id, 4, &blocks)), Status::KeyNotFound);
    assert_eq!(om.refused(allocate_block(args(BUCKET, "gone"), id)), Status::KeyNotFound);
    let (_, old) = synced(&mut om, "over", 4);
    om.put("over", 8);
    assert_eq!(om.refused(recover("over", true)), Status::KeyAlreadyClosed);
    assert_eq!(om.refused(finish("over", 4, &old)), Status::KeyAlreadyClosed);
    synced(&mut om, "moved", 4);
    assert_eq!(om.refused(rename_key(args(BUCKET, "moved"), "new")), Status::RenameOpenFile);
}

#[test]
fn a_directory_has_no_lease() {
    let mut om = Om::with_paths();
    for bucket in [TREE, LEGACY] {
        om.ok(mkdir(args(bucket, "d/e")));
        for path in ["d", "d/e"] {
            assert_eq!(
                om.refused(recover_in(bucket, path, true)),
                Status::NotAFile,
                "{bucket} {path}"
            );
        }
        assert_eq!(om.refused(recover_in(bucket, "d/f", true)), Status::KeyNotFound, "{bucket}");
    }
    om.put("k/", 1);
    assert_eq!(om.refused(recover("k", true)), Status::KeyNotFound, "no paths here");
}

#[test]
fn open_files_are_listed_page_by_page() {
    let mut om = Om::new();
    om.ok(create_bucket(VOL, "bucket2"));
    for key in ["a/1", "a/2", "b"] {
        om.open(BUCKET, key, 1);
    }
    om.open("bucket2", "a/1", 1);
    om.ok(initiate(args(BUCKET, "upload")));
    synced(&mut om, "a/3", 4);
    let mut names = |path: &str| {
        let (mut names, mut token) = (Vec::new(), None);
        loop {
            let page = om.ok(list_open(path, 2, token)).list_open_files_response.unwrap();
            assert_eq!(page.key_info.len(), page.client_id.len());
            names.extend(page.key_info.into_iter().map(|key| key.key_name));
            token = page.continuation_token;
            assert_eq!(token.is_some(), page.has_more == Some(true));
            if token.is_none() {
                return names;
            }
        }
    };
    assert_eq!(names("/"), ["a/1", "a/2", "a/3", "b", "a/1"]);
    assert_eq!(names("/vol1/bucket1"), ["a/1", "a/2", "a/3", "b"]);
    assert_eq!(names("/vol1/bucket1/a/"), ["a/1", "a/2", "a/3"]);
    assert_eq!(names("vol1/bucket2"), ["a/1"]);
    assert_eq!(om.refused(list_open("/vol1", 2, None)), Status::InvalidPath);
    assert_eq!(om.refused(list_open("/vol1/none", 2, None)), Status::BucketNotFound);
}
