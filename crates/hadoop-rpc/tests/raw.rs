//! Malformed and hostile bytes.

use std::io;

use bytes::Bytes;
use hadoop_rpc::ServerOptions;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Running, TIMEOUT};

/// Sends bytes, closes the sending half, and returns the server's whole output.
async fn say(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let (mut read, mut write) = socket.split();
    let mut heard = Vec::new();
    let talk = async {
        // The server may have closed already.
        let _ = write.write_all(bytes).await;
        let _ = write.shutdown().await;
        match read.read_to_end(&mut heard).await {
            Err(e) if e.kind() != io::ErrorKind::ConnectionReset => panic!("{e}"),
            _ => {}
        }
    };
    tokio::time::timeout(TIMEOUT, talk).await.expect("the server neither answers nor closes");
    heard
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as i32).to_be_bytes()[..], body].concat()
}

/// The bytes that the published client sends for one call: header, context and call together.
fn one_call() -> Vec<u8> {
    let client = b"0123456789abcdef";
    let head = |call: u8, retry: u8| {
        [&[0x1a, 8, 2, 0x10, 0, 0x18, call, 0x22, 16][..], client, &[0x28, retry]].concat()
    };
    let mut context = head(5, 1);
    context.extend_from_slice(&[10, 0x12, 6, 0x0a, 4]);
    context.extend_from_slice(b"root");
    context.extend_from_slice(&[0x1a, 0]);
    let mut call = head(0, 0);
    call.extend_from_slice(&[22, 0x0a, 4]);
    call.extend_from_slice(b"echo");
    call.extend_from_slice(&[0x12, 12]);
    call.extend_from_slice(b"a.b.Protocol");
    call.extend_from_slice(&[0x18, 1, 3, b'a', b'b', b'c']);
    [b"hrpc\x09\0\0".to_vec(), frame(&context), frame(&call)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_java_s_own_bytes_is_answered_in_its_bytes() {
    let server = Running::start(ServerOptions::default()).await;
    let mut expected = vec![0x1a, 8, 0, 0x10, 0, 0x18, 9, 0x3a, 16];
    expected.extend_from_slice(b"0123456789abcdef");
    expected.extend_from_slice(&[0x40, 0, 3, b'a', b'b', b'c']);
    assert_eq!(say(&server, &one_call()).await, frame(&expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_told_why_they_are_refused() {
    let server = Running::start(ServerOptions::default()).await;
    let contains =
        |heard: &[u8], text: &str| heard.windows(text.len()).any(|w| w == text.as_bytes());
    let old = say(&server, b"hrpc\x08\0\0").await;
    assert!(old.starts_with(&[0xff; 8]) && contains(&old, "RPC$VersionMismatch"));
    assert!(contains(&say(&server, b"hrpc\x0a\0\0").await, "RPC$VersionMismatch"));
    assert!(contains(&say(&server, b"hrpc\x09\0\x07").await, "AccessControlException"));
    let call = one_call();
    let context = 4 + i32::from_be_bytes(*call[7..].first_chunk().unwrap()) as usize;
    let without_context = [&call[..7], &call[7 + context..]].concat();
    let refused = say(&server, &without_context).await;
    assert!(contains(&refused, "RpcServerException"));
    let mut without_negotiation = call.clone();
    without_negotiation[6] = 0xdf;
    assert!(contains(&say(&server, &without_negotiation).await, "AccessControlException"));
    assert!(say(&server, b"GET / HTTP/1.1\r\n\r\n").await.is_empty());
}

/// Runs a property against one server, which must answer a valid call afterwards.
fn survives<S: Strategy>(strategy: &S, bytes: impl Fn(S::Value) -> Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = runtime.block_on(Running::start(ServerOptions::default()));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) };
    let property = |value| {
        runtime.block_on(say(&server, &bytes(value)));
        Ok(())
    };
    TestRunner::new(config).run(strategy, property).unwrap();
    let answer = runtime.block_on(server.client().call("echo", Bytes::from("still"), TIMEOUT));
    assert_eq!(answer.unwrap(), "still");
}

#[test]
fn any_bytes_behind_the_preface_are_survived() {
    survives(&any::<Vec<u8>>(), |bytes| [b"hrpc\x09\0\0".to_vec(), bytes].concat());
}

#[test]
fn calls_cut_short_are_survived() {
    survives(&(0..one_call().len()), |end| one_call()[..end].to_vec());
}

#[test]
fn calls_with_damage_are_survived() {
    survives(&((0..one_call().len()), 1_u8..), |(at, mask)| {
        let mut bytes = one_call();
        bytes[at] ^= mask;
        bytes
    });
}
