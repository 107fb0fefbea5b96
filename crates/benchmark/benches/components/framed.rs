//! Messages and frames: protobuf of a key, and calls over loopback (CPU of both ends).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use framed::{Call, Client, ClientOptions, Handler, HandlerFuture, Reply, Server, ServerOptions};
use prost::Message;
use proto::hdds::{BlockId, ContainerBlockId};
use proto::ozone::{KeyInfo, KeyLocation, KeyLocationList};

use crate::cpu::CpuTime;

/// Calls per iteration: their frames share writes, as on a busy server.
const CALLS: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(10);

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    messages(c);
    calls(c);
}

/// A key of four blocks.
fn key() -> KeyInfo {
    let location = |local_id| KeyLocation {
        block_id: BlockId {
            container_block_id: ContainerBlockId { container_id: 1, local_id },
            block_commit_sequence_id: Some(12),
        },
        length: 256 << 20,
        ..KeyLocation::default()
    };
    let key_locations = (0..4).map(|n| location(117_653_413_616_091_137 + n)).collect();
    KeyInfo {
        volume_name: "vol1".to_owned(),
        bucket_name: "bucket1".to_owned(),
        key_name: "prefix/of/some/depth/0000000001".to_owned(),
        data_size: 1 << 30,
        key_location_list: vec![KeyLocationList { key_locations, ..KeyLocationList::default() }],
        ..KeyInfo::default()
    }
}

fn messages(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("proto");
    let key = key();
    let encoded = Bytes::from(key.encode_to_vec());
    group.throughput(Throughput::Bytes(encoded.len() as u64));
    group.bench_function("KeyInfo encode", |b| b.iter(|| black_box(key.encode_to_vec())));
    group.bench_function("KeyInfo decode", |b| {
        b.iter(|| black_box(KeyInfo::decode(encoded.clone()).expect("what was encoded")));
    });
    group.finish();
}

struct Echo;

impl Handler for Echo {
    fn call(&self, call: Call) -> HandlerFuture {
        Box::pin(async move { Ok(Reply { header: call.header, payload: call.payload }) })
    }
}

fn calls(c: &mut Criterion<CpuTime>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let server =
        runtime.block_on(Server::bind("127.0.0.1:0", Arc::new(Echo), ServerOptions::default()));
    let server = server.expect("a port");
    let client = {
        let _entered = runtime.enter();
        Client::new(server.local_addr().to_string(), ClientOptions::default())
    };
    let mut group = c.benchmark_group("framed");
    group.throughput(Throughput::Elements(CALLS as u64));
    for size in [100, 1 << 20] {
        let payload = Bytes::from(vec![7; size]);
        group.bench_function(format!("{CALLS} calls of {size} B each way"), |b| {
            b.iter(|| {
                runtime.block_on(async {
                    let mut calls = tokio::task::JoinSet::new();
                    for _ in 0..CALLS {
                        let (client, payload) = (client.clone(), payload.clone());
                        calls.spawn(async move {
                            client.call(1, Bytes::new(), payload, TIMEOUT).await.map(drop)
                        });
                    }
                    while let Some(call) = calls.join_next().await {
                        call.expect("no panic").expect("an answer");
                    }
                });
            });
        });
    }
    group.finish();
    runtime.block_on(server.shutdown());
}
