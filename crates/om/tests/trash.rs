//! The trash of file systems is emptied by OM itself.

use std::time::Duration;

use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TestOm, World};

async fn bucket(om: &TestOm, name: &str, layout: BucketLayoutProto) {
    let mut create = create_bucket("vol", name);
    if let Some(create) = &mut create.create_bucket_request {
        create.bucket_info.bucket_layout = Some(layout as i32);
    }
    om.ok(create).await;
}

/// Waits until the trash of `ann`, checkpoints called `T`, is as expected.
async fn trash(om: &TestOm, bucket: &str, expected: &[&str]) {
    let mut names = Vec::new();
    for _ in 0..3000 {
        names = om.names("vol", bucket, ".Trash/ann/").await;
        for name in &mut names {
            let mut parts: Vec<&str> = name.split('/').collect();
            if parts[2].len() >= 12 && parts[2].starts_with(|c: char| c.is_ascii_digit()) {
                parts[2] = "T";
            }
            *name = parts.join("/");
        }
        // Directories stand for their contents.
        names.retain(|name| !name.ends_with('/'));
        names.sort();
        if names == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{bucket}: {names:?} in the trash, not {expected:?}");
}

const LAYOUTS: [(&str, BucketLayoutProto); 2] =
    [("tree", BucketLayoutProto::FileSystemOptimized), ("legacy", BucketLayoutProto::Legacy)];

/// OM makes checkpoints every `checkpoint` minutes and keeps them for an hour; 0: nothing is
/// emptied.
fn emptied(world: World, checkpoint: f64) -> World {
    let interval = if checkpoint > 0.0 { 60 } else { 0 };
    world.with("fs.trash.interval", interval).with("ozone.fs.trash.checkpoint.interval", checkpoint)
}

async fn empties_the_trash(world: World) {
    // A key is put while nothing empties the trash: its directory could go, or get another name,
    // between the creation of the key and its commit.
    let world = emptied(world, 0.0);
    let om = world.start().await;
    om.ok(create_volume("vol")).await;
    bucket(&om, "objects", BucketLayoutProto::ObjectStore).await;
    om.put("vol", "objects", ".Trash/ann/Current/f", 10).await;
    for (name, layout) in LAYOUTS {
        bucket(&om, name, layout).await;
        for key in
            ["keep", ".Trash/ann/films/f", ".Trash/ann/Current/d/e/f", ".Trash/ann/Current/g"]
        {
            om.put("vol", name, key, 10).await;
        }
        // From long ago.
        om.put("vol", name, ".Trash/ann/200101000000/old", 10).await;
    }
    om.handle.shutdown().await;
    // Checkpoints, but only the one from long ago is old enough to be deleted.
    let world = emptied(world, 0.005);
    let om = world.start().await;
    for (name, _) in LAYOUTS {
        trash(&om, name, &[".Trash/ann/T/d/e/f", ".Trash/ann/T/g", ".Trash/ann/films/f"]).await;
    }
    om.handle.shutdown().await;
    let world = emptied(world, 0.0);
    let om = world.start().await;
    for (name, _) in LAYOUTS {
        om.put("vol", name, ".Trash/ann/Current/g", 10).await;
    }
    om.handle.shutdown().await;
    let world = emptied(world, 0.005);
    let om = world.start().await;
    for (name, _) in LAYOUTS {
        let all = [".Trash/ann/T/d/e/f", ".Trash/ann/T/g", ".Trash/ann/T/g", ".Trash/ann/films/f"];
        trash(&om, name, &all).await;
    }
    om.handle.shutdown().await;
    // Now they are kept for a second.
    let world = world.with("ozone.fs.trash.interval", 1.0 / 60.0);
    let om = world.start().await;
    for (name, _) in LAYOUTS {
        trash(&om, name, &[".Trash/ann/films/f"]).await;
        assert_eq!(om.info("vol", name, "keep").await.data_size, 10);
    }
    trash(&om, "objects", &[".Trash/ann/Current/f"]).await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trash_becomes_a_checkpoint_and_checkpoints_go() {
    empties_the_trash(World::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trash_is_emptied_where_legacy_keys_are_paths_too() {
    empties_the_trash(World::new().await.with("ozone.om.enable.filesystem.paths", true)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_interval_nobody_empties_the_trash() {
    let om = World::new().await.start().await;
    let services = om.handle.background().list();
    assert!(!services.iter().any(|service| service.name == "TrashEmptier"));
    om.handle.shutdown().await;
}
