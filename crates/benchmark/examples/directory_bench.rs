//! Cost of a large directory: filling, stat, listing, rename and deletion, and the latency of
//! clients during the deletion. An OM with a fake SCM in this process, called over its endpoint, so
//! that the latencies are those of a client.
//!
//! `directory_bench [--files N] [--clients N]`

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../om/tests/support/fake_scm.rs"]
mod fake_scm;
#[path = "../../om/tests/support/requests.rs"]
mod requests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use benchmark::record;
use bytes::Bytes;
use fake_scm::FakeScm;
use framed::{Client, ClientOptions};
use om::{Om, OmOptions};
use prost::Message;
use proto::method;
use proto::ozone::*;

// As in `o3`: OM creates many small messages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Entries per page of a list.
const PAGE: u64 = 1_000;
/// Contents of the bucket besides the large directory: the files of [`latencies`], and `DEEP`.
const OTHERS: u64 = 1_100;
const DEEP: &str = "one/two/three/four/five/six";

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let files: usize = value("--files").map_or(Ok(1_000_000), |v| v.parse())?;
    let clients: usize = value("--clients").map_or(Ok(64), |v| v.parse())?;
    let scm = FakeScm::new("bench");
    let scm_server = scm.serve().await;
    let dir = std::env::temp_dir().join(format!("directory_bench.{}", std::process::id()));
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
    let client = Client::new(address, ClientOptions { connections: 4, ..Default::default() });
    send(&client, requests::create_volume("bench")).await?;
    let mut tree = requests::create_bucket("bench", "tree");
    if let Some(create) = &mut tree.create_bucket_request {
        create.bucket_info.bucket_layout = Some(BucketLayoutProto::FileSystemOptimized as i32);
    }
    send(&client, tree).await?;

    rate("create + commit", files, clients, &client, |client, i| async move {
        touch(&client, &format!("big/file-{i:09}")).await
    })
    .await?;
    touch(&client, &format!("{DEEP}/file")).await?;
    rate("status, 7 names deep", files, clients, &client, |client, _| async move {
        send(&client, status(&format!("{DEEP}/file"))).await.map(drop)
    })
    .await?;
    let start = Instant::now();
    let listed = list(&client, "big").await?;
    let took = start.elapsed();
    let each_second = listed as f64 / took.as_secs_f64();
    println!("list: {listed} entries, {each_second:.0} entries/s");
    record("directory/list", each_second, "entries/s");
    let start = Instant::now();
    send(&client, requests::rename_key("bench", "tree", "big", "moved")).await?;
    let took = start.elapsed();
    println!("rename of the directory: {took:?}");
    record("directory/rename", took.as_secs_f64() * 1e3, "ms");
    latencies("create + commit, nothing else going on", &client, || false).await?;
    let mut delete = requests::delete_key("bench", "tree", "moved");
    if let Some(delete) = &mut delete.delete_key_request {
        delete.key_args.recursive = Some(true);
    }
    let start = Instant::now();
    send(&client, delete).await?;
    let took = start.elapsed();
    println!("delete of the directory: {took:?}");
    record("directory/delete", took.as_secs_f64() * 1e3, "ms");
    let mut left = used(&client).await?;
    let stop = AtomicUsize::new(0);
    let drained = async {
        while left > OTHERS {
            tokio::time::sleep(Duration::from_millis(20)).await;
            left = used(&client).await?;
        }
        stop.store(1, Ordering::Relaxed);
        Ok::<_, Failure>(start.elapsed())
    };
    let going_on = || stop.load(Ordering::Relaxed) == 0;
    let felt = latencies("create + commit, while it is taken apart", &client, going_on);
    let (drained, ()) = tokio::try_join!(drained, felt)?;
    let each_second = files as f64 / drained.as_secs_f64();
    println!("taken apart in {drained:?}: {each_second:.0} files/s");
    record("directory/taken apart", each_second, "files/s");
    om.shutdown().await;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

async fn rate<F: Future<Output = Result<(), Failure>> + Send + 'static>(
    what: &str,
    count: usize,
    clients: usize,
    client: &Client,
    one: fn(Client, usize) -> F,
) -> Result<(), Failure> {
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (client, next) = (client.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count {
                        return Ok::<_, Failure>(());
                    }
                    one(client.clone(), i).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let each_second = count as f64 / start.elapsed().as_secs_f64();
    println!("{what}: {each_second:.0} ops/s");
    record(&format!("directory/{what}"), each_second, "ops/s");
    Ok(())
}

/// Median and maximum of sequential file creations: 500, or as many as during an operation.
async fn latencies(
    what: &str,
    client: &Client,
    going_on: impl Fn() -> bool,
) -> Result<(), Failure> {
    let mut took = Vec::new();
    while took.len() < 500 || going_on() {
        let start = Instant::now();
        touch(client, &format!("other/{}-{}", what.len(), took.len() % 500)).await?;
        took.push(start.elapsed());
    }
    took.sort_unstable();
    let at = |part: usize| took[(took.len() - 1) * part / 1000];
    println!("{what}: median {:?}, 99.9% {:?}, worst {:?}", at(500), at(999), at(1000));
    record(&format!("directory/{what}, median"), at(500).as_secs_f64() * 1e3, "ms");
    record(&format!("directory/{what}, 99.9 %"), at(999).as_secs_f64() * 1e3, "ms");
    Ok(())
}

async fn touch(client: &Client, path: &str) -> Result<(), Failure> {
    let args = requests::key_args("bench", "tree", path, 0);
    let answer = send(client, requests::create_key(args.clone())).await?;
    let created = answer.create_key_response.ok_or("no CreateKeyResponse")?;
    let session = created.id.ok_or("no session")?;
    send(client, requests::commit_key(args, session)).await.map(drop)
}

fn status(path: &str) -> OmRequest {
    OmRequest {
        get_file_status_request: Some(Box::new(GetFileStatusRequest {
            key_args: requests::key_args("bench", "tree", path, 0),
        })),
        ..requests::request(Type::GetFileStatus)
    }
}

async fn list(client: &Client, path: &str) -> Result<usize, Failure> {
    let (mut count, mut start) = (0, String::new());
    loop {
        let request = OmRequest {
            list_status_request: Some(Box::new(ListStatusRequest {
                key_args: requests::key_args("bench", "tree", path, 0),
                recursive: false,
                start_key: start.clone(),
                num_entries: PAGE,
                allow_partial_prefix: None,
            })),
            ..requests::request(Type::ListStatusLight)
        };
        let answer = send(client, request).await?;
        let page = answer.list_status_light_response.ok_or("no page")?.statuses;
        // The first one is the last one of the previous page.
        count += page.len() - usize::from(!start.is_empty());
        let full = page.len() as u64 == PAGE;
        let last = page.into_iter().next_back().and_then(|status| status.basic_key_info);
        match last.and_then(|last| last.key_name) {
            Some(last) if full => start = last,
            _ => return Ok(count),
        }
    }
}

async fn used(client: &Client) -> Result<u64, Failure> {
    let answer = send(client, requests::info_bucket("bench", "tree")).await?;
    let bucket = answer.info_bucket_response.and_then(|r| r.bucket_info).ok_or("no bucket")?;
    Ok(bucket.used_namespace.unwrap_or_default())
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
