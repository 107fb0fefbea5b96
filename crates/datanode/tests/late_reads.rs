//! A disk that hangs: its node refuses reads that are late, and others answer them.

use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use proto::datanode::Result as ResultCode;
use testkit::{DelayedReads, Gate, hold_reads, until};
use types::{BlockId, DatanodeId};

use crate::failing_disk::{container_parents, disk_of};
use crate::failing_group::get;
use crate::support::{Cluster, Pipe, block, bytes};

struct Slow {
    cluster: Cluster,
    pipe: Pipe,
    node: DatanodeId,
    block: BlockId,
    data: Bytes,
    /// The chunks of the block on that node.
    chunks: PathBuf,
}

/// A block of three replicas, of which one is on a disk that is going to hang.
async fn slow(adapt: impl Fn(config::Configuration) -> config::Configuration) -> Slow {
    let mut cluster = Cluster::start_with(3, adapt).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 3 << 20);
    let block = pipe.put_large(block(1, 1), &data, 1 << 20).await.unwrap();
    let node = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    for replica in cluster.ids() {
        pipe.eventually(|| pipe.get_large(replica, block)).await;
    }
    let disk = disk_of(&cluster.node(node).dir);
    let container = container_parents(&disk).into_iter().map(|parent| parent.join("1"));
    let chunks = container.map(|container| container.join("chunks")).find(|dir| dir.is_dir());
    Slow { cluster, pipe, node, block, data, chunks: chunks.unwrap() }
}

impl Slow {
    fn hang(&self, gate: &Gate) -> DelayedReads {
        hold_reads(&self.chunks.display().to_string(), gate)
    }

    async fn metric(&self, name: &str) -> f64 {
        let node = self.cluster.nodes.iter().find(|node| node.id == self.node).unwrap();
        let at: SocketAddr = node.handle.as_ref().unwrap().addresses().http.unwrap();
        let all = get(at, "/metrics").await;
        let is_it = |line: &&str| line.starts_with(&format!("datanode_{name}"));
        let values = all.lines().filter(is_it).filter_map(|line| line.rsplit(' ').next());
        values.filter_map(|value| value.parse::<f64>().ok()).sum()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_read_is_refused_while_the_disk_hangs_and_another_replica_answers_it() {
    let slow = slow(|conf| conf).await;
    let chunk = slow.pipe.get_block(slow.node, slow.block).await.unwrap().chunks.remove(0);
    let gate = Gate::closed();
    let held = slow.hang(&gate);
    let refused = slow.pipe.read_chunk(slow.node, slow.block, &chunk).await.unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::IoException), "{refused:?}");
    // Both attempts still hang: no client waited for them.
    assert_eq!((gate.waiting(), gate.passed()), (2, 0));
    let leader = slow.pipe.leader;
    assert_eq!(slow.pipe.get_large(leader, slow.block).await.unwrap(), slow.data);
    assert_eq!(slow.metric("disk_refused_reads").await, 1.0);
    assert_eq!(slow.metric("disk_stuck_workers").await, 2.0);
    // The replica is not suspected, and the disk has not failed.
    assert_eq!(slow.metric("containers_suspicious").await, 0.0);
    assert_eq!(slow.metric("disks_failed").await, 0.0);

    // Its reader comes again: it found no better replica, and is waited for.
    let read = slow.pipe.read_chunk(slow.node, slow.block, &chunk);
    let opened = async {
        until("its read", async || gate.waiting() == 3).await;
        gate.open();
    };
    let (read, ()) = tokio::join!(read, opened);
    assert_eq!(read.unwrap(), slow.data.slice(..1 << 20));
    drop(held);
    until("the workers to be back", async || slow.metric("disk_stuck_workers").await == 0.0).await;
    assert_eq!(slow.pipe.get_large(slow.node, slow.block).await.unwrap(), slow.data);
    slow.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_limit_a_read_waits_and_is_dropped_when_its_client_goes() {
    let slow = slow(|conf| conf.with("trioxide.datanode.read.limit", "0")).await;
    let chunk = slow.pipe.get_block(slow.node, slow.block).await.unwrap().chunks.remove(0);
    let gate = Gate::closed();
    let _held = slow.hang(&gate);
    // A connection of its own, which is closed with its client.
    let gone = slow.cluster.pipe(slow.pipe.id, slow.pipe.leader);
    {
        let read = gone.read_chunk(slow.node, slow.block, &chunk);
        tokio::pin!(read);
        let begun = until("the read to hang", async || gate.waiting() > 0);
        tokio::select! {
            read = &mut read => panic!("answered: {read:?}"),
            () = begun => {}
        }
    }
    drop(gone);
    until("the read to be dropped", async || slow.metric("reads_dropped").await == 1.0).await;
    assert_eq!(slow.metric("disk_refused_reads").await, 0.0);
    // Another one waits to the end.
    let read = slow.pipe.read_chunk(slow.node, slow.block, &chunk);
    let opened = async {
        until("its read", async || gate.waiting() == 2).await;
        gate.open();
    };
    let (read, ()) = tokio::join!(read, opened);
    assert_eq!(read.unwrap(), slow.data.slice(..1 << 20));
    slow.cluster.stop().await;
}
