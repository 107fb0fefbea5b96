//! Compaction removes the remains of deletions from the tables, and administrators see it.

use framed::{Client, ClientOptions};
use prost::Message;
use proto::method;
use proto::om_admin::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{TIMEOUT, TestOm, World};

async fn admin<A: Message + Default>(om: &TestOm, method: &str, request: impl Message) -> A {
    let client = Client::new(om.handle.addresses().framed.to_string(), ClientOptions::default());
    let call = OmAdminCall {
        method: method.to_owned(),
        user: whoami(),
        body: request.encode_to_vec().into(),
    };
    framed::message::call(&client, method::OM_ADMIN, &call, TIMEOUT).await.unwrap()
}

/// The user that OM runs as is an administrator.
fn whoami() -> String {
    std::env::var("USER").unwrap_or_else(|_| "root".to_owned())
}

async fn status(om: &TestOm) -> RangeCompactionStatusResponse {
    admin(om, "rangeCompactionStatus", RangeCompactionStatusRequest {}).await
}

async fn run(om: &TestOm, table: Option<&str>, bucket: Option<(&str, &str)>) -> Option<String> {
    let request = RangeCompactionRunRequest {
        table: table.map(str::to_owned),
        volume: bucket.map(|(volume, _)| volume.to_owned()),
        bucket: bucket.map(|(_, bucket)| bucket.to_owned()),
    };
    let done: RangeCompactionRunResponse = admin(om, "rangeCompactionRun", request).await;
    assert_eq!(done.success, done.error_msg.is_none());
    done.error_msg
}

fn tombstones(status: &RangeCompactionStatusResponse, table: &str) -> u64 {
    let of = status.tables.iter().find(|t| t.table == table).unwrap();
    of.deletions + of.deletions_in_memory
}

async fn shown(om: &TestOm, what: &str, so: impl Fn(&RangeCompactionStatusResponse) -> bool) {
    until(what, async || {
        let status = status(om).await;
        if so(&status) { Ok(()) } else { Err(status) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_deletions_left_is_compacted_by_itself() {
    let world = World::new().await;
    let world = world.with("ozone.om.range.compaction.service.interval", "50ms");
    let world = world.with("ozone.om.range.compaction.service.min.tombstones", 100);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for i in 0..300 {
        om.put("vol", "bkt", &format!("k{i:03}"), 0).await;
    }
    for i in 0..250 {
        om.ok(delete_key("vol", "bkt", &format!("k{i:03}"))).await;
    }
    // Fewer than a hundred may stay.
    shown(&om, "the key table is clean", |s| tombstones(s, "keyTable") < 100).await;
    shown(&om, "ranges were compacted", |s| s.compacted > 0 && s.failed == 0).await;
    assert!(status(&om).await.tombstones_removed > 0);
    assert_eq!(om.names("vol", "bkt", "").await.len(), 50);
    let metrics = om.handle.metrics().encode();
    assert!(metrics.contains("om_range_compaction_ranges_total"), "{metrics}");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_and_start_compactions() {
    let world = World::new().await;
    let world = world.with("ozone.om.range.compaction.service.enabled", false);
    let world = world.with("ozone.om.range.compaction.service.min.tombstones", 100);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.tree("vol", "tree").await;
    for i in 0..200 {
        om.put("vol", "bkt", &format!("k{i:03}"), 0).await;
        om.put("vol", "tree", &format!("k{i:03}"), 0).await;
    }
    for i in 0..150 {
        om.ok(delete_key("vol", "bkt", &format!("k{i:03}"))).await;
        om.ok(delete_key("vol", "tree", &format!("k{i:03}"))).await;
    }
    let before = status(&om).await;
    assert!(!before.enabled && before.compacted == 0 && before.looked_at.is_none());
    assert_eq!((before.node_id.as_str(), before.min_tombstones), ("om1", 100));
    assert_eq!(tombstones(&before, "keyTable"), 150);
    assert_eq!(tombstones(&before, "fileTable"), 150);

    let refused = run(&om, Some("none"), None).await;
    assert_eq!(refused.as_deref(), Some("table none does not exist or takes no deletions"));
    let refused = run(&om, Some("fileTable"), Some(("vol", "none"))).await;
    assert_eq!(refused.as_deref(), Some("table fileTable has no range of bucket vol/none"));

    assert_eq!(run(&om, Some("fileTable"), Some(("vol", "tree"))).await, None);
    shown(&om, "the bucket is compacted", |s| s.compacted == 1).await;
    let after = status(&om).await;
    assert_eq!((tombstones(&after, "fileTable"), after.waiting.len()), (0, 0));
    let told = &after.finished[0];
    assert_eq!((told.table.as_str(), told.reason.as_str()), ("fileTable", "requested"));
    assert_eq!(told.deletions_left, Some(0));
    let bucket = om.bucket_info("vol", "tree").await;
    let id = bucket.object_id.unwrap().cast_signed();
    let start = String::from_utf8(told.start.to_vec()).unwrap();
    assert!(start.ends_with(&format!("/{id}/")), "{start}");
    assert!(told.took_ms.is_some() && told.failure.is_none());

    // Compaction of all ranges worth it, in all tables.
    assert_eq!(run(&om, None, None).await, None);
    shown(&om, "all is clean", |s| tombstones(s, "keyTable") < 100).await;
    assert!(status(&om).await.looked_at.is_some());
    for bucket in ["bkt", "tree"] {
        assert_eq!(om.names("vol", bucket, "").await.len(), 50);
    }
    om.handle.shutdown().await;
}

/// A list finds live rows after deleted ones, without stepping through them each time.
#[tokio::test(flavor = "multi_thread")]
async fn lists_go_over_deleted_keys() {
    let world = World::new().await;
    let world = world.with("ozone.om.range.compaction.service.enabled", false);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for i in 0..700 {
        om.put("vol", "bkt", &format!("k{i:03}"), 0).await;
    }
    for i in 0..690 {
        om.ok(delete_key("vol", "bkt", &format!("k{i:03}"))).await;
    }
    assert_eq!(om.names("vol", "bkt", "").await.len(), 10);
    // More than one, if the service searched for them while keys were being deleted.
    until("a gap is known", async || {
        let metrics = om.handle.metrics().encode();
        let line = metrics.lines().find(|line| line.starts_with("om_rocksdb_gaps")).unwrap_or("");
        let gaps = line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
        gaps.is_some_and(|gaps| gaps >= 1.0)
    })
    .await;
    om.put("vol", "bkt", "k300", 0).await;
    let names = om.names("vol", "bkt", "").await;
    assert_eq!((names.len(), names[0].as_str()), (11, "k300"));
    om.ok(delete_key("vol", "bkt", "k695")).await;
    assert_eq!(om.names("vol", "bkt", "k69").await.len(), 9);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_make_no_sense_stop_the_start() {
    for (key, value) in [
        ("ozone.om.range.compaction.service.tombstone.percentage", "0"),
        ("ozone.om.range.compaction.service.tombstone.percentage", "101"),
        ("ozone.om.range.compaction.service.interval", "0s"),
        ("ozone.om.compaction.service.run.interval", "0s"),
        ("ozone.om.compaction.service.columnfamilies", "keyTable,none"),
    ] {
        let world = World::new().await.with(key, value);
        let conf = world.conf(world.dir.path());
        let refused = om::Om::start(&conf, om::OmOptions::default()).await.err().unwrap();
        assert!(refused.to_string().contains(key), "{refused}");
    }
}
