//! Containers that no DataNode would push.

use bytes::Bytes;
use framed::{CallError, Client, ClientOptions};
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{DatanodeId, PipelineId};

use crate::support::{Cluster, block, bytes};

/// The first and the last step of a push, as they are on the wire.
#[derive(Clone, PartialEq, prost::Message)]
struct Push {
    #[prost(uint64, tag = "1")]
    container: u64,
    #[prost(uint64, tag = "2")]
    attempt: u64,
    #[prost(message, optional, tag = "3")]
    begin: Option<Begin>,
    #[prost(message, optional, tag = "5")]
    finish: Option<Finish>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Begin {
    #[prost(string, tag = "1")]
    state: String,
    #[prost(string, optional, tag = "2")]
    pipeline: Option<String>,
    #[prost(string, tag = "3")]
    origin: String,
    #[prost(int32, tag = "4")]
    replica_index: i32,
    #[prost(uint64, tag = "5")]
    max_size: u64,
    #[prost(uint64, tag = "6")]
    bcsid: u64,
    #[prost(uint64, tag = "7")]
    delete_tx: u64,
    #[prost(uint64, tag = "8")]
    used: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Finish {
    #[prost(uint64, tag = "1")]
    blocks: u64,
    #[prost(uint64, tag = "2")]
    bytes: u64,
}

fn begin() -> Begin {
    Begin {
        state: "CLOSED".into(),
        origin: DatanodeId::random().to_string(),
        max_size: 5 << 30,
        bcsid: 5,
        ..Default::default()
    }
}

/// Pushes an empty container.
async fn push(address: &str, container: u64, begin: Begin) -> Result<(), CallError> {
    let options = ClientOptions { connections: 1, ..Default::default() };
    let client = Client::new(address, options);
    let finish = Some(Finish { blocks: 0, bytes: 0 });
    let steps = [
        Push { container, attempt: 1, begin: Some(begin), finish: None },
        Push { container, attempt: 1, begin: None, finish },
    ];
    for step in steps {
        let header = prost::Message::encode_to_vec(&step).into();
        let method = proto::method::CONTAINER_PUSH;
        client.call(method, header, Bytes::new(), testkit::LIMIT).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_cannot_be_is_not_taken() {
    let cluster = Cluster::start(1).await;
    let (node, address) = (cluster.ids()[0], cluster.nodes[0].address());
    let odd = [
        (0, begin()),
        (u64::MAX, begin()),
        (7, Begin { state: "OPEN".into(), ..begin() }),
        (7, Begin { origin: "somebody".into(), ..begin() }),
        (7, Begin { origin: String::new(), ..begin() }),
        (7, Begin { used: 1 << 50, ..begin() }),
        (7, Begin { used: u64::MAX, ..begin() }),
        (7, Begin { bcsid: u64::MAX, ..begin() }),
        (7, Begin { delete_tx: u64::MAX, ..begin() }),
        (7, Begin { max_size: u64::MAX, ..begin() }),
        (7, Begin { replica_index: -1, ..begin() }),
    ];
    for (container, begin) in odd {
        push(&address, container, begin.clone()).await.expect_err(&format!("{begin:?}"));
    }
    push(&address, 8, begin()).await.unwrap();
    cluster.scm.scm.wait_for_replica(node, 8, State::Closed).await;
    let others = cluster.scm.scm.with(|known| known.replicas.keys().any(|(_, id)| *id != 8));
    assert!(!others);
    cluster.stop().await;
}

/// An untrusted client pushes a closed container to a member of the pipeline that will write it.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_was_pushed_does_not_count() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let leader = pipe.leader;
    let others: Vec<_> = cluster.ids().into_iter().filter(|id| *id != leader).collect();
    let [deceived, away] = others[..] else { unreachable!() };
    let pipeline: PipelineId = pipe.id;
    let address = cluster.node(deceived).address();
    push(&address, 7, Begin { pipeline: Some(pipeline.to_string()), ..begin() }).await.unwrap();
    cluster.scm.scm.wait_for_replica(deceived, 7, State::Closed).await;
    cluster.node(away).stop().await;

    let mut other = cluster.pipe(pipe.id, leader);
    let writing = tokio::spawn(async move {
        let data = bytes(2, 3 << 20);
        other.put_large(block(7, 1), &data, 1 << 20).await
    });
    until("an acknowledgement, or the news that there can be none", async || {
        writing.is_finished() || cluster.scm.scm.with(|known| known.failed.contains_key(&pipeline))
    })
    .await;
    assert!(!writing.is_finished(), "acknowledged with one copy");
    cluster.node(away).restart().await;
    let id = writing.await.unwrap().unwrap();
    let pipe = cluster.pipe(pipeline, leader);
    for node in [leader, away] {
        assert_eq!(pipe.eventually(|| pipe.get_large(node, id)).await, bytes(2, 3 << 20));
    }
    cluster.stop().await;
}
