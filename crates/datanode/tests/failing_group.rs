//! Pipelines whose Raft group fails on one DataNode: they recover, or SCM is asked to replace them.

use std::net::SocketAddr;

use testkit::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use types::{BlockId, DatanodeId, PipelineId};

use crate::support::{Cluster, Pipe, block, bytes};

/// Returns the response of a DataNode's web port.
pub async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A figure of a DataNode's metrics.
pub async fn metric(address: SocketAddr, name: &str) -> f64 {
    let metrics = get(address, "/metrics").await;
    let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
    metrics.lines().find_map(value).unwrap_or_else(|| panic!("no {name}: {metrics}"))
}

pub fn http(cluster: &mut Cluster, node: DatanodeId) -> SocketAddr {
    cluster.node(node).handle.as_ref().unwrap().addresses().http.unwrap()
}

fn panic(cluster: &mut Cluster, node: DatanodeId, id: PipelineId) {
    cluster.node(node).handle.as_ref().unwrap().raft().unwrap().panic_group(id.0);
}

/// Writes a small file of its own, as a writer that goes to another block when one is lost.
async fn put(pipe: &mut Pipe, container: u64, next: &mut u64) -> (BlockId, bytes::Bytes) {
    until("a write to go through", async || {
        *next += 1;
        let data = bytes(*next, 3_000);
        pipe.put_small(block(container, *next), data.clone()).await.map(|id| (id, data))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_whose_group_panics_comes_back_and_has_everything() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let (mut next, mut written) = (0, Vec::new());
    for round in 0..3 {
        for _ in 0..5 {
            written.push(put(&mut pipe, 1, &mut next).await);
        }
        // Once each: a leader and followers.
        let victim = cluster.ids()[round];
        panic(&mut cluster, victim, pipe.id);
        written.push(put(&mut pipe, 1, &mut next).await);
    }
    for node in cluster.ids() {
        for (id, data) in &written {
            assert_eq!(pipe.eventually(|| pipe.get_small(node, *id)).await, *data);
        }
        let (at, again) = (http(&mut cluster, node), "pipeline_restarts");
        until("the restart to be counted", async || {
            get(at, "/metrics").await.contains(&format!("datanode_{again} 1.0"))
        })
        .await;
        assert!(get(at, "/health").await.starts_with("HTTP/1.1 200"));
    }
    assert!(cluster.scm.scm.with(|known| known.failed.is_empty()), "SCM would close it");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_panics_again_and_again_is_reported_to_be_replaced() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let mut next = 0;
    put(&mut pipe, 1, &mut next).await;
    let (victim, id) = (cluster.ids()[1], pipe.id);
    let scm = cluster.scm.scm.clone();
    let told = scm.wait("the failed pipeline", |known| known.failed.get(&id).cloned());
    let panics = async {
        loop {
            panic(&mut cluster, victim, id);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let why = tokio::select! {
        why = told => why,
        () = panics => unreachable!(),
    };
    assert!(why.contains("a test asked for it"), "{why}");
    let at = http(&mut cluster, victim);
    let health = get(at, "/health").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains(&id.to_string()), "{health}");
    assert!(get(at, "/metrics").await.contains("datanode_pipelines_failed 1.0"));
    // The others write on meanwhile.
    put(&mut pipe, 1, &mut next).await;
    // What SCM does about it.
    for node in cluster.ids() {
        scm.send_close_pipeline(node, id);
    }
    until("it to be well", async || get(at, "/health").await.starts_with("HTTP/1.1 200")).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_that_was_away_when_a_pipeline_failed_is_told_of_it() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let mut next = 0;
    put(&mut pipe, 1, &mut next).await;
    let (victim, id) = (cluster.ids()[1], pipe.id);
    cluster.scm.stop().await;
    let at = http(&mut cluster, victim);
    // Until then it is started again in between.
    until("it to fail for good", async || {
        panic(&mut cluster, victim, id);
        get(at, "/health").await.contains("failed permanently")
    })
    .await;
    cluster.scm.restart().await;
    let told = |known: &crate::support::scm::Known| known.failed.get(&id).cloned();
    cluster.scm.scm.wait("the failed pipeline", told).await;
    cluster.stop().await;
}
