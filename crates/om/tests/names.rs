//! Volumes, buckets and keys through the framed endpoint.

use proto::ozone::Status;

use crate::support::requests::*;
use crate::support::{World, blocks};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_created_committed_found_listed_renamed_and_deleted() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    assert_eq!(om.refused(create_bucket("vol", "bkt")).await, Status::BucketAlreadyExists);
    assert_eq!(om.refused(create_bucket("nowhere", "bkt")).await, Status::VolumeNotFound);

    let key = om.put("vol", "bkt", "dir/one", 1000).await;
    assert_eq!((key.key_name.as_str(), key.data_size), ("dir/one", 1000));
    assert_eq!(blocks(&key).len(), 1);
    let location = &key.key_location_list[0].key_locations[0];
    let pipeline = location.pipeline.as_ref().expect("a place to read from");
    assert_eq!(pipeline.members.len(), 3);
    let ports: Vec<&str> = pipeline.members[0].ports.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(ports, ["STANDALONE", "RATIS", "TRIOXIDE"], "only the ports clients use");

    om.put("vol", "bkt", "dir/two", 0).await;
    om.put("vol", "bkt", "other", 5).await;
    assert_eq!(om.names("vol", "bkt", "dir/").await, ["dir/one", "dir/two"]);

    om.ok(rename_key("vol", "bkt", "dir/one", "dir/three")).await;
    assert_eq!(om.names("vol", "bkt", "").await, ["dir/three", "dir/two", "other"]);
    let renamed = om.info("vol", "bkt", "dir/three").await;
    assert_eq!(blocks(&renamed), blocks(&key), "renaming moves no data");
    assert_eq!(
        om.refused(get_key_info(key_args("vol", "bkt", "dir/one", 0))).await,
        Status::KeyNotFound
    );

    for key in ["dir/three", "dir/two", "other"] {
        om.ok(delete_key("vol", "bkt", key)).await;
    }
    assert!(om.names("vol", "bkt", "").await.is_empty());
    assert_eq!(om.refused(delete_key("vol", "bkt", "other")).await, Status::KeyNotFound);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_there_before_it_is_committed_and_its_session_ends_with_it() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let (session, args) = om.open(key_args("vol", "bkt", "k", 10)).await;
    let look = || get_key_info(key_args("vol", "bkt", "k", 0));
    assert_eq!(om.refused(look()).await, Status::KeyNotFound);
    om.ok(commit_key(args.clone(), session)).await;
    om.ok(look()).await;
    assert_eq!(om.refused(commit_key(args, session)).await, Status::KeyNotFound);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_of_a_bucket_are_exact_after_concurrent_changes() {
    let world = World::new().await;
    let om = std::sync::Arc::new(world.start().await);
    om.bucket("vol", "bkt").await;
    let mut tasks = Vec::new();
    for writer in 0..8u64 {
        let om = std::sync::Arc::clone(&om);
        tasks.push(tokio::spawn(async move {
            for i in 0..20u64 {
                // Half of the names are written by all: overwrites race with each other.
                let name =
                    if i % 2 == 0 { format!("shared/{i}") } else { format!("own/{writer}/{i}") };
                let (session, args) = om.open(key_args("vol", "bkt", &name, 100 + i)).await;
                om.ok(commit_key(args, session)).await;
                if i % 2 == 1 && i % 5 == 1 {
                    let moved = format!("moved/{writer}/{i}");
                    om.ok(rename_key("vol", "bkt", &name, &moved)).await;
                }
                if i % 2 == 1 && i % 7 == 3 {
                    om.ok(delete_key("vol", "bkt", &name)).await;
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let names = om.names("vol", "bkt", "").await;
    let mut bytes = 0;
    for name in &names {
        bytes += 3 * om.info("vol", "bkt", name).await.data_size;
    }
    let bucket = om.bucket_info("vol", "bkt").await;
    assert_eq!(bucket.used_namespace, Some(names.len() as u64));
    assert_eq!(bucket.used_bytes, Some(bytes));
    // 10 shared; of each writer's 10 own keys those at i % 7 == 3 and odd (3, 17) were removed.
    assert_eq!(names.len(), 10 + 8 * 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_kept_to_the_byte() {
    let world = World::new().await.with("ozone.scm.block.size", "100B");
    let om = world.start().await;
    om.ok(create_volume("vol")).await;
    let mut request = create_bucket("vol", "bkt");
    request.create_bucket_request.as_mut().unwrap().bucket_info.quota_in_bytes = Some(3 * 1000);
    om.ok(request).await;
    om.put("vol", "bkt", "a", 600).await;
    om.put("vol", "bkt", "b", 400).await;
    assert_eq!(om.refused(create_key(key_args("vol", "bkt", "c", 1))).await, Status::QuotaExceeded);
    om.ok(delete_key("vol", "bkt", "b")).await;
    // Deleted bytes count until their blocks are handed to SCM.
    testkit::until("room for it", async || {
        om.ask(create_key(key_args("vol", "bkt", "c", 400))).await.status() == Status::Ok
    })
    .await;
    om.put("vol", "bkt", "c", 400).await;
    assert_eq!(om.refused(create_key(key_args("vol", "bkt", "d", 1))).await, Status::QuotaExceeded);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_of_names_and_numbers_count() {
    let world = World::new()
        .await
        .with("ozone.om.keyname.character.check.enabled", true)
        .with("ozone.om.namespace.s3.strict", false)
        .with("ozone.om.max.buckets", 2);
    let om = world.start().await;
    om.bucket("vol_1", "bkt").await;
    let create = create_key(key_args("vol_1", "bkt", "a{b}", 1));
    assert_eq!(om.refused(create).await, Status::InvalidKeyName);
    om.put("vol_1", "bkt", "ab", 1).await;
    om.ok(create_bucket("vol_1", "bkt2")).await;
    assert_eq!(om.refused(create_bucket("vol_1", "bkt3")).await, Status::TooManyBuckets);
    om.handle.shutdown().await;
}
