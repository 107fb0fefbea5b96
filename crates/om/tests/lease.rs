//! Synced keys: their recovery, and their closing by OM if no client closes them.

use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TestOm, World};

async fn world() -> World {
    World::new()
        .await
        .with("ozone.fs.hsync.enabled", true)
        .with("ozone.hbase.enhancements.allowed", true)
}

async fn synced(om: &TestOm, bucket: &str, key: &str) -> (u64, KeyArgs) {
    let (session, args) = om.open(key_args("vol", bucket, key, 10)).await;
    let mut sync = commit_key(args.clone(), session);
    sync.commit_key_request.as_mut().unwrap().hsync = Some(true);
    om.ok(sync).await;
    (session, args)
}

fn recover(bucket: &str, key: &str) -> OmRequest {
    let recover = RecoverLeaseRequest {
        volume_name: Some("vol".to_owned()),
        bucket_name: Some(bucket.to_owned()),
        key_name: Some(key.to_owned()),
        ..RecoverLeaseRequest::default()
    };
    OmRequest { recover_lease_request: Some(Box::new(recover)), ..request(Type::RecoverLease) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_recovers_a_key_gets_the_locations_of_its_blocks() {
    let world = world().await.with("ozone.om.lease.soft.limit", "0s");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.tree("vol", "tree").await;
    for (bucket, name) in [("bkt", "k"), ("tree", "a/b/f")] {
        let (session, args) = synced(&om, bucket, name).await;
        let recovered = om.ok(recover(bucket, name)).await.recover_lease_response.unwrap();
        for key in [recovered.key_info.unwrap(), recovered.open_key_info.unwrap()] {
            let location = &key.key_location_list[0].key_locations[0];
            assert!(!location.pipeline.as_ref().unwrap().members.is_empty());
            assert_eq!(key.key_name, name);
        }
        let mut finish = commit_key(args, session);
        assert_eq!(om.refused(finish.clone()).await, Status::KeyUnderLeaseRecovery);
        finish.commit_key_request.as_mut().unwrap().recovery = Some(true);
        om.ok(finish).await;
        assert!(om.info("vol", bucket, name).await.metadata.is_empty());
    }
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synced_key_that_nobody_closes_is_closed_as_it_is() {
    let world = world()
        .await
        .with("ozone.om.open.key.cleanup.service.interval", "20ms")
        .with("ozone.om.lease.hard.limit", "10ms");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let (session, args) = synced(&om, "bkt", "k").await;
    closed(&om, "bkt", "k").await;
    assert_eq!(om.refused(commit_key(args, session)).await, Status::KeyNotFound);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synced_file_that_nobody_closes_is_closed_wherever_it_has_moved() {
    let world = world().await.with("ozone.om.lease.hard.limit", "100ms");
    let om = world.start().await;
    om.ok(create_volume("vol")).await;
    om.tree("vol", "tree").await;
    let (session, args) = synced(&om, "tree", "a/b/f").await;
    om.ok(rename_key("vol", "tree", "a/b", "c")).await;
    assert_eq!(om.info("vol", "tree", "c/f").await.metadata.len(), 1, "open still");
    // The service runs when its time comes, and once a day.
    testkit::until("it to be closed", async || {
        assert!(om.handle.background().run("OpenKeyCleanupService"));
        om.info("vol", "tree", "c/f").await.metadata.is_empty()
    })
    .await;
    closed(&om, "tree", "c/f").await;
    assert_eq!(om.refused(commit_key(args, session)).await, Status::DirectoryNotFound);
    let recover = recover("tree", "c/f");
    assert_eq!(om.refused(recover).await, Status::KeyAlreadyClosed);
    om.handle.shutdown().await;
}

/// Waits until no client writes to the key any more; its contents are the synced ones.
async fn closed(om: &TestOm, bucket: &str, key: &str) {
    testkit::until("it to be closed", async || {
        om.info("vol", bucket, key).await.metadata.is_empty()
    })
    .await;
    assert_eq!(om.info("vol", bucket, key).await.data_size, 10);
}
