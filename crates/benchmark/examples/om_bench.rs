//! Rate and cost of OM: an OM with a fake SCM in this process, the load in a child process, so that
//! the CPU time is the server's alone.
//!
//! `om_bench [--keys N] [--clients N] [--dir DIR] [--kinds create,lookup,...]`

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../om/tests/support/fake_scm.rs"]
mod fake_scm;
#[path = "../../om/tests/support/requests.rs"]
mod requests;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use fake_scm::FakeScm;
use framed::{Client, ClientOptions};
use om::{Om, OmOptions};
use prost::Message;
use proto::method;
use proto::ozone::{KeyArgs, OmRequest, OmResponse};

// As in `o3`: OM creates many small messages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Entries per page of a list.
const PAGE: usize = 1_000;

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Load {
    address: String,
    kind: String,
    keys: usize,
    clients: usize,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let keys = value("--keys").map_or(Ok(100_000), |v| v.parse())?;
    let clients = value("--clients").map_or(Ok(64), |v| v.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match value("--load") {
        Some(kind) => {
            let address = value("--address").ok_or("--address")?;
            runtime.block_on(load(Load { address, kind, keys, clients }))
        }
        None => runtime.block_on(serve(
            keys,
            clients,
            value("--dir").map(PathBuf::from),
            value("--kinds"),
        )),
    }
}

async fn serve(
    keys: usize,
    clients: usize,
    dir: Option<PathBuf>,
    kinds: Option<String>,
) -> Result<(), Failure> {
    let scm = FakeScm::new("bench");
    let scm_server = scm.serve().await;
    let dir = dir.unwrap_or(std::env::temp_dir().join(format!("om_bench.{}", std::process::id())));
    let conf = config::Configuration::builder()
        .build()?
        .with("ozone.om.db.dirs", dir.display())
        .with("ozone.om.address", "127.0.0.1:0")
        .with("ozone.om.grpc.port", 0)
        .with("ozone.om.http-address", "127.0.0.1:0")
        .with("ozone.scm.client.address", scm_server.local_addr())
        .with("ozone.scm.block.client.address", scm_server.local_addr());
    let om = Om::start(&conf, OmOptions::default()).await?;
    let address = om.addresses().framed.to_string();
    let all = "create,create+block,lookup,head,list,rename,delete";
    let kinds = kinds.unwrap_or(all.to_owned());
    for kind in kinds.split(',') {
        let me = std::env::current_exe()?;
        let (cpu, start) = (cpu_time(), Instant::now());
        let mut command = Command::new(me);
        command.args(["--load", kind, "--address", &address]);
        command.args(["--keys", &keys.to_string(), "--clients", &clients.to_string()]);
        let status = tokio::task::spawn_blocking(move || command.status()).await??;
        let (wall, cpu) = (start.elapsed(), cpu_time() - cpu);
        if !status.success() {
            return Err(format!("{kind} failed").into());
        }
        let operations = if kind == "list" { keys * 4 } else { keys };
        let rate = operations as f64 / wall.as_secs_f64();
        let micros = cpu.as_secs_f64() * 1e6 / operations as f64;
        println!("{kind:>13}: {rate:>8.0} ops/s, {micros:>7.2} µs server CPU per op");
        record(&format!("om/{kind}"), rate, "ops/s");
        record(&format!("om/{kind}, server CPU"), micros, "us");
    }
    om.shutdown().await;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

async fn load(load: Load) -> Result<(), Failure> {
    let client =
        Client::new(load.address.as_str(), ClientOptions { connections: 4, ..Default::default() });
    if load.kind == "create" {
        send(&client, requests::create_volume("bench")).await?;
        send(&client, requests::create_bucket("bench", "keys")).await?;
    }
    let next = Arc::new(AtomicUsize::new(0));
    let load = Arc::new(load);
    let mut tasks = Vec::new();
    for _ in 0..load.clients {
        let (client, next, load) = (client.clone(), Arc::clone(&next), Arc::clone(&load));
        tasks.push(tokio::spawn(async move {
            loop {
                let step = if load.kind == "list" { PAGE } else { 1 };
                let i = next.fetch_add(step, Ordering::Relaxed);
                let end = if load.kind == "list" { load.keys * 4 } else { load.keys };
                if i >= end {
                    return Ok::<_, Failure>(());
                }
                one(&client, &load.kind, i, load.keys).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn name(i: usize) -> String {
    format!("directory/{:04}/key-{i:09}", i / 1000)
}

fn args(i: usize) -> KeyArgs {
    requests::key_args("bench", "keys", &name(i), 0)
}

async fn one(client: &Client, kind: &str, i: usize, keys: usize) -> Result<(), Failure> {
    match kind {
        "create" => create(client, args(i)).await,
        "create+block" => create(client, KeyArgs { data_size: Some(10_240), ..args(i) }).await,
        "lookup" => send(client, requests::get_key_info(args(i * 7919 % keys))).await.map(drop),
        "head" => {
            let args = KeyArgs { head_op: Some(true), ..args(i * 7919 % keys) };
            send(client, requests::get_key_info(args)).await.map(drop)
        }
        "list" => {
            let start = name(i % keys);
            let page = requests::list_keys("bench", "keys", &start, "", PAGE as i32);
            send(client, page).await.map(drop)
        }
        "rename" => {
            let to = format!("renamed/{i}");
            send(client, requests::rename_key("bench", "keys", &name(i), &to)).await.map(drop)
        }
        _ => {
            let key = format!("renamed/{i}");
            send(client, requests::delete_key("bench", "keys", &key)).await.map(drop)
        }
    }
}

async fn create(client: &Client, mut args: KeyArgs) -> Result<(), Failure> {
    let answer = send(client, requests::create_key(args.clone())).await?;
    let created = answer.create_key_response.ok_or("no CreateKeyResponse")?;
    if let Some(info) = created.key_info {
        let locations = info.key_location_list.into_iter().flat_map(|v| v.key_locations);
        args.key_locations = locations.collect();
        for location in &mut args.key_locations {
            location.length = args.data_size.unwrap_or(0);
            location.pipeline = None;
        }
    }
    let session = created.id.ok_or("no session")?;
    send(client, requests::commit_key(args, session)).await.map(drop)
}

async fn send(client: &Client, request: OmRequest) -> Result<OmResponse, Failure> {
    let header = Bytes::from(request.encode_to_vec());
    let reply = client.call(method::OM, header, Bytes::new(), Duration::from_secs(30)).await?;
    let answer = OmResponse::decode(reply.header)?;
    if answer.success == Some(false) {
        return Err(format!("{:?}: {:?}", answer.status(), answer.message).into());
    }
    Ok(answer)
}
