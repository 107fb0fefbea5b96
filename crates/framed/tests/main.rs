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
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ECHO: u16 = 1;
const REFUSE: u16 = 2;
const HANG: u16 = 3;
const COUNT: u16 = 4;
const LATER: u16 = 5;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Echo {
    counted: AtomicU64,
    unaligned: AtomicU64,
    order: parking_lot::Mutex<Vec<u64>>,
    arrived: tokio::sync::Notify,
}

struct Door(Arc<Echo>);

impl Handler for Door {
    fn call(&self, call: Call) -> HandlerFuture {
        let echo = self.0.clone();
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
                HANG => std::future::pending().await,
                COUNT => {
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
    Server::bind("127.0.0.1:0", Arc::new(Door(echo.clone())), options).await.unwrap()
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
            let reply = client.call(method, header.clone(), payload.clone(), 20 * SECOND).await;
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
    let refused = client.call(REFUSE, Bytes::new(), Bytes::new(), SECOND).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::NotLeader));
    assert_eq!(refused.status().and_then(Status::hint), Some("other:1"));
    assert!(refused.not_begun());
    let unknown = client.call(99, Bytes::new(), Bytes::new(), SECOND).await.unwrap_err();
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
    client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await.unwrap();
}

#[tokio::test]
async fn an_unreachable_server_is_a_failure_that_was_not_sent() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let client = Client::new(address, ClientOptions::default());
    let failed = client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await.unwrap_err();
    assert!(failed.not_begun(), "{failed}");
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let (echo, server, client) = start().await;
    client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await.unwrap();
    let address = server.local_addr().to_string();
    let hung = tokio::spawn({
        let client = client.clone();
        async move { client.call(HANG, Bytes::new(), Bytes::new(), 20 * SECOND).await }
    });
    while server.stats().in_flight.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    hung.abort();
    drop(server);
    let door = Arc::new(Door(echo));
    let server = loop {
        match Server::bind(&address, door.clone(), ServerOptions::default()).await {
            Ok(server) => break server,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let mut answered = client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await;
    for _ in 0..100 {
        if answered.is_ok() {
            break;
        }
        answered = client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await;
    }
    answered.unwrap();
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
    while sender.queued_bytes() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_full_sender_refuses_instead_of_growing() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = SenderOptions { max_queued: 1 << 20, ..SenderOptions::default() };
    // Bound but never accepted from and never read: bytes pile up at the sender.
    let sender = Sender::new(free.local_addr().unwrap().to_string(), options);
    let part = Bytes::from(vec![0; 1 << 20]);
    let refused = (0..64).any(|_| sender.send(COUNT, Bytes::new(), vec![part.clone()]).is_err());
    assert!(refused);
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
    assert!(client.call(ECHO, Bytes::new(), big, SECOND).await.is_err());
    client.call(ECHO, Bytes::new(), Bytes::new(), SECOND).await.unwrap();
}

#[tokio::test]
async fn a_shutdown_answers_what_it_has_begun() {
    let (_echo, server, client) = start().await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(LATER, Bytes::from_static(b"x"), Bytes::new(), SECOND).await }
    });
    while server.stats().calls.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    server.shutdown().await;
    assert_eq!(call.await.unwrap().unwrap().header, "x");
}
