//! Containers are copied from node to node on SCM's word.

use bytes::Bytes;
use proto::scm_datanode as wire;
use proto::scm_datanode::container_replica_proto::State;
use proto::scm_datanode::scm_command_proto::Type;
use types::{BlockId, DatanodeId};

use crate::support::{Cluster, Pipe, block, bytes};

/// Container 1 on the first node alone, closed: 40 small blocks and two large ones.
pub async fn closed_container(cluster: &Cluster) -> (Pipe, Vec<(BlockId, Bytes)>) {
    let source = cluster.ids()[0];
    let (id, leader) = cluster.scm.scm.create_pipeline(&[source]).await;
    let mut pipe = cluster.pipe(id, leader);
    let mut written = Vec::new();
    for local in 1..=40 {
        let data = bytes(local, 700 + local as usize);
        written.push((pipe.put_small(block(1, local), data.clone()).await.unwrap(), data));
    }
    for local in 101..=102 {
        let data = bytes(local, (5 << 20) + 3);
        let put = pipe.put_large(block(1, local), &data, 1 << 20).await.unwrap();
        written.push((put, data));
    }
    cluster.scm.scm.wait_for_replica(source, 1, State::Open).await;
    cluster.scm.scm.send_close_container(source, 1, id, false);
    cluster.scm.scm.wait_for_replica(source, 1, State::Closed).await;
    (pipe, written)
}

async fn check(pipe: &Pipe, node: DatanodeId, written: &[(BlockId, Bytes)]) {
    for (block, data) in written {
        assert_eq!(pipe.get_large(node, *block).await.unwrap(), data, "{block}");
    }
}

/// An order to delete container 1.
fn delete(cmd_id: i64, term: i64, deadline: Option<i64>) -> wire::ScmCommandProto {
    wire::ScmCommandProto {
        command_type: Type::DeleteContainerCommand as i32,
        delete_container_command_proto: Some(wire::DeleteContainerCommandProto {
            container_id: 1,
            cmd_id,
            force: true,
            replica_index: None,
        }),
        term: Some(term),
        deadline_ms_since_epoch: deadline,
        ..Default::default()
    }
}

/// An order to copy container 1.
pub fn copy(
    cmd_id: i64,
    to: proto::hdds::DatanodeDetailsProto,
    term: i64,
    deadline: Option<i64>,
) -> wire::ScmCommandProto {
    wire::ScmCommandProto {
        command_type: Type::ReplicateContainerCommand as i32,
        replicate_container_command_proto: Some(wire::ReplicateContainerCommandProto {
            storage_type: None,
            container_id: 1,
            sources: Vec::new(),
            cmd_id,
            replica_index: None,
            target: Some(to),
            priority: None,
        }),
        term: Some(term),
        deadline_ms_since_epoch: deadline,
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_come_late_or_of_a_former_leader_are_not_carried_out() {
    let cluster = Cluster::start(2).await;
    let (pipe, written) = closed_container(&cluster).await;
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    let scm = &cluster.scm.scm;
    let to = scm.with(|known| known.nodes[&target].to_wire());
    let told = async |id: i64| {
        let status = |known: &crate::support::scm::Known| {
            known.statuses.iter().find(|(_, status)| status.cmd_id == id).map(|(_, s)| s.clone())
        };
        scm.wait("what became of an order", status).await
    };
    // Too late.
    scm.send(source, delete(1001, 5, Some(1)));
    scm.send(source, copy(1002, to.clone(), 5, Some(1)));
    for id in [1001, 1002] {
        let status = told(id).await;
        assert_eq!(status.status(), wire::command_status::Status::Failed);
        assert!(status.msg().contains("ms too late"), "{}", status.msg());
    }
    // From a leader before the one of term 5; the later orders show that these were received.
    scm.send(source, delete(1003, 4, None));
    scm.send(source, copy(1004, to.clone(), 4, None));
    scm.send(source, delete(1005, 5, Some(1)));
    told(1005).await;
    check(&pipe, source, &written).await;
    scm.with(|known| {
        assert!(!known.statuses.iter().any(|(_, s)| [1003, 1004].contains(&s.cmd_id)));
        assert!(!known.replicas.contains_key(&(target, 1)));
    });
    // In time, of the leader.
    scm.send(source, copy(1006, to, 5, Some(i64::MAX)));
    scm.wait_for_replica(target, 1, State::Closed).await;
    scm.send(source, delete(1007, 5, Some(i64::MAX)));
    scm.wait_for_replica(source, 1, State::Deleted).await;
    check(&pipe, target, &written).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_reads_like_the_original() {
    let mut cluster = Cluster::start(2).await;
    let (pipe, written) = closed_container(&cluster).await;
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    cluster.scm.scm.send_replicate(source, 1, target);
    cluster.scm.scm.wait_for_replica(target, 1, State::Closed).await;
    check(&pipe, target, &written).await;
    let (original, copy) = cluster
        .scm
        .scm
        .with(|known| (known.replicas[&(source, 1)].clone(), known.replicas[&(target, 1)].clone()));
    assert_eq!(copy.block_commit_sequence_id, original.block_commit_sequence_id);
    assert_eq!(copy.key_count, Some(42));
    assert_eq!(copy.origin_node_id, Some(source.to_string()));
    // Once more does no harm.
    cluster.scm.scm.send_replicate(source, 1, target);
    cluster.scm.scm.wait_for_statuses(source, 2).await;
    cluster.node(target).stop().await;
    cluster.node(target).restart().await;
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    check(&pipe, target, &written).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_goes_on_when_its_target_was_away() {
    let slow =
        |conf: config::Configuration| conf.with("trioxide.datanode.replication.bandwidth", "6MB");
    let mut cluster = Cluster::start_with(2, slow).await;
    let (pipe, written) = closed_container(&cluster).await;
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    cluster.scm.scm.send_replicate(source, 1, target);
    cluster.node(target).stop().await;
    cluster.node(target).restart().await;
    cluster.scm.scm.wait_for_replica(target, 1, State::Closed).await;
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    check(&pipe, target, &written).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_cannot_be_made_is_reported() {
    let cluster = Cluster::start(2).await;
    let [source, target] = cluster.ids()[..] else { unreachable!() };
    cluster.scm.scm.send_replicate(source, 77, target);
    let status = cluster.scm.scm.wait_for_statuses(source, 1).await.remove(0);
    assert_eq!(status.status(), proto::scm_datanode::command_status::Status::Failed);
    assert!(status.msg().contains("77"), "{}", status.msg());
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_and_their_logs_are_spread_over_all_disks() {
    let cluster = Cluster::start(1).await;
    let node = cluster.ids()[0];
    for _ in 0..6 {
        cluster.scm.scm.create_pipeline(&[node]).await;
    }
    let logs = cluster.scm.scm.with(|known| known.logs[&node].clone());
    assert_eq!(logs.len(), 2, "a Raft log on each disk: {logs:?}");
    let address = cluster.nodes[0].handle.as_ref().unwrap().addresses().http.unwrap();
    let page = get(address, "/status.json").await;
    let sections: serde_json::Value = serde_json::from_str(&page).unwrap();
    let text = sections.to_string();
    let ids = cluster.scm.scm.with(|known| {
        known.storage[&node].iter().map(|s| s.storage_uuid.clone()).collect::<Vec<_>>()
    });
    for id in ids {
        // Once in the table of disks, and once for each of its pipelines.
        assert_eq!(text.matches(&id).count(), 1 + 3, "{id} in {text}");
    }
    cluster.stop().await;
}

pub async fn get(address: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}
