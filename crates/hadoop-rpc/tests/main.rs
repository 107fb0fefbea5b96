//! Client against server over loopback, and raw bytes against the server.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod raw;
mod repeated;
mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hadoop_rpc::{CallError, Client, ClientOptions, ErrorCode, ServerOptions};
use testkit::until;

use crate::support::{PROTOCOL, Running, TIMEOUT};

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_answered_with_the_callers_name() {
    for negotiate in [false, true] {
        let server = Running::start(ServerOptions::default()).await;
        let options = ClientOptions { negotiate, ..ClientOptions::default() };
        let client = server.client_with(PROTOCOL, options);
        let answer = client.call("whoami", Bytes::new(), TIMEOUT).await.unwrap();
        assert_eq!(answer, "alice", "negotiate: {negotiate}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_share_a_connection_and_none_gets_anothers_answer() {
    let server = Running::start(ServerOptions::default()).await;
    let client = server.client();
    let calls = (0..500_usize).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            let method = if n % 3 == 0 { "echo" } else { "later" };
            let body = Bytes::from(vec![n as u8; n * 97]);
            let answer = client.call(method, body.clone(), TIMEOUT).await.unwrap();
            assert_eq!(answer, body, "call {n}");
        })
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(server.server.stats().connections.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_messages_pass_both_ways_and_larger_ones_end_the_connection() {
    let options = ServerOptions { max_frame: 3 << 20, ..ServerOptions::default() };
    let server = Running::start(options).await;
    let client = server.client();
    let body = Bytes::from(vec![7; 2 << 20]);
    assert_eq!(client.call("echo", body.clone(), TIMEOUT).await.unwrap(), body);
    let larger = Bytes::from(vec![7; 4 << 20]);
    let lost = client.call("echo", larger, TIMEOUT).await.unwrap_err();
    assert!(matches!(lost, CallError::Lost { .. }), "{lost}");
    assert_eq!(client.call("echo", body.clone(), TIMEOUT).await.unwrap(), body, "a new connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_the_exceptions_that_java_expects() {
    let server = Running::start(ServerOptions::default()).await;
    let cases = [
        (PROTOCOL, "nothing", ErrorCode::NoSuchMethod, "a.ipc.RpcNoSuchMethodException"),
        (("a.Other", 1), "echo", ErrorCode::NoSuchProtocol, "a.ipc.RpcNoSuchProtocolException"),
        ((PROTOCOL.0, 2), "echo", ErrorCode::VersionMismatch, "a.ipc.RPC$VersionMismatch"),
        (PROTOCOL, "fail", ErrorCode::Application, "java.io.FileNotFoundException"),
        (PROTOCOL, "panic", ErrorCode::Application, "java.io.IOException"),
    ];
    for (protocol, method, code, class) in cases {
        let client = server.client_with(protocol, ClientOptions::default());
        let error = client.call(method, Bytes::new(), TIMEOUT).await.unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!((fault.code, fault.exception.full_name("-").as_str()), (code, class));
        // The connection stays open.
        let again = client.call(method, Bytes::new(), TIMEOUT).await.unwrap_err();
        assert!(again.fault().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_waits_and_what_waits_too_long_is_refused() {
    let options = ServerOptions {
        max_in_flight: 2,
        queue_timeout: Duration::from_millis(50),
        ..ServerOptions::default()
    };
    let server = Running::start(options).await;
    let client = server.client();
    let held: Vec<_> = (0..2)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("hold", Bytes::new(), TIMEOUT).await })
        })
        .collect();
    until("two calls", async || server.server.in_flight() == 2).await;
    for method in ["hold", "count"] {
        let error = client.call(method, Bytes::new(), TIMEOUT).await.unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!(fault.code, ErrorCode::Server);
        assert_eq!(fault.exception.full_name("-"), "a.ipc.RetriableException");
    }
    assert_eq!(server.server.stats().refused.load(Ordering::Relaxed), 2);
    let at_once = client.call("echo", Bytes::new(), TIMEOUT).await;
    assert!(at_once.is_ok(), "what needs no waiting needs no place");
    server.service.release();
    for call in held {
        call.await.unwrap().unwrap();
    }
    // Completed calls release their permits a moment later.
    until("no call", async || server.server.in_flight() == 0).await;
    assert_eq!(client.call("count", Bytes::new(), TIMEOUT).await.unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_user_does_not_hold_up_another() {
    let server =
        Running::start(ServerOptions { max_in_flight: 2, ..ServerOptions::default() }).await;
    let call = |client: Client| {
        tokio::spawn(async move { client.call("step", Bytes::new(), TIMEOUT).await.unwrap() })
    };
    let flood: Vec<_> = (0..30).map(|_| call(server.client_of("flood"))).collect();
    until("thirty calls", async || server.server.stats().calls.load(Ordering::Relaxed) == 30).await;
    let light = call(server.client_of("light"));
    until("one more call", async || server.server.stats().calls.load(Ordering::Relaxed) == 31)
        .await;
    // The calls of the flood that are already in progress, and then the light user's.
    let mut steps = 0;
    while !light.is_finished() {
        server.service.steps.add_permits(1);
        steps += 1;
        until("the steps", async || server.service.stepped.load(Ordering::Relaxed) == steps).await;
    }
    assert!(steps < 10, "{steps} calls were served before it");
    server.service.steps.add_permits(31);
    for call in flood {
        call.await.unwrap();
    }
    until("no call", async || server.server.in_flight() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_is_given_back_to_its_client() {
    let options =
        ServerOptions { call_timeout: Duration::from_millis(50), ..ServerOptions::default() };
    let server = Running::start(options).await;
    let error = server.client().call("hold", Bytes::new(), TIMEOUT).await.unwrap_err();
    assert_eq!(error.fault().unwrap().code, ErrorCode::Server);
    until("no call", async || server.server.in_flight() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gives_up_in_time_and_its_connection_goes_on() {
    let server = Running::start(ServerOptions::default()).await;
    let client = server.client();
    let soon = Duration::from_millis(30);
    let late = client.call("hold", Bytes::new(), soon).await.unwrap_err();
    assert!(matches!(late, CallError::Timeout { .. }), "{late}");
    assert!(client.call("echo", Bytes::new(), TIMEOUT).await.is_ok());
    server.service.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_end_on_either_side_and_are_made_again() {
    let short = Duration::from_millis(40);
    let sides = [
        (ServerOptions { idle_timeout: short, ..ServerOptions::default() }, TIMEOUT),
        (ServerOptions::default(), short),
    ];
    for (options, idle_timeout) in sides {
        let server = Running::start(options).await;
        let options = ClientOptions { idle_timeout, ..ClientOptions::default() };
        let client = server.client_with(PROTOCOL, options);
        client.call("echo", Bytes::new(), TIMEOUT).await.unwrap();
        until("no connection", async || {
            server.server.stats().connections.load(Ordering::Relaxed) == 0
        })
        .await;
        until("an answer", async || client.call("echo", Bytes::new(), TIMEOUT).await.is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_client_says_that_it_is_there() {
    let server = Running::start(ServerOptions::default()).await;
    let short = Duration::from_millis(20);
    let options =
        ClientOptions { ping_interval: short, idle_timeout: short, ..ClientOptions::default() };
    let client = server.client_with(PROTOCOL, options);
    let held = {
        let client = client.clone();
        tokio::spawn(async move { client.call("hold", Bytes::new(), TIMEOUT).await })
    };
    until("one call", async || server.server.in_flight() == 1).await;
    // Pings get no response; if one did, or the connection were closed, the call would fail.
    let received = || server.server.stats().bytes_in.load(Ordering::Relaxed);
    for _ in 0..5 {
        let before = received();
        until("an answer", async || received() > before).await;
    }
    server.service.release();
    held.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_finishes_what_was_begun() {
    let server = Running::start(ServerOptions::default()).await;
    let client = server.client();
    let held = {
        let client = client.clone();
        tokio::spawn(async move { client.call("hold", Bytes::new(), TIMEOUT).await })
    };
    until("one call", async || server.server.in_flight() == 1).await;
    let closing = {
        let server = server.server.clone();
        tokio::spawn(async move { server.shutdown().await })
    };
    server.service.release();
    closing.await.unwrap();
    assert!(held.await.unwrap().is_ok());
    assert!(
        client.call("echo", Bytes::new(), TIMEOUT).await.is_err(),
        "no response after the shutdown"
    );
}

/// Multi-threaded, because one of the tasks blocks at a gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_call_that_was_read_before_a_shutdown_is_not_begun_after_it() {
    for method in ["gated-count", "gated-count-at-once"] {
        let server = Running::start(ServerOptions::default()).await;
        let client = server.client();
        let read = tokio::spawn(async move { client.call(method, Bytes::new(), TIMEOUT).await });
        until("the call to be read", async || server.service.gate.waiting() == 1).await;
        server.server.shutdown().await;
        server.service.gate.open();
        let error = read.await.unwrap().unwrap_err();
        assert_eq!(server.service.counted.load(Ordering::Relaxed), 0, "{method}: {error}");
        let class = error.fault().map(|fault| fault.exception.full_name("-"));
        assert_eq!(class.as_deref(), Some("a.ipc.RetriableException"), "{method}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_its_turn_at_a_shutdown_is_to_be_tried_again() {
    let options = ServerOptions { max_in_flight: 1, ..ServerOptions::default() };
    let server = Running::start(options).await;
    let call = |method: &'static str| {
        let client = server.client();
        tokio::spawn(async move { client.call(method, Bytes::new(), TIMEOUT).await })
    };
    let held = call("hold");
    until("one call", async || server.server.in_flight() == 1).await;
    let waiting = call("count");
    until("two calls", async || server.server.stats().calls.load(Ordering::Relaxed) == 2).await;
    let closing = {
        let server = server.server.clone();
        tokio::spawn(async move { server.shutdown().await })
    };
    let error = waiting.await.unwrap().unwrap_err();
    let class = error.fault().map(|fault| fault.exception.full_name("-"));
    assert_eq!(class.as_deref(), Some("a.ipc.RetriableException"), "{error}");
    server.service.release();
    assert!(held.await.unwrap().is_ok());
    closing.await.unwrap();
    assert_eq!(server.service.counted.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_are_served_on_one_port() {
    struct Frames;
    impl framed::Handler for Frames {
        fn call(&self, call: framed::Call) -> framed::HandlerFuture {
            Box::pin(
                async move { Ok(framed::Reply { header: call.header, payload: call.payload }) },
            )
        }
    }
    let running = Running::start(ServerOptions::default()).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let foreign: Arc<dyn framed::ForeignProtocol> = Arc::new(running.server.clone());
    let options = framed::ServerOptions::default();
    let host =
        framed::Server::serve_with_foreign(listener, Arc::new(Frames), Some(foreign), options)
            .unwrap();
    let running = Running { address: host.local_addr(), ..running };
    let client = running.client();
    assert_eq!(client.call("echo", Bytes::from("hadoop"), TIMEOUT).await.unwrap(), "hadoop");
    let address = host.local_addr().to_string();
    let frames = framed::Client::new(address, framed::ClientOptions::default());
    let reply = frames.call(1, Bytes::from("frame"), Bytes::new(), TIMEOUT).await.unwrap();
    assert_eq!(reply.header, "frame");
    host.shutdown().await;
    until("no connection", async || {
        running.server.stats().connections.load(Ordering::Relaxed) == 0
    })
    .await;
    assert!(client.call("echo", Bytes::new(), TIMEOUT).await.is_err());
}
