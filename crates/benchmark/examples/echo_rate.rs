//! Calls per second and CPU per call of the framed transport, client and server in one process.
//!
//! `cargo run --release --example echo_rate [callers] [payload bytes] [seconds]`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use framed::{Call, Client, ClientOptions, Handler, HandlerFuture, Reply, Server, ServerOptions};

struct Echo;

impl Handler for Echo {
    fn call(&self, call: Call) -> HandlerFuture {
        Box::pin(async move { Ok(Reply { header: call.header, payload: call.payload }) })
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let callers = args.next().transpose()?.unwrap_or(64);
    let size = args.next().transpose()?.unwrap_or(100);
    let seconds = args.next().transpose()?.unwrap_or(3);
    let server = Server::bind("127.0.0.1:0", Arc::new(Echo), ServerOptions::default()).await?;
    let client = Client::new(server.local_addr().to_string(), ClientOptions::default());
    let done = Arc::new(AtomicU64::new(0));
    let (began, cpu) = (Instant::now(), cpu_time());
    let end = began + Duration::from_secs(seconds as u64);
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (client, done) = (client.clone(), done.clone());
            tokio::spawn(async move {
                let payload = Bytes::from(vec![7; size]);
                while Instant::now() < end {
                    let wait = Duration::from_secs(10);
                    if client.call(1, Bytes::new(), payload.clone(), wait).await.is_ok() {
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
    let wall = began.elapsed().as_secs_f64();
    let cpu = (cpu_time() - cpu).as_secs_f64();
    println!(
        "{callers} callers, {size} B each way: {:.0} calls/s, {:.2} us CPU a call (both ends), {:.2} GB/s each way, {:.2} CPU s/GB",
        calls / wall,
        cpu * 1e6 / calls,
        calls * size as f64 / wall / 1e9,
        cpu / (2.0 * calls * size as f64 / 1e9),
    );
    record(&format!("framed/calls of {size} B"), calls / wall, "calls/s");
    record(&format!("framed/CPU of a call of {size} B"), cpu * 1e6 / calls, "us");
    server.shutdown().await;
    Ok(())
}
