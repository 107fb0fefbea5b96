//! Calls per second and CPU per call of Hadoop RPC, client and server in one process.
//!
//! `cargo run --release --example hadoop_echo_rate`, followed by the numbers of callers, bytes of a
//! body, seconds and clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use hadoop_rpc::{Call, Client, ClientOptions, Identity, Server, ServerOptions, Service, Work};
use tokio::net::TcpListener;

struct Echo;

impl Service for Echo {
    fn version(&self, _: &str) -> Option<u64> {
        Some(1)
    }

    fn call(&self, call: Call) -> Work {
        match call.method.as_str() {
            "once" => Work::Once(Box::pin(async move { Ok(call.body) })),
            _ => Work::Repeatable(Box::pin(async move { Ok(call.body) })),
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let callers = args.next().transpose()?.unwrap_or(64);
    let size = args.next().transpose()?.unwrap_or(100);
    let seconds = args.next().transpose()?.unwrap_or(3);
    let clients = args.next().transpose()?.unwrap_or(2).max(1);
    let server = Server::new(Arc::new(Echo), ServerOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let listening = server.clone();
    tokio::spawn(async move { listening.listen(listener).await });
    for method in ["any", "once"] {
        let clients: Vec<Client> = (0..clients)
            .map(|_| {
                let (address, options) = (address.clone(), ClientOptions::default());
                Client::new(address, ("Echo", 1), "user", Identity::random(), options)
            })
            .collect();
        let done = Arc::new(AtomicU64::new(0));
        let (began, cpu) = (Instant::now(), cpu_time());
        let end = began + Duration::from_secs(seconds as u64);
        let tasks: Vec<_> = (0..callers)
            .map(|n| {
                let (client, done) = (clients[n % clients.len()].clone(), done.clone());
                tokio::spawn(async move {
                    let body = Bytes::from(vec![7; size]);
                    while Instant::now() < end {
                        let wait = Duration::from_secs(10);
                        if client.call(method, body.clone(), wait).await.is_ok() {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await?;
        }
        let calls = done.load(Ordering::Relaxed) as f64;
        let kind = if method == "once" { "at most once" } else { "repeatable" };
        let rate = calls / began.elapsed().as_secs_f64();
        let micros = (cpu_time() - cpu).as_secs_f64() * 1e6 / calls;
        println!(
            "{callers} callers over {} connections, {size} B each way, {kind}: {rate:.0} calls/s, {micros:.2} us CPU a call (both ends)",
            clients.len(),
        );
        record(&format!("hadoop-rpc/calls of {size} B, {kind}"), rate, "calls/s");
        record(&format!("hadoop-rpc/CPU of a call of {size} B, {kind}"), micros, "us");
    }
    server.shutdown().await;
    Ok(())
}
