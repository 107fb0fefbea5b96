//! Copies step back while clients use a DataNode.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use proto::datanode as dn;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use tokio_util::task::AbortOnDropHandle;
use types::{BlockId, DatanodeId};

use crate::copying::{closed_container, copy};
use crate::failing_group::{http, metric};
use crate::support::{Cluster, Pipe};

const LIMIT: &str = "datanode_repair_limit_bytes";

/// Asks for a block over and over again.
fn ask(
    pipe: Pipe,
    node: DatanodeId,
    block: BlockId,
    for_repair: Option<bool>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let request = dn::ContainerCommandRequestProto {
                cmd_type: dn::Type::GetBlock as i32,
                container_id: block.container.to_wire(),
                datanode_uuid: node.to_string(),
                get_block: Some(dn::GetBlockRequestProto { block_id: block.to_datanode(0) }),
                for_repair,
                ..Default::default()
            };
            pipe.send(node, request, Bytes::new()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_slow_while_clients_read_and_its_own_reads_are_none() {
    // Of two data directories each.
    let slow = |conf: config::Configuration| {
        conf.with("trioxide.datanode.replication.bandwidth.with.clients", "1MB")
    };
    let mut cluster = Cluster::start_with(2, slow).await;
    let (pipe, written) = closed_container(&cluster).await;
    let (id, leader) = (pipe.id, pipe.leader);
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    let at = http(&mut cluster, source);
    let block = written[0].0;

    let repairs = ask(cluster.pipe(id, leader), source, block, Some(true));
    until("nobody else asks", async || metric(at, LIMIT).await == 0.0).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(metric(at, LIMIT).await, 0.0, "reads of a repair count as a client's");
    }
    drop(repairs);

    let client = ask(cluster.pipe(id, leader), source, block, None);
    until("the limit counts", async || metric(at, LIMIT).await > 0.0).await;
    assert_eq!(metric(at, LIMIT).await, f64::from(2 << 20));
    let began = Instant::now();
    cluster.scm.scm.send_replicate(source, 1, target);
    cluster.scm.scm.wait_for_replica(target, 1, State::Closed).await;
    // Ten MiB and some, of which the first four and a quarter of a second's wait for nothing.
    assert!(began.elapsed() > Duration::from_secs(2), "it took {:?}", began.elapsed());

    drop(client);
    until("the limit does not count", async || metric(at, LIMIT).await == 0.0).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_would_come_too_late_does_not_wait_for_clients() {
    // Ten MiB would take minutes.
    let slow = |conf: config::Configuration| {
        conf.with("trioxide.datanode.replication.bandwidth.with.clients", "10KB")
    };
    let mut cluster = Cluster::start_with(2, slow).await;
    let (pipe, written) = closed_container(&cluster).await;
    let (id, leader) = (pipe.id, pipe.leader);
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    let at = http(&mut cluster, source);
    let _client = ask(cluster.pipe(id, leader), source, written[0].0, None);
    until("the limit counts", async || metric(at, LIMIT).await > 0.0).await;
    let scm = &cluster.scm.scm;
    let to = scm.with(|known| known.nodes[&target].to_wire());
    // On a machine that needs longer than the time that is left, the next order leaves more.
    for left in [10, 120] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        scm.send(source, copy(1000 + left, to.clone(), i64::MAX, Some(now + 1000 * left)));
        let arrival = scm.wait_for_replica(target, 1, State::Closed);
        if tokio::time::timeout(Duration::from_secs(left as u64), arrival).await.is_ok() {
            cluster.stop().await;
            return;
        }
    }
    panic!("it waits for clients");
}
