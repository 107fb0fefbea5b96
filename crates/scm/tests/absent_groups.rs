//! Containers whose DataNodes are all away while SCM starts.

use std::time::Duration;

use proto::hdds::LifeCycleState;
use testkit::until;

use crate::datanode::FakeDatanode;
use crate::erasure_coded::{indexes, open_container};
use crate::harness::Harness;

/// How long DataNodes are away behind those before them: longer than SCM waits for them
/// (`ozone.scm.dead.node.interval`) and some looks of its replication manager.
const AWAY: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn a_container_whose_group_is_away_when_scm_starts_is_kept() {
    let often = |conf: config::Configuration| {
        conf.with("hdds.scm.replication.thread.interval", "200ms")
            .with("ozone.scm.stale.node.interval", "2s")
            .with("ozone.scm.dead.node.interval", "4s")
    };
    let h = Harness::start_with(often).await;
    let nodes = h.datanodes(10).await;
    let (id, pipeline) = open_container(&h, &nodes).await;
    let disks: Vec<_> = nodes.iter().map(|n| (n.id, n.disk.clone())).collect();
    let is_member = |id| pipeline.members.iter().any(|member| member.id == id);
    let (group, others): (Vec<_>, Vec<_>) = disks.into_iter().partition(|(id, _)| is_member(*id));
    assert_eq!(group.len(), 5);
    drop(nodes);
    let mut h = h.crash().await;
    let mut up = Vec::new();
    for (id, disk) in others.clone() {
        up.push(FakeDatanode::start_with(h.scm.addresses().datanode, id, disk).await);
    }
    let gone = async |h: &Harness| h.pipelines().await.iter().all(|p| p.id != pipeline.id);
    until("its pipeline is gone", async || gone(&h).await).await;
    tokio::time::sleep(AWAY).await;
    assert_eq!(h.container(id.to_wire()).await.unwrap().state(), LifeCycleState::Closing);
    // SCM starts once more: now only the record has who may have it.
    drop(up);
    h = h.crash().await;
    let address = h.scm.addresses().datanode;
    let mut up = Vec::new();
    for (id, disk) in others {
        up.push(FakeDatanode::start_with(address, id, disk).await);
    }
    for portion in group.chunks(2) {
        tokio::time::sleep(AWAY).await;
        for (id, disk) in portion {
            up.push(FakeDatanode::start_with(address, *id, disk.clone()).await);
        }
    }
    until("it is closed with all indexes", async || {
        h.container(id.to_wire()).await.unwrap().state() == LifeCycleState::Closed
            && indexes(&h, id).await == [1, 2, 3, 4, 5]
    })
    .await;
    h.scm.shutdown().await;
}
