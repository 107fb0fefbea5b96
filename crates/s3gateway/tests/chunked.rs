//! Bodies in aws-chunks of any size are written as they arrive.

use std::time::Duration;

use limits::{MemoryBudget, MemoryClass};
use proto::ozone::Type;
use testkit::{BegunAnswer, S3Answer, S3Request, until};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::overwritten::gateway;
use crate::request::signer;
use crate::support::{BLOCK, Cluster, data};

/// Timeout of conditions that hold almost at once.
const BOUND: Duration = testkit::LIMIT;

fn put(payload: &str, length: usize) -> S3Request {
    S3Request::new("PUT", "/bucket/k")
        .header("content-encoding", "aws-chunked")
        .header("x-amz-decoded-content-length", length)
        .header("x-amz-trailer", "x-amz-checksum-crc32")
        .payload(payload)
        .without_length()
}

#[tokio::test]
async fn a_chunk_is_written_before_all_of_it_is_there() {
    let memory = MemoryBudget::new(8 << 20);
    let budget = memory.clone();
    let cluster = Cluster::start_with(1, |options| options.memory = Some(budget)).await;
    let gateway = gateway(&cluster).await;
    let half = data(4 * BLOCK as usize);
    let size = 2 * half.len();
    let request = put("STREAMING-UNSIGNED-PAYLOAD-TRAILER", size);
    let request = request.unsigned("transfer-encoding: chunked\r\n");
    let head = request.head(gateway.address(), &signer());
    let mut socket = TcpStream::connect(gateway.address()).await.unwrap();
    socket.write_all(&head).await.unwrap();
    // HTTP chunks are independent of the S3 chunk, of which there is one.
    let mut say = async |bytes: &[u8]| {
        let line = format!("{:x}\r\n", bytes.len());
        socket.write_all(&[line.as_bytes(), bytes, b"\r\n"].concat()).await.unwrap();
    };
    say(format!("{size:x}\r\n").as_bytes()).await;
    say(&half).await;
    // Half of a chunk has arrived, and part of it is written.
    until("a block", async || !cluster.state().asked(Type::AllocateBlock).is_empty()).await;
    assert!(memory.used(MemoryClass::Upload) > 0);
    say(&half).await;
    let crc =
        crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &[&half[..], &half].concat());
    let crc = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        (crc as u32).to_be_bytes(),
    );
    say(format!("\r\n0\r\nx-amz-checksum-crc32:{crc}\r\n\r\n").as_bytes()).await;
    socket.write_all(b"0\r\n\r\n").await.unwrap();
    let written = until("the key", async || cluster.get("k").await).await;
    assert!(written == [&half[..], &half].concat());
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_signed_chunk_that_is_too_large_is_refused_before_it_comes() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    for payload in
        ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"]
    {
        let request = put(payload, 1 << 30).unsigned("content-length: 1073741824\r\n");
        let mut request = request.head(gateway.address(), &signer());
        let line = format!("40000000;chunk-signature={}\r\nsome bytes", "0".repeat(64));
        request.extend_from_slice(line.as_bytes());
        let answer = BegunAnswer::of(gateway.address(), &request);
        let answer = tokio::time::timeout(BOUND, answer)
            .await
            .expect("the response is blocked by the rest of the body");
        assert_eq!(answer.status, 400);
        let text = String::from_utf8(answer.rest().await).unwrap();
        assert!(text.contains("InvalidChunkSizeError"), "{text}");
    }
    // Small chunks are verified as before.
    let body = format!("4;chunk-signature={}\r\nsome\r\n", "0".repeat(64));
    let request = put("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", 4);
    let request = request.unsigned(format!("content-length: {}\r\n", body.len()));
    let mut request = request.head(gateway.address(), &signer());
    request.extend_from_slice(body.as_bytes());
    let answer = S3Answer::of(gateway.address(), &request).await;
    assert_eq!(answer.outcome(), (403, "SignatureDoesNotMatch".to_owned()), "{}", answer.text());
    assert!(cluster.get("k").await.is_err());
    gateway.shutdown().await;
}
