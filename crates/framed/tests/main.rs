//! Client and server over loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use framed::{
    ALIGNMENT, Call, CallError, Client, ClientOptions, Code, Handler, HandlerFuture, LARGE_PAYLOAD,
    Reply, Sender, SenderOptions, Server, ServerOptions, Status,
};
use limits::ConnectionOptions;
use testkit::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ECHO: u16 = 1;
const REFUSE: u16 = 2;
const HANG: u16 = 3;
const COUNT: u16 = 4;
const LATER: u16 = 5;
const CRASH: u16 = 6;
const CRASH_LATER: u16 = 7;
/// A [`COUNT`] that waits at a gate after it was read and before it begins.
const GATED: u16 = 8;

/// Longer than any completed call.
const PATIENCE: Duration = testkit::LIMIT;

#[derive(Default)]
struct Echo {
    called: AtomicU64,
    counted: AtomicU64,
    unaligned: AtomicU64,
    order: parking_lot::Mutex<Vec<u64>>,
    arrived: tokio::sync::Notify,
    gate: Option<testkit::Gate>,
}

struct EchoHandler(Arc<Echo>);

impl Handler for EchoHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        let echo = self.0.clone();
        echo.called.fetch_add(1, Ordering::Relaxed);
        if let (GATED, Some(gate)) = (call.method, &echo.gate) {
            // Not on a thread of the runtime, which would block other tasks.
            tokio::task::block_in_place(gate.blocking());
        }
        Box::pin(async move {
            let large = call.payload.len() >= LARGE_PAYLOAD;
            if large && call.payload.as_ptr() as usize % ALIGNMENT != 0 {
                echo.unaligned.fetch_add(1, Ordering::Relaxed);
            }
            match call.method {
                ECHO => Ok(Reply { header: call.header, payload: call.payload }),
                LATER => {
                    tokio::task::yield_now().await;
                    Ok(Reply { header: call.header, payload: call.payload })
                }
                REFUSE => Err(Status::not_leader("not me", "other:1")),
                CRASH => panic!("a handler's fault"),
                CRASH_LATER => {
                    tokio::task::yield_now().await;
                    panic!("a handler's fault")
                }
                HANG => std::future::pending().await,
                COUNT | GATED => {
                    let number = call.header.as_ref().try_into().map(u64::from_be_bytes);
                    echo.order.lock().extend(number);
                    echo.counted.fetch_add(call.payload.len() as u64, Ordering::Relaxed);
                    echo.arrived.notify_one();
                    Ok(Reply::default())
                }
                other => Err(Status::new(Code::Unimplemented, format!("method {other}"))),
            }
        })
    }
}

async fn serve(echo: &Arc<Echo>, options: ServerOptions) -> Server {
    Server::bind("127.0.0.1:0", Arc::new(EchoHandler(echo.clone())), options).await.unwrap()
}

async fn start() -> (Arc<Echo>, Server, Client) {
    let echo = Arc::new(Echo::default());
    let server = serve(&echo, ServerOptions::default()).await;
    let client = Client::new(server.local_addr().to_string(), ClientOptions::default());
    (echo, server, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_all_sizes_come_back_whole_and_large_ones_aligned() {
    let (echo, _server, client) = start().await;
    let calls = (0..200_usize).map(|i| {
        let client = client.clone();
        tokio::spawn(async move {
            let size = [0, 1, 5_000, LARGE_PAYLOAD - 1, LARGE_PAYLOAD, 1 << 20][i % 6] + i;
            let header = Bytes::from(vec![i as u8; i * 7]);
            let payload: Bytes = (0..size).map(|b| (b * 31 + i) as u8).collect();
            let method = if i % 2 == 0 { ECHO } else { LATER };
            let reply = client.call(method, header.clone(), payload.clone(), PATIENCE).await;
            let reply = reply.unwrap();
            assert!(reply.header == header && reply.payload == payload);
        })
    });
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(echo.unaligned.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn refusals_carry_code_message_and_hint() {
    let (_echo, _server, client) = start().await;
    let refused = client.call(REFUSE, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::NotLeader));
    assert_eq!(refused.status().and_then(Status::hint), Some("other:1"));
    assert!(refused.not_begun());
    let unknown = client.call(99, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap_err();
    assert_eq!(unknown.code(), Some(Code::Unimplemented));
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_harms_nobody_else() {
    let (_echo, _server, client) = start().await;
    let wait = Duration::from_millis(50);
    let hung = client.call(HANG, Bytes::new(), Bytes::new(), wait).await.unwrap_err();
    let expired =
        matches!(hung, CallError::Timeout { .. }) || hung.code() == Some(Code::DeadlineExceeded);
    assert!(expired, "{hung}");
    client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
}

#[tokio::test]
async fn an_unreachable_server_is_a_failure_that_was_not_sent() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let client = Client::new(address, ClientOptions::default());
    let failed = client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap_err();
    assert!(failed.not_begun(), "{failed}");
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let (echo, server, client) = start().await;
    client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    let address = server.local_addr().to_string();
    let hung = tokio::spawn({
        let client = client.clone();
        async move { client.call(HANG, Bytes::new(), Bytes::new(), PATIENCE).await }
    });
    until("the call to begin", async || server.stats().in_flight.load(Ordering::Relaxed) > 0).await;
    hung.abort();
    drop(server);
    let handler = Arc::new(EchoHandler(echo));
    let server = until("the address to be free", async || {
        Server::bind(&address, handler.clone(), ServerOptions::default()).await
    })
    .await;
    until("an answer", async || client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await)
        .await;
    server.shutdown().await;
}

#[tokio::test]
async fn one_way_frames_arrive_in_order() {
    let (echo, server, _client) = start().await;
    let sender = Sender::new(server.local_addr().to_string(), SenderOptions::default());
    const FRAMES: u64 = 500;
    let part = Bytes::from(vec![1; 10_000]);
    for i in 0..FRAMES {
        let number = Bytes::copy_from_slice(&i.to_be_bytes());
        sender.send(COUNT, number, vec![part.clone(), Bytes::new(), part.clone()]).unwrap();
    }
    while echo.counted.load(Ordering::Relaxed) < FRAMES * 20_000 {
        echo.arrived.notified().await;
    }
    assert_eq!(*echo.order.lock(), (0..FRAMES).collect::<Vec<_>>());
    until("all to be sent", async || sender.queued_bytes() == 0).await;
}

#[tokio::test]
async fn a_full_sender_refuses_instead_of_growing() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = SenderOptions { max_queued: 1 << 20, ..SenderOptions::default() };
    // Bound but never accepted from and never read: bytes accumulate at the sender.
    let sender = Sender::new(free.local_addr().unwrap().to_string(), options);
    let part = Bytes::from(vec![0; 1 << 20]);
    let refused = (0..64).any(|_| sender.send(COUNT, Bytes::new(), vec![part.clone()]).is_err());
    assert!(refused);
}

#[tokio::test]
async fn a_server_that_takes_nothing_is_left_before_the_call_is_over() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = ClientOptions {
        connections: 1,
        user_timeout: Duration::from_millis(300),
        ..ClientOptions::default()
    };
    let client = Client::new(silent.local_addr().unwrap().to_string(), options);
    // More than sockets buffer.
    let payload = Bytes::from(vec![0; 64 << 20]);
    let call = client.call(ECHO, Bytes::new(), payload, PATIENCE).await;
    assert!(matches!(call, Err(CallError::Transport { sent: true, .. })), "{call:?}");
    drop(silent);
}

#[tokio::test]
async fn a_sender_leaves_a_peer_that_takes_nothing_and_what_is_stale() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options =
        SenderOptions { user_timeout: Duration::from_millis(300), ..SenderOptions::default() };
    let sender = Sender::new(silent.local_addr().unwrap().to_string(), options);
    let part = Bytes::from(vec![0; 1 << 20]);
    for _ in 0..48 {
        sender.send(COUNT, Bytes::new(), vec![part.clone()]).unwrap();
    }
    let (first, _) = silent.accept().await.unwrap();
    until("the queue to be empty", async || sender.queued_bytes() == 0).await;
    sender.send(COUNT, Bytes::new(), vec![part]).unwrap();
    silent.accept().await.unwrap();
    drop(first);
}

#[tokio::test]
async fn another_protocol_and_a_frame_above_the_limit_are_cut_off() {
    let echo = Arc::new(Echo::default());
    let server = serve(&echo, ServerOptions { max_frame: 1_000, ..Default::default() }).await;
    let address = server.local_addr();
    let mut http = tokio::net::TcpStream::connect(address).await.unwrap();
    http.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    // Reset or end of file, depending on what the kernel had left to read.
    let _ = http.read_to_end(&mut rest).await;
    assert!(rest.is_empty());

    let client = Client::new(address.to_string(), ClientOptions::default());
    let big = Bytes::from(vec![0; 2_000]);
    assert!(client.call(ECHO, Bytes::new(), big, PATIENCE).await.is_err());
    client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_shutdown_answers_what_it_has_begun() {
    let (_echo, server, client) = start().await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(LATER, Bytes::from_static(b"x"), Bytes::new(), PATIENCE).await }
    });
    until("the call to begin", async || server.stats().calls.load(Ordering::Relaxed) > 0).await;
    server.shutdown().await;
    assert_eq!(call.await.unwrap().unwrap().header, "x");
}

/// Multi-threaded, because one of the tasks blocks at a gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_call_that_was_read_before_a_shutdown_is_not_begun_after_it() {
    let gate = Some(testkit::Gate::closed());
    let echo = Arc::new(Echo { gate, ..Echo::default() });
    let gate = echo.gate.as_ref().unwrap();
    let server = serve(&echo, ServerOptions::default()).await;
    let client = Client::new(server.local_addr().to_string(), ClientOptions::default());
    let part = Bytes::from_static(b"x");
    let call = tokio::spawn(async move { client.call(GATED, part.clone(), part, PATIENCE).await });
    until("the call to be read", async || gate.waiting() == 1).await;
    server.shutdown().await;
    gate.open();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(echo.counted.load(Ordering::Relaxed), 0, "{error}");
    assert_eq!(error.code(), Some(Code::Unavailable), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_call_that_was_read_after_a_shutdown_does_not_come_to_the_handler() {
    let gate = Some(testkit::Gate::closed());
    let echo = Arc::new(Echo { gate, ..Echo::default() });
    let gate = echo.gate.as_ref().unwrap();
    let server = serve(&echo, ServerOptions::default()).await;
    let one = ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = Client::new(server.local_addr().to_string(), one);
    let call = |method| {
        let client = client.clone();
        tokio::spawn(async move { client.call(method, Bytes::new(), Bytes::new(), PATIENCE).await })
    };
    let first = call(GATED);
    until("the first call to be read", async || gate.waiting() == 1).await;
    let others: Vec<_> = (0..50).map(|_| call(COUNT)).collect();
    server.shutdown().await;
    gate.open();
    for call in others.into_iter().chain([first]) {
        call.await.unwrap().unwrap_err();
    }
    assert_eq!(echo.called.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_call_that_waits_for_its_turn_at_a_shutdown_has_not_crashed() {
    let echo = Arc::new(Echo::default());
    let drain = Duration::from_millis(1);
    let server =
        serve(&echo, ServerOptions { max_in_flight: 4, drain, ..ServerOptions::default() }).await;
    let one = ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = Client::new(server.local_addr().to_string(), one);
    let call = || {
        let client = client.clone();
        tokio::spawn(async move { client.call(HANG, Bytes::new(), Bytes::new(), PATIENCE).await })
    };
    let stats = server.stats().clone();
    let first = call();
    until("a call to hang", async || stats.in_flight.load(Ordering::Relaxed) == 1).await;
    let second = call();
    until("another to wait", async || stats.calls.load(Ordering::Relaxed) == 2).await;
    server.shutdown().await;
    let error = second.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(Code::Unavailable), "{error}");
    assert_eq!(stats.crashed.load(Ordering::Relaxed), 0);
    first.abort();
}

/// A connection on which only these bytes were sent.
async fn stranger(server: &Server, says: &[u8]) -> tokio::net::TcpStream {
    let mut socket = tokio::net::TcpStream::connect(server.local_addr()).await.unwrap();
    socket.write_all(says).await.unwrap();
    socket
}

/// Waits until the server closes the connection.
async fn is_closed(mut socket: tokio::net::TcpStream) {
    let mut rest = Vec::new();
    // Reset or end of file, depending on what the kernel had left to read.
    let _ = socket.read_to_end(&mut rest).await;
}

fn connections(max: usize, max_per_peer: usize) -> ConnectionOptions {
    ConnectionOptions { max, max_per_peer, ..ConnectionOptions::default() }
}

#[tokio::test]
async fn connections_that_say_nothing_shut_no_other_out() {
    let echo = Arc::new(Echo::default());
    let options = ServerOptions { connections: connections(50, 40), ..Default::default() };
    let server = serve(&echo, options).await;
    let client = Client::new(server.local_addr().to_string(), ClientOptions::default());
    client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    let mut strangers = Vec::new();
    for number in 0..500 {
        let says: &[u8] = if number % 2 == 0 { b"" } else { b"O3F1" };
        strangers.push(tokio::net::TcpStream::connect(server.local_addr()).await.unwrap());
        // It may be closed already.
        let _ = strangers.last_mut().unwrap().write_all(says).await;
    }
    let stats = server.connections().stats();
    until("strangers to be evicted", async || stats.evicted.load(Ordering::Relaxed) >= 400).await;
    assert!(stats.open.load(Ordering::Relaxed) <= 40);
    // Existing connections stay, and new ones are accepted.
    client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    let late = Client::new(server.local_addr().to_string(), ClientOptions::default());
    late.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    drop(strangers);
}

#[tokio::test]
async fn connections_that_speak_are_counted_and_those_on_top_refused() {
    let echo = Arc::new(Echo::default());
    let options = ServerOptions { connections: connections(3, 3), ..Default::default() };
    let server = serve(&echo, options).await;
    let one = || ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = || Client::new(server.local_addr().to_string(), one());
    let clients: Vec<Client> = (0..3).map(|_| client()).collect();
    for client in &clients {
        client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    }
    let refused = client().call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await;
    assert!(matches!(refused, Err(CallError::Transport { .. })), "{refused:?}");
    let stats = server.connections().stats();
    assert_eq!(stats.refused.load(Ordering::Relaxed), 1);
    drop(clients);
    until("all to be closed", async || stats.open.load(Ordering::Relaxed) == 0).await;
    client().call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
}

#[tokio::test]
async fn silence_ends_a_connection_before_within_and_between_frames() {
    let echo = Arc::new(Echo::default());
    let short = Duration::from_millis(50);
    let before_and_within = ConnectionOptions {
        handshake_timeout: short,
        stall_timeout: short,
        ..ConnectionOptions::default()
    };
    let options = ServerOptions { connections: before_and_within, ..Default::default() };
    let server = serve(&echo, options).await;
    let says_nothing = stranger(&server, b"").await;
    let says_hello = stranger(&server, b"O3F1").await;
    let begins = stranger(&server, b"O3F1\x01\x00").await;
    for silent in [says_nothing, says_hello, begins] {
        is_closed(silent).await;
    }
    assert_eq!(server.connections().stats().timed_out.load(Ordering::Relaxed), 3);

    let between = ConnectionOptions { idle_timeout: 4 * short, ..ConnectionOptions::default() };
    let options = ServerOptions { connections: between, ..Default::default() };
    let server = serve(&echo, options).await;
    let client = Client::new(server.local_addr().to_string(), ClientOptions::default());
    // A busy machine may be silent for as long between two steps of a call.
    let call = async || client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await;
    until("a call to be answered", call).await;
    // The client's connection is idle from now on, and the next call opens a new one.
    let stats = server.connections().stats();
    until("it to be closed", async || stats.open.load(Ordering::Relaxed) == 0).await;
    until("the next call to be answered", call).await;
}

#[tokio::test]
async fn a_peer_that_takes_no_answers_is_left() {
    let echo = Arc::new(Echo::default());
    let timeouts = ConnectionOptions {
        // It must receive the call, which is sent without a pause.
        stall_timeout: Duration::from_secs(3),
        ..ConnectionOptions::default()
    };
    let server = serve(&echo, ServerOptions { connections: timeouts, ..Default::default() }).await;
    let socket = stranger(&server, b"O3F1").await;
    // One call whose response exceeds the socket buffers and is not read.
    let header = vec![0; 60 << 20];
    let (read, mut write) = socket.into_split();
    let mut head = [0; 32];
    head[0] = 1;
    head[2] = ECHO as u8;
    head[12..16].copy_from_slice(&(header.len() as u32).to_le_bytes());
    let sum = |bytes: &[u8]| {
        (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
    };
    head[24..28].copy_from_slice(&sum(&header));
    let own = sum(&head[..28]);
    head[28..].copy_from_slice(&own);
    write.write_all(&head).await.unwrap();
    write.write_all(&header).await.unwrap();
    let stats = server.connections().stats();
    until("it to be left", async || stats.timed_out.load(Ordering::Relaxed) > 0).await;
    until("all to be closed", async || stats.open.load(Ordering::Relaxed) == 0).await;
    drop(read);
}

#[tokio::test]
async fn a_connection_full_of_calls_that_hang_leaves_the_others_their_share() {
    let echo = Arc::new(Echo::default());
    let server = serve(&echo, ServerOptions { max_in_flight: 16, ..Default::default() }).await;
    let one = ClientOptions { connections: 1, ..ClientOptions::default() };
    let address = server.local_addr().to_string();
    let flood = Client::new(address.clone(), one.clone());
    let hung: Vec<_> = (0..100)
        .map(|_| {
            let flood = flood.clone();
            tokio::spawn(
                async move { flood.call(HANG, Bytes::new(), Bytes::new(), PATIENCE).await },
            )
        })
        .collect();
    let in_flight = || server.stats().in_flight.load(Ordering::Relaxed);
    until("four calls to hang", async || in_flight() >= 4).await;
    let other = Client::new(address, one);
    for _ in 0..20 {
        other.call(LATER, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    }
    assert_eq!(in_flight(), 4, "a connection has a quarter");
    hung.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_handler_that_panics_is_an_answer() {
    let (_echo, server, client) = start().await;
    for method in [CRASH, CRASH_LATER] {
        let crashed = client.call(method, Bytes::new(), Bytes::new(), PATIENCE).await;
        assert_eq!(crashed.unwrap_err().code(), Some(Code::Internal));
        client.call(ECHO, Bytes::new(), Bytes::new(), PATIENCE).await.unwrap();
    }
    assert_eq!(server.stats().crashed.load(Ordering::Relaxed), 2);
    assert_eq!(server.stats().in_flight.load(Ordering::Relaxed), 0);
}
