//! State of an SCM after a restart.

use std::collections::BTreeSet;

use proto::hdds::{BlockId, LifeCycleState};
use scm::{Scm, ScmError};
use testkit::until;
use types::ContainerId;

use crate::datanode::FakeDatanode;
use crate::harness::{Harness, THREE};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_crash_and_no_id_repeats() {
    let mut h = Harness::start().await;
    let cluster_id = h.scm.cluster_id().to_owned();
    let mut locals = BTreeSet::new();
    let mut containers = BTreeSet::new();
    let mut disks = Vec::new();
    for round in 0..3 {
        let address = h.scm.addresses().datanode;
        let mut nodes = Vec::new();
        for (id, disk) in std::mem::take(&mut disks) {
            nodes.push(FakeDatanode::start_with(address, id, disk).await);
        }
        if round == 0 {
            nodes = h.datanodes(3).await;
        }
        h.scm.ready_for(THREE).await;
        let blocks = h.allocate(700).await;
        for block in &blocks {
            let id = block.container_block_id.as_ref().unwrap();
            assert!(locals.insert(id.local_id), "block id {} again in round {round}", id.local_id);
            containers.insert(id.container_id);
        }
        let deleted = blocks[0].container_block_id.unwrap();
        nodes.iter().for_each(|n| n.disk.lock().acknowledges = false);
        h.delete("k", vec![BlockId { container_block_id: deleted, ..Default::default() }]).await;
        disks = nodes.iter().map(|n| (n.id, n.disk.clone())).collect();
        drop(nodes);
        let before = h.deletions().await;
        let pipelines: BTreeSet<_> = h.pipelines().await.iter().map(|p| p.id).collect();
        assert!(before > 0);
        h = if round == 1 { h.restart().await } else { h.crash().await };
        assert_eq!(h.scm.cluster_id(), cluster_id);
        assert_ne!(h.scm.addresses().datanode, address);
        assert_eq!(h.deletions().await, before);
        assert_eq!(h.pipelines().await.iter().map(|p| p.id).collect::<BTreeSet<_>>(), pipelines);
        for id in &containers {
            assert!(h.container(*id).await.is_some(), "container {id} is lost");
        }
    }
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_scm_stays_in_safe_mode_until_its_containers_are_reported() {
    let h = Harness::start_with(|c| c.with("hdds.scm.safemode.min.datanode", 3)).await;
    let nodes = h.datanodes(3).await;
    let id = h.allocate(1).await[0].container_block_id.unwrap().container_id;
    let container = ContainerId::from_wire(id);
    nodes.iter().for_each(|n| n.write(container, 5, 1_000));
    nodes[0].is_full(container);
    until("the container is closed", async || {
        h.container(id).await.unwrap().state() == LifeCycleState::Closed
    })
    .await;
    let disks: Vec<_> = nodes.iter().map(|n| (n.id, n.disk.clone())).collect();
    drop(nodes);
    let h = h.restart().await;
    assert!(h.scm.in_safe_mode());
    let refused = h.try_allocate(1, None).await;
    assert_eq!(refused.message(), "SafeModePrecheck failed for allocateBlock");

    let mut back = Vec::new();
    for (id, disk) in disks {
        assert!(h.scm.in_safe_mode());
        let address = h.scm.addresses().datanode;
        back.push(FakeDatanode::start_with(address, id, disk).await);
    }
    h.scm.ready_for(THREE).await;
    h.allocate(1).await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_in_use_is_refused() {
    let h = Harness::start().await;
    let error = Scm::start(&h.conf).await.map(drop).unwrap_err();
    assert!(matches!(error, ScmError::DataDir(_)), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_named_with_its_key() {
    let h = Harness::start().await;
    let other = tempfile::tempdir().unwrap();
    let conf = h
        .conf
        .with("ozone.scm.db.dirs", other.path().display())
        .with("ozone.scm.block.client.address", h.scm.addresses().block);
    let error = Scm::start(&conf).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("ozone.scm.block.client.address"), "{error}");
    // All resources are released: the directory can be used at once.
    let conf = conf.with("ozone.scm.block.client.address", "127.0.0.1:0");
    Scm::start(&conf).await.unwrap().shutdown().await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_a_crash_left_goes_with_the_next_start() {
    let h = Harness::start().await;
    let left = h.dir.path().join("scm-snapshot-0d1c0b0a");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("000001.sst"), "rows").unwrap();
    let h = h.restart().await;
    assert!(!left.exists());
    assert!(h.dir.path().join("scm.db").exists());
    let metrics = h.http_get("/metrics").await;
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
    };
    assert_eq!((value("scm_raft_groups"), value("scm_raft_elections_won")), (1.0, 1.0));
    assert!(value("scm_raft_log_bytes") > 0.0);
    h.scm.shutdown().await;
}
