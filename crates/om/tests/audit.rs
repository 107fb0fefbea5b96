//! The audit log and the metrics.

use testkit::until;

use crate::support::World;
use crate::support::requests::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_write_leaves_a_line_in_ozones_shape() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "a\nb", 10).await;
    om.refused(delete_key("vol", "bkt", "missing")).await;
    let lines = || std::fs::read_to_string(world.audit_file()).unwrap_or_default();
    until("the last line is written", async || lines().contains("op=DELETE_KEY")).await;
    let log = lines();
    let line =
        |op: &str| log.lines().find(|l| l.contains(op)).unwrap_or_else(|| panic!("{op} in {log}"));
    assert!(line("op=CREATE_VOLUME").contains(
        " | INFO  | OMAudit | user=ann | ip=127.0.0.1 | op=CREATE_VOLUME {admin=ann, owner=ann, volume=vol} | ret=SUCCESS |"
    ));
    assert!(line("op=COMMIT_KEY").contains(
        "{volume=vol, bucket=bkt, key=a\\nb, dataSize=10, replicationConfig=RATIS/THREE} | ret=SUCCESS |"
    ));
    let failed = line("op=DELETE_KEY");
    assert!(failed.contains("| ERROR |") && failed.contains("ret=FAILURE | "), "{failed}");
    assert!(!log.contains("GET_KEY_INFO"), "reads are left out");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_audited_and_writes_are_not_as_the_settings_say() {
    let world = World::new().await.with("trioxide.audit.reads", true);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "k", 10).await;
    let lines = || std::fs::read_to_string(world.audit_file()).unwrap_or_default();
    until("the read is there", async || {
        lines().contains("op=GET_KEY_INFO {volume=vol, bucket=bkt, key=k")
    })
    .await;
    om.handle.shutdown().await;

    let silent = World::new().await.with("trioxide.audit.enabled", false);
    let om = silent.start().await;
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
    assert!(!silent.audit_file().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_command() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.refused(create_bucket("vol", "bkt")).await;
    let text = om.handle.metrics().encode();
    let value = |name: &str| -> f64 {
        let line = text
            .lines()
            .find(|l| l.starts_with(name))
            .unwrap_or_else(|| panic!("{name} in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("om_rpc_processing_time_seconds_count{method=\"CreateBucket\"}"), 2.0);
    assert_eq!(value("om_rpc_failures_total{method=\"CreateBucket\"}"), 1.0);
    assert!(value("om_applied_entries_total") >= 4.0);
    assert!(value("om_raft_proposals") >= 4.0);
    om.handle.shutdown().await;
}
