//! Snapshots of buckets over crashes and fail-overs.

use std::collections::HashSet;

use futures::StreamExt;
use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::service::{Service, ok};
use crate::support::{TestOm, World, blocks};

fn create_snapshot(name: &str) -> OmRequest {
    let create = CreateSnapshotRequest {
        volume_name: Some("vol".to_owned()),
        bucket_name: Some("bkt".to_owned()),
        snapshot_name: Some(name.to_owned()),
        ..CreateSnapshotRequest::default()
    };
    OmRequest { create_snapshot_request: Some(Box::new(create)), ..request(Type::CreateSnapshot) }
}

fn delete_snapshot(name: &str) -> OmRequest {
    let delete = DeleteSnapshotRequest {
        volume_name: Some("vol".to_owned()),
        bucket_name: Some("bkt".to_owned()),
        snapshot_name: Some(name.to_owned()),
        deletion_time: None,
    };
    OmRequest { delete_snapshot_request: Some(Box::new(delete)), ..request(Type::DeleteSnapshot) }
}

fn list_snapshots() -> OmRequest {
    let list = ListSnapshotRequest {
        volume_name: Some("vol".to_owned()),
        bucket_name: Some("bkt".to_owned()),
        ..ListSnapshotRequest::default()
    };
    OmRequest { list_snapshot_request: Some(Box::new(list)), ..request(Type::ListSnapshot) }
}

async fn snapshots(om: &TestOm) -> Vec<SnapshotInfo> {
    om.ok(list_snapshots()).await.list_snapshot_response.unwrap().snapshot_info
}

/// Keys of two snapshots and the bucket, one by one.
async fn shown(om: &TestOm) -> Vec<KeyInfo> {
    let mut keys = Vec::new();
    for prefix in [".snapshot/old/", ".snapshot/new/", ""] {
        for name in om.names("vol", "bkt", prefix).await {
            let mut key = om.info("vol", "bkt", &name).await;
            // Where replicas are is asked of SCM each time.
            key.key_location_list.iter_mut().for_each(|version| {
                version.key_locations.iter_mut().for_each(|location| location.pipeline = None);
            });
            keys.push(key);
        }
    }
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_are_the_same_after_a_crash() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for i in 0..20 {
        om.put("vol", "bkt", &format!("k{i:02}"), 10).await;
    }
    om.ok(create_snapshot("old")).await;
    for i in 0..10 {
        om.ok(delete_key("vol", "bkt", &format!("k{i:02}"))).await;
    }
    om.put("vol", "bkt", "k15", 100).await;
    om.put("vol", "bkt", "between", 7).await;
    om.ok(create_snapshot("new")).await;
    om.ok(rename_key("vol", "bkt", "k16", "renamed")).await;
    om.ok(delete_key("vol", "bkt", "between")).await;
    let (before, all) = (snapshots(&om).await, shown(&om).await);
    let sizes: Vec<_> = before.iter().map(|s| (s.name(), s.exclusive_size())).collect();
    assert_eq!(sizes, [("new", 7), ("old", 110)], "`new` shows no key deleted before it");
    assert_eq!(all.len(), 20 + 11 + 10);

    let image = world.crash_image();
    let again = world.start_in(image.path()).await;
    assert_eq!(snapshots(&again).await, before);
    assert_eq!(shown(&again).await, all);
    // It continues there.
    again.ok(delete_snapshot("old")).await;
    let only = |found: Vec<SnapshotInfo>| found.len() == 1 && found[0].exclusive_size() == 7;
    until("the snapshot to go", async || {
        again.handle.background().run("SnapshotDeletingService");
        only(snapshots(&again).await)
    })
    .await;
    again.handle.shutdown().await;
    om.handle.shutdown().await;
}

/// Orders to delete blocks go out before OM's tables are flushed: whatever of them a crash costs,
/// the log brings the deletion of the snapshot back.
#[tokio::test(flavor = "multi_thread")]
async fn no_snapshot_has_blocks_after_a_crash_that_scm_was_told_to_delete() {
    let world = World::new()
        .await
        .with("trioxide.om.key.deleting.service.interval", "20ms")
        .with("ozone.snapshot.deleting.service.interval", "20ms");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "k", 10).await;
    om.ok(create_snapshot("kept")).await;
    let of_kept = blocks(&om.info("vol", "bkt", "k").await);
    om.ok(delete_key("vol", "bkt", "k")).await;
    om.put("vol", "bkt", "l", 10).await;
    let of_snap = blocks(&om.info("vol", "bkt", "l").await);
    om.ok(create_snapshot("snap")).await;
    om.ok(delete_key("vol", "bkt", "l")).await;
    om.ok(delete_snapshot("snap")).await;
    until("the blocks of the deleted snapshot go", async || {
        let deleted = world.scm.deleted_blocks.lock().unwrap();
        of_snap.iter().all(|block| deleted.contains(block))
    })
    .await;
    let image = world.crash_image();
    let told = world.scm.deleted_blocks.lock().unwrap().clone();
    let again = world.start_in(image.path()).await;
    let left = snapshots(&again).await;
    let active = |s: &&SnapshotInfo| s.snapshot_status() == SnapshotStatusProto::SnapshotActive;
    let active: Vec<_> = left.iter().filter(active).map(SnapshotInfo::name).collect();
    assert_eq!(active, ["kept"]);
    let lost = again.refused(get_key_info(key_args("vol", "bkt", ".snapshot/snap/l", 0))).await;
    assert_eq!(lost, Status::FileNotFound);
    let shown = blocks(&again.info("vol", "bkt", ".snapshot/kept/k").await);
    assert_eq!(shown, of_kept);
    assert!(shown.iter().all(|block| !told.contains(block)));
    again.handle.shutdown().await;
    om.handle.shutdown().await;
}

/// An overwrite puts its unused new blocks into a row of the deletedTable. The version that it
/// replaced is added to the same row after the deletion of the snapshot that shows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_comes_to_a_row_that_is_purged_meanwhile_is_deleted_too() {
    let world = World::new().await.with("trioxide.om.key.deleting.service.interval", "20ms");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let mut dead: HashSet<_> = blocks(&om.put("vol", "bkt", "k", 10).await).into_iter().collect();
    om.ok(create_snapshot("snap")).await;
    let held_up = world.scm.deletions.write().await;
    let (session, mut args) = om.open(key_args("vol", "bkt", "k", 600 << 20)).await;
    for unused in args.key_locations.split_off(1) {
        let id = unused.block_id.container_block_id;
        dead.insert((id.container_id, id.local_id));
    }
    args.data_size = Some(args.key_locations[0].length);
    om.ok(commit_key(args, session)).await;
    // The row was read, and will be purged once SCM has answered.
    world.scm.called_deleting.notified().await;
    om.ok(delete_snapshot("snap")).await;
    // Time in which the snapshot could be taken apart, which has to wait for the purge.
    for _ in 0..100 {
        om.handle.background().run("SnapshotDeletingService");
        if snapshots(&om).await.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    drop(held_up);
    until("the blocks of the version are deleted, too", async || {
        om.handle.background().run("SnapshotDeletingService");
        world.scm.deleted_blocks.lock().unwrap().is_superset(&dead)
    })
    .await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_taken_apart_by_one_leader_after_the_other() {
    // Rows of the layer: two for each key, several batches of the service.
    const KEYS: usize = 1_200;
    let world = World::new()
        .await
        .with("ozone.snapshot.deleting.service.interval", "200ms")
        .with("ozone.snapshot.key.deleting.limit.per.task", "500")
        .with("trioxide.om.key.deleting.service.interval", "20ms");
    let mut service = Service::start(world).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    ok(&client, create_bucket("vol", "bkt")).await;
    let put = async |i: usize| {
        let args = key_args("vol", "bkt", &format!("k{i:04}"), 10);
        let made = ok(&client, create_key(args.clone())).await.create_key_response.unwrap();
        let key = made.key_info.unwrap();
        let locations = key.key_location_list.last().unwrap().key_locations.clone();
        let args = KeyArgs { key_locations: locations, ..args };
        ok(&client, commit_key(args, made.id.unwrap())).await;
        blocks(&key)
    };
    let all = || futures::stream::iter(0..KEYS);
    let written: HashSet<_> =
        all().map(put).buffer_unordered(64).flat_map(futures::stream::iter).collect().await;
    ok(&client, create_snapshot("snap")).await;
    let delete = async |i: usize| ok(&client, delete_key("vol", "bkt", &format!("k{i:04}"))).await;
    all().map(delete).buffer_unordered(64).for_each(async |_| ()).await;
    assert!(service.world.scm.deleted_blocks.lock().unwrap().is_empty(), "the snapshot has them");
    ok(&client, delete_snapshot("snap")).await;

    let deleted = |service: &Service| service.world.scm.deleted_blocks.lock().unwrap().len();
    let mut seen = 0;
    for _ in 0..2 {
        let more = async || deleted(&service) > seen || seen == KEYS;
        testkit::until("some more blocks go", more).await;
        let leader = service.leader().await;
        service.kill(leader).await;
        seen = deleted(&service);
        service.revive(leader).await;
        service.settled().await;
    }
    let gone = || service.world.scm.deleted_blocks.lock().unwrap().clone();
    until("all blocks are deleted", async || gone() == written).await;
    testkit::until("the snapshot is deleted", async || {
        let listed = ok(&client, list_snapshots()).await.list_snapshot_response.unwrap();
        listed.snapshot_info.is_empty()
    })
    .await;
    service.stop().await;
}
