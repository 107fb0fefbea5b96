//! Objects that are overwritten during a read.

use std::sync::atomic::Ordering;

use config::{Configuration, HostPort};
use limits::ConnectionOptions;
use s3gateway::{GatewayOptions, S3Gateway, S3GatewayHandle};
use testkit::until;
use tokio::sync::Semaphore;

use crate::request::{ACCESS_KEY, SECRET_KEY, copy, get};
use crate::support::{BLOCK, CHUNK, Cluster, SMALL, data, replace};

pub async fn gateway(cluster: &Cluster) -> S3GatewayHandle {
    gateway_with(cluster, ConnectionOptions::default()).await
}

pub async fn gateway_with(cluster: &Cluster, connections: ConnectionOptions) -> S3GatewayHandle {
    gateway_that(cluster, |options| options.connections = connections).await
}

pub async fn gateway_that(
    cluster: &Cluster,
    change: impl FnOnce(&mut GatewayOptions),
) -> S3GatewayHandle {
    let conf = Configuration::builder().build().unwrap();
    let mut options = GatewayOptions {
        address: HostPort::new("127.0.0.1", 0),
        status_address: None,
        volume: "vol".to_owned(),
        credentials: Some((ACCESS_KEY.to_owned(), SECRET_KEY.to_owned())),
        ..GatewayOptions::from_configuration(&conf).unwrap()
    };
    change(&mut options);
    S3Gateway::start_with(cluster.client.clone(), options).await.unwrap()
}

#[tokio::test]
async fn an_object_that_is_overwritten_before_its_first_byte_is_the_new_one() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    for size in [SMALL, 3 * CHUNK] {
        cluster.put("k", data(size)).await.unwrap();
        cluster.put("new", data(2 * size)).await.unwrap();
        cluster.replace_after_look_up("k", "new");
        let answer = get(gateway.address(), "/bucket/k").await;
        assert_eq!((answer.status, answer.length()), (200, 2 * size));
        assert_eq!(answer.rest().await, data(2 * size));
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn the_connection_ends_when_an_object_is_overwritten_behind_its_first_bytes() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let old = data(3 * BLOCK as usize);
    let info = cluster.put("k", old.clone()).await.unwrap();
    cluster.put("new", data(4 * BLOCK as usize)).await.unwrap();
    let gate = cluster.hold_reads(&info, 1);
    let mut answer = get(gateway.address(), "/bucket/k").await;
    assert_eq!((answer.status, answer.length()), (200, old.len()));
    let mut got = answer.read(1).await;
    replace(cluster.state(), &cluster.blocks, "k", "new");
    gate.add_permits(Semaphore::MAX_PERMITS);
    got.extend(answer.rest().await);
    assert!(got.len() <= BLOCK as usize, "{} bytes of an overwritten object", got.len());
    assert_eq!(got, old.slice(..got.len()));
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_copy_of_an_object_that_is_overwritten_meanwhile_is_of_the_new_one() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let old = data(3 * BLOCK as usize);
    let info = cluster.put("k", old).await.unwrap();
    let new = data(2 * BLOCK as usize + 1);
    cluster.put("new", new.clone()).await.unwrap();
    // The first block is copied, then the others are deleted.
    let gate = cluster.hold_reads(&info, 1);
    let address = gateway.address();
    let copied = tokio::spawn(async move { copy(address, "/bucket/k", "/bucket/copy").await });
    let held =
        || cluster.pipelines.iter().flatten().any(|n| n.faults.read_held.load(Ordering::Acquire));
    until("the copy to reach the second block", async || {
        assert!(!copied.is_finished(), "the copy did not reach the second block");
        held()
    })
    .await;
    replace(cluster.state(), &cluster.blocks, "k", "new");
    gate.add_permits(Semaphore::MAX_PERMITS);
    let answer = copied.await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(cluster.get("copy").await.unwrap(), new);
    gateway.shutdown().await;
}
