//! Limits on clients that have not authenticated, or do not continue.

use std::time::Duration;

use limits::ConnectionOptions;
use testkit::{BegunAnswer, S3Request};
use tokio::net::TcpStream;

use crate::overwritten::{gateway, gateway_with};
use crate::request::{get, signer};
use crate::support::{Cluster, SMALL, data};

/// Long enough for a briefly stalled test machine to send the head of a request.
const TIMEOUT: Duration = Duration::from_secs(3);

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_out() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let limits = ConnectionOptions { max: 20, max_per_peer: 10, ..Default::default() };
    let gateway = gateway_with(&cluster, limits).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(gateway.address()).await.unwrap());
    }
    let answer = get(gateway.address(), "/bucket/k").await;
    assert_eq!((answer.status, answer.rest().await), (200, data(SMALL).to_vec()));
    drop(silent);
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_waited_for_for_ever() {
    let cluster = Cluster::start(1).await;
    let limits = ConnectionOptions { stall_timeout: TIMEOUT, ..Default::default() };
    let gateway = gateway_with(&cluster, limits).await;
    let request = S3Request::new("PUT", "/bucket/k").without_length();
    let request = request.unsigned("content-length: 1000\r\n");
    let mut request = request.head(gateway.address(), &signer());
    request.extend_from_slice(b"ten bytes.");
    let answer = BegunAnswer::of(gateway.address(), &request).await;
    assert_eq!(answer.status, 400);
    let body = String::from_utf8(answer.rest().await).unwrap();
    assert!(body.contains("RequestTimeout"), "{body}");
    assert!(cluster.get("k").await.is_err());
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_document_is_not_read_before_its_signature_is_checked() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let more = "content-length: 8000000\r\ncontent-md5: JfnnlDI7RTiF9RgfG2JNCw==\r\n";
    let right = S3Request::new("POST", "/bucket?delete").without_length().unsigned(more);
    let right = String::from_utf8(right.head(gateway.address(), &signer())).unwrap();
    let wrong = right.replace("Signature=", "Signature=0");
    // The body is not sent.
    let answer = BegunAnswer::of(gateway.address(), wrong.as_bytes()).await;
    assert_eq!(answer.status, 403);
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_form_is_refused_before_it_is_read() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let request = format!(
        "POST /bucket HTTP/1.1\r\nhost: {}\r\ncontent-length: 8000000\r\n\
         content-type: multipart/form-data; boundary=x\r\n\r\n",
        gateway.address()
    );
    let answer = BegunAnswer::of(gateway.address(), request.as_bytes()).await;
    assert_eq!(answer.status, 501);
    gateway.shutdown().await;
}
