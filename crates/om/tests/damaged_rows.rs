//! Unreadable rows stop no background service, and clients cannot have such rows written.

use std::path::Path;

use metastore::{Batch, Durability, Store, StoreOptions};
use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{World, blocks};

/// Puts rows that do not decode into the tables that background services go through.
fn damage(dir: &Path) {
    let store = Store::open(&dir.join("om.db"), &[], &StoreOptions::default()).unwrap();
    let mut batch = Batch::new();
    for (table, key) in [
        // In front of all others.
        ("deletedTable", &b"/a/a/a/1"[..]),
        ("deletedTable", b"\xff\xfe"),
        ("deletedTable", b"no bucket"),
        ("deletedDirectoryTable", b"/1/1/1/a/1"),
        ("deletedDirectoryTable", b"\x01\xff"),
        ("openKeyTable", b"/a/a/a/1"),
        ("multipartInfoTable", b"/a/a/a/1"),
        ("bucketTable", b"/a/a"),
        ("snapshotInfoTable", b"/a/a/a"),
    ] {
        batch.put(store.table(table).unwrap(), key, b"\xff\xff\xff".to_vec());
    }
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_do_not_decode_stop_no_deletion() {
    let world = World::new()
        .await
        .with("ozone.om.open.key.cleanup.service.interval", "50ms")
        .with("ozone.om.open.mpu.cleanup.service.interval", "50ms");
    world.start().await.handle.shutdown().await;
    damage(world.dir.path());
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.tree("vol", "tree").await;
    let mut dead = Vec::new();
    for i in 0..3 {
        dead.extend(blocks(&om.put("vol", "bkt", &format!("k{i}"), 10).await));
        dead.extend(blocks(&om.put("vol", "tree", &format!("d/e/k{i}"), 10).await));
        om.ok(delete_key("vol", "bkt", &format!("k{i}"))).await;
    }
    let mut delete = delete_key("vol", "tree", "d");
    delete.delete_key_request.as_mut().unwrap().key_args.recursive = Some(true);
    om.ok(delete).await;
    let deleted = || world.scm.deleted_blocks.lock().unwrap().clone();
    until("all blocks are at SCM", async || dead.iter().all(|block| deleted().contains(block)))
        .await;
    for (service, skipped) in [
        ("KeyDeletingService", 3),
        ("DirectoryDeletingService", 2),
        ("OpenKeyCleanupService", 1),
        ("MultipartUploadCleanupService", 1),
        ("SnapshotDeletingService", 1),
    ] {
        let of = || om.handle.background().list().into_iter().find(|s| s.name == service).unwrap();
        om.handle.background().run(service);
        until("the rows are counted", async || of().skipped == skipped).await;
        assert_eq!(of().last_failure, None, "{service}");
    }
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_ask_for_what_om_does_by_itself() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let kept = blocks(&om.put("vol", "bkt", "kept", 10).await);
    let info = om.info("vol", "bkt", "kept").await;
    // The blocks of a live key, as if it had been deleted.
    let update = SnapshotMoveKeyInfos {
        key: Some("/vol/bkt/kept".to_owned()),
        key_infos: vec![info],
        bucket_id: None,
    };
    let purge = PurgeKeysRequest { keys_to_update: vec![update], ..Default::default() };
    let purge = OmRequest { purge_keys_request: Some(Box::new(purge)), ..request(Type::PurgeKeys) };
    assert_eq!(om.refused(purge).await, Status::PermissionDenied);
    for command in [
        Type::PurgeDirectories,
        Type::DeleteOpenKeys,
        Type::AbortExpiredMultiPartUploads,
        Type::QuotaRepair,
    ] {
        assert_eq!(om.refused(request(command)).await, Status::PermissionDenied);
    }
    // Only blocks deleted after it reach SCM.
    let dead = blocks(&om.put("vol", "bkt", "dead", 10).await);
    om.ok(delete_key("vol", "bkt", "dead")).await;
    let deleted = || world.scm.deleted_blocks.lock().unwrap().clone();
    until("the deleted block is at SCM", async || dead.iter().all(|b| deleted().contains(b))).await;
    assert!(kept.iter().all(|block| !deleted().contains(block)));
    om.handle.shutdown().await;
}
