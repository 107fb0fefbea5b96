//! Uploads over slow lines.

use std::time::Duration;

use limits::MemoryBudget;
use proto::ozone::Type;
use s3gateway::S3GatewayHandle;
use testkit::{S3Request, until};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use types::replication::{EcCodec, EcConfig};

use crate::overwritten::gateway_that;
use crate::request::signer;
use crate::support::{CHUNK, Cluster, data};

/// Number of uploads that send a little data and then stall. The budget does not suffice for a
/// whole chunk of each.
const SLOW: usize = 25;

/// Memory budget, of which a user's share is 18 chunks for uploads, or 7 stripes with their parity.
const MEMORY: u64 = 4_500_000;

const RS_3_2: EcConfig =
    EcConfig { data: 3, parity: 2, codec: EcCodec::Rs, chunk_size: CHUNK as u32 / 2 };

/// Timeout of conditions that hold almost at once.
const BOUND: Duration = testkit::LIMIT;

/// A gateway that closes no slow connection during a test.
async fn patient_gateway(cluster: &Cluster) -> S3GatewayHandle {
    gateway_that(cluster, |options| {
        options.connections.stall_timeout = 100 * BOUND;
        options.minimum_upload_rate = 0;
    })
    .await
}

/// Begins an upload of 50 MB and sends `sent` bytes of it.
async fn begin(gateway: &S3GatewayHandle, key: &str, sent: usize) -> TcpStream {
    let put = S3Request::new("PUT", &format!("/bucket/{key}")).without_length();
    let put = put.unsigned("content-length: 50000000\r\n");
    let mut request = put.head(gateway.address(), &signer());
    request.extend_from_slice(&vec![0; sent]);
    let mut socket = TcpStream::connect(gateway.address()).await.unwrap();
    socket.write_all(&request).await.unwrap();
    socket
}

/// Uploads objects, and reads them.
async fn upload(cluster: &Cluster, gateway: &S3GatewayHandle) {
    for size in [1, CHUNK - 1, 10 * CHUNK] {
        let body = data(size);
        let put = S3Request::new("PUT", "/bucket/k").body(body.to_vec());
        let signer = signer();
        let put = tokio::time::timeout(BOUND, put.send(gateway.address(), &signer));
        assert_eq!(put.await.expect("it is blocked by slow uploads").status, 200, "{size}");
        assert!(cluster.get("k").await.unwrap() == body, "{size}");
    }
}

#[tokio::test]
async fn uploads_over_slow_lines_hold_up_no_other() {
    for is_erasure_coded in [false, true] {
        let memory = Some(MemoryBudget::new(MEMORY));
        let cluster = match is_erasure_coded {
            false => Cluster::start_with(1, |options| options.memory = memory).await,
            true => Cluster::erasure_coded(1, RS_3_2, |options| options.memory = memory).await,
        };
        let gateway = patient_gateway(&cluster).await;
        let mut sockets = Vec::new();
        for number in 0..SLOW {
            sockets.push(begin(&gateway, &format!("slow{number}"), 1000).await);
        }
        until("all uploads to begin", async || {
            cluster.state().asked(Type::CreateKey).len() == SLOW
        })
        .await;
        upload(&cluster, &gateway).await;
        drop(sockets);
        gateway.shutdown().await;
    }
}

#[tokio::test]
async fn uploads_that_stop_in_the_middle_give_their_memory_to_others() {
    let memory = MemoryBudget::new(MEMORY);
    let cluster = Cluster::start_with(1, |options| options.memory = Some(memory)).await;
    let gateway = patient_gateway(&cluster).await;
    let mut sockets = Vec::new();
    for number in 0..SLOW {
        // Just less than a chunk: it is not sent before it is complete.
        sockets.push(begin(&gateway, &format!("slow{number}"), CHUNK - 1).await);
    }
    until("all uploads to begin", async || cluster.state().asked(Type::CreateKey).len() == SLOW)
        .await;
    upload(&cluster, &gateway).await;
    drop(sockets);
    gateway.shutdown().await;
}
