//! Directories: deleted in the background, found in memory, right after a restart.

use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{TestOm, World};

async fn touch(om: &TestOm, path: &str, size: u64) {
    om.put("vol", "tree", path, size).await;
}

async fn status(om: &TestOm, path: &str) -> Status {
    let request = OmRequest {
        get_file_status_request: Some(Box::new(GetFileStatusRequest {
            key_args: key_args("vol", "tree", path, 0),
        })),
        ..request(Type::GetFileStatus)
    };
    om.ask(request).await.status()
}

async fn delete_all(om: &TestOm, path: &str) {
    let mut delete = delete_key("vol", "tree", path);
    delete.delete_key_request.as_mut().unwrap().key_args.recursive = Some(true);
    om.ok(delete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_directory_is_taken_apart_and_its_blocks_reach_scm() {
    let world = World::new().await;
    let om = world.start().await;
    om.ok(create_volume("vol")).await;
    om.tree("vol", "tree").await;
    // More than one batch in one directory, and directories in directories.
    for i in 0..600 {
        touch(&om, &format!("top/many/f{i}"), 1).await;
    }
    for i in 0..20 {
        touch(&om, &format!("top/d{i}/e/f"), 1).await;
    }
    touch(&om, "kept/f", 1).await;
    delete_all(&om, "top").await;
    assert_eq!(status(&om, "top/many/f1").await, Status::FileNotFound);
    let sent = || world.scm.deleted_blocks.lock().unwrap().len();
    until("all blocks of the directory are at SCM", async || sent() == 620).await;
    loop {
        let bucket = om.bucket_info("vol", "tree").await;
        if bucket.snapshot_used_namespace == Some(0) {
            assert_eq!((bucket.used_namespace, bucket.used_bytes), (Some(2), Some(3)));
            assert_eq!(bucket.snapshot_used_bytes, Some(0));
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&om, "kept/f").await, Status::Ok);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn remembered_directories_follow_renames_and_deletions() {
    let world = World::new().await;
    let om = world.start().await;
    om.ok(create_volume("vol")).await;
    om.tree("vol", "tree").await;
    touch(&om, "a/b/f", 1).await;
    for _ in 0..3 {
        assert_eq!(status(&om, "a/b/f").await, Status::Ok);
    }
    om.ok(rename_key("vol", "tree", "a", "z")).await;
    assert_eq!(status(&om, "a/b/f").await, Status::FileNotFound);
    assert_eq!(status(&om, "z/b/f").await, Status::Ok);
    touch(&om, "a/b/g", 1).await;
    assert_eq!(status(&om, "a/b/f").await, Status::FileNotFound);
    delete_all(&om, "z").await;
    assert_eq!(status(&om, "z/b/f").await, Status::FileNotFound);
    assert_eq!(status(&om, "a/b/g").await, Status::Ok);
    om.handle.shutdown().await;

    let om = world.start().await;
    assert_eq!(om.names("vol", "tree", "").await, ["a/", "a/b/", "a/b/g"]);
    om.handle.shutdown().await;
}
