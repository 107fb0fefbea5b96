//! Deleted keys on their way to SCM, and abandoned writes.

use std::collections::HashSet;

use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{World, blocks};

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_deleted_and_overwritten_keys_reach_scm_and_their_rows_go() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let mut dead = HashSet::new();
    for i in 0..50 {
        dead.extend(blocks(&om.put("vol", "bkt", &format!("k{i}"), 10).await));
    }
    let kept = blocks(&om.put("vol", "bkt", "kept", 10).await);
    dead.extend(blocks(&om.put("vol", "bkt", "again", 10).await));
    let new = blocks(&om.put("vol", "bkt", "again", 20).await);
    for i in 0..50 {
        om.ok(delete_key("vol", "bkt", &format!("k{i}"))).await;
    }
    let deleted = || world.scm.deleted_blocks.lock().unwrap().clone();
    until("all dead blocks are at SCM", async || deleted() == dead).await;
    assert!(kept.iter().chain(&new).all(|b| !deleted().contains(b)));
    // Purged: nothing is sent a second time, and the counters are back.
    let sent = world.scm.deleted_keys.lock().unwrap().len();
    om.handle.background().run("KeyDeletingService");
    let bucket = loop {
        let bucket = om.bucket_info("vol", "bkt").await;
        if bucket.snapshot_used_bytes == Some(0) {
            break bucket;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(bucket.used_namespace, Some(2));
    assert_eq!(bucket.used_bytes, Some(3 * 30));
    assert_eq!(world.scm.deleted_keys.lock().unwrap().len(), sent);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scm_refuses_is_offered_again() {
    let world = World::new().await.with("trioxide.om.key.deleting.service.interval", "50ms");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    *world.scm.refuse_deleting.lock().unwrap() = Some("stubborn".to_owned());
    om.put("vol", "bkt", "stubborn", 10).await;
    om.put("vol", "bkt", "willing", 10).await;
    om.ok(delete_key("vol", "bkt", "stubborn")).await;
    om.ok(delete_key("vol", "bkt", "willing")).await;
    let sent = |name: &str| {
        world.scm.deleted_keys.lock().unwrap().iter().filter(|k| k.contains(name)).count()
    };
    until("the other key is deleted", async || sent("willing") == 1).await;
    assert_eq!(sent("stubborn"), 0);
    *world.scm.refuse_deleting.lock().unwrap() = None;
    until("and then this one", async || sent("stubborn") == 1).await;
    om.handle.shutdown().await;
}

/// A reader that looked a key up before has some time to read it.
#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_kept_for_readers_for_a_while() {
    const KEPT: &str = "trioxide.om.deleted.blocks.kept";
    let world = World::new()
        .await
        .with("trioxide.om.key.deleting.service.interval", "20ms")
        .with("ozone.snapshot.deleting.service.interval", "20ms")
        .with(KEPT, "1h");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let mut all: HashSet<_> = blocks(&om.put("vol", "bkt", "k", 10).await).into_iter().collect();
    all.extend(blocks(&om.put("vol", "bkt", "k", 20).await));
    om.ok(delete_key("vol", "bkt", "k")).await;
    for _ in 0..20 {
        om.handle.background().run("KeyDeletingService");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(world.scm.deleted_blocks.lock().unwrap().is_empty(), "they are not an hour old");
    om.handle.shutdown().await;

    // An OM that starts has no age of them: it counts from its start.
    let world = world.with(KEPT, "1s");
    let began = std::time::Instant::now();
    let om = world.start().await;
    until("they go after a second", async || {
        let gone = world.scm.deleted_blocks.lock().unwrap().is_superset(&all);
        assert!(!gone || began.elapsed() >= std::time::Duration::from_secs(1));
        gone
    })
    .await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_keys_and_uploads_nobody_finishes_are_cleaned_up() {
    let world = World::new()
        .await
        .with("ozone.om.open.key.cleanup.service.interval", "50ms")
        .with("ozone.om.open.key.expire.threshold", "1s")
        .with("ozone.om.open.mpu.cleanup.service.interval", "50ms")
        .with("ozone.om.open.mpu.expire.threshold", "1s");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let (session, args) = om.open(key_args("vol", "bkt", "left", 10)).await;
    let initiate = MultipartInfoInitiateRequest { key_args: key_args("vol", "bkt", "mpu", 0) };
    let upload = om
        .ok(OmRequest {
            initiate_multi_part_upload_request: Some(Box::new(initiate)),
            ..request(Type::InitiateMultiPartUpload)
        })
        .await;
    let upload = upload.initiate_multi_part_upload_response.unwrap().multipart_upload_id;
    let given: HashSet<(i64, i64)> = args
        .key_locations
        .iter()
        .map(|l| &l.block_id.container_block_id)
        .map(|id| (id.container_id, id.local_id))
        .collect();
    until("the blocks of the open key are deleted", async || {
        world.scm.deleted_blocks.lock().unwrap().is_superset(&given)
    })
    .await;
    assert_eq!(om.refused(commit_key(args, session)).await, Status::KeyNotFound);
    // The abort of an upload frees no blocks here, so it is waited for by asking.
    until("the upload to be aborted", async || {
        let asked = om.ask(list_parts("vol", "bkt", "mpu", &upload)).await;
        asked.status() == Status::NoSuchMultipartUploadError
    })
    .await;
    om.handle.shutdown().await;
}
