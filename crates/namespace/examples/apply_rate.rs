//! What the rules cost: time of one thread per operation, without a store, a log or a network.
//!
//! `cargo run --release -p namespace --example apply_rate`
//!
//! Rounds of 64 entries go through an overlay over tables in memory, as in the server, where a
//! RocksDB view takes their place. Figures are medians over the rounds, so that a busy machine
//! does not move them.

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use namespace::{
    Effect, Fresh, MemoryTables, Overlay, PrepareContext, ReadContext, RowChange, Settings,
    TransactionPosition, apply, assign_blocks, prepare, read, read_encoded,
};
use prost::Message;
use proto::hdds::{BlockId, ContainerBlockId};
use proto::ozone::*;

const KEYS: usize = 100_000;
const ROUND: usize = 64;
const PAGE: i32 = 1000;

struct Counter(Cell<u64>);

impl Fresh for Counter {
    fn id(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        117_653_413_616_091_137 + self.0.get()
    }
    fn uuid(&self) -> [u8; 16] {
        u128::from(self.id()).to_be_bytes()
    }
    fn secret(&self) -> [u8; 32] {
        [0; 32]
    }
}

type Samples = Vec<Duration>;

#[derive(Default)]
struct Times {
    prepare: Samples,
    encode: Samples,
    decode: Samples,
    apply: Samples,
    respond: Samples,
    write: Samples,
}

struct Om {
    tables: MemoryTables,
    settings: Settings,
    fresh: Counter,
    index: u64,
}

#[allow(clippy::disallowed_methods, reason = "it measures time")]
fn timed<T>(samples: &mut Samples, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = f();
    samples.push(start.elapsed());
    result
}

/// Microseconds per operation when each sample is of `operations`.
fn median(samples: &Samples, operations: usize) -> f64 {
    let mut sorted = samples.clone();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e6 / operations as f64
}

impl Om {
    fn round(&mut self, requests: Vec<OmRequest>, times: &mut Times) -> Vec<OmResponse> {
        let groups = ["staff".to_owned()];
        let prepared: Vec<OmRequest> = timed(&mut times.prepare, || {
            let ctx = PrepareContext {
                now_ms: 1_700_000_000_000,
                view: &self.tables,
                user: "ann",
                groups: &groups,
                settings: &self.settings,
                fresh: &self.fresh,
            };
            let give = |request| {
                let prepared = prepare(request, &ctx).expect("a valid request");
                let mut request = prepared.request;
                if let Some(demand) = prepared.blocks {
                    assign_blocks(&mut request, vec![block(self.fresh.id() as i64, demand.size)]);
                }
                request
            };
            requests.into_iter().map(give).collect()
        });
        let entries: Vec<bytes::Bytes> = timed(&mut times.encode, || {
            prepared.iter().map(|r| r.encode_to_vec().into()).collect()
        });
        drop(prepared);
        let requests: Vec<OmRequest> = timed(&mut times.decode, || {
            entries.into_iter().map(|e| OmRequest::decode(e).expect("an entry")).collect()
        });
        let mut overlay = Overlay::new(&self.tables);
        let responses: Vec<OmResponse> = timed(&mut times.apply, || {
            let mut responses = Vec::with_capacity(requests.len());
            for request in requests {
                self.index += 1;
                let tx = TransactionPosition { term: 1, index: self.index };
                let applied = apply(request, tx, &overlay).expect("readable tables");
                overlay.absorb(applied.effects);
                responses.push(applied.response);
            }
            responses
        });
        timed(&mut times.respond, || {
            responses.iter().for_each(|r| drop(black_box(r.encode_to_vec())))
        });
        let changes: Vec<_> = timed(&mut times.write, || {
            overlay.take_changes().map(|(t, k, change)| (t, k, change.value(), change)).collect()
        });
        for (table, key, value, change) in changes {
            self.tables.apply(match (value, change) {
                (Some(value), RowChange::Put(_) | RowChange::PutBucket(_)) => {
                    Effect::Put { table, key, value }
                }
                _ => Effect::Delete { table, key },
            });
        }
        for r in &responses {
            assert_eq!(r.status, Status::Ok as i32, "{:?}", r.message);
        }
        responses
    }
}

fn block(local_id: i64, length: u64) -> KeyLocation {
    let container_block_id = ContainerBlockId { container_id: 1, local_id };
    KeyLocation {
        block_id: BlockId { container_block_id, block_commit_sequence_id: Some(12) },
        length,
        ..KeyLocation::default()
    }
}

fn args(key: usize) -> KeyArgs {
    KeyArgs {
        volume_name: "vol1".to_owned(),
        bucket_name: "bucket1".to_owned(),
        key_name: format!("prefix/of/some/depth/{key:010}"),
        data_size: Some(10_240),
        ..KeyArgs::default()
    }
}

fn request(command: Type) -> OmRequest {
    OmRequest {
        cmd_type: command as i32,
        trace_id: Some(String::new()),
        client_id: "client-59F32B6100B2".to_owned(),
        version: Some(3),
        ..OmRequest::default()
    }
}

fn report(name: &str, times: &Times) {
    let us = |samples: &Samples| median(samples, ROUND);
    println!(
        "{name:8} prepare {:.2}  encode {:.2}  decode {:.2}  apply {:.2}  encode response {:.2}  \
         take changes {:.2}  µs/op",
        us(&times.prepare),
        us(&times.encode),
        us(&times.decode),
        us(&times.apply),
        us(&times.respond),
        us(&times.write),
    );
}

fn main() {
    let mut om = Om {
        tables: MemoryTables::default(),
        settings: Settings::default(),
        fresh: Counter(Cell::new(0)),
        index: 0,
    };
    let info = VolumeInfo { volume: "vol1".to_owned(), ..VolumeInfo::default() };
    let volume = OmRequest {
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info: info })),
        ..request(Type::CreateVolume)
    };
    let info = BucketInfo {
        volume_name: "vol1".to_owned(),
        bucket_name: "bucket1".to_owned(),
        ..BucketInfo::default()
    };
    let bucket = OmRequest {
        create_bucket_request: Some(Box::new(CreateBucketRequest { bucket_info: info })),
        ..request(Type::CreateBucket)
    };
    om.round(vec![volume], &mut Times::default());
    om.round(vec![bucket], &mut Times::default());

    for overwrite in [false, true] {
        let (mut create, mut commit) = (Times::default(), Times::default());
        for first in (0..KEYS).step_by(ROUND) {
            let keys = first..(first + ROUND).min(KEYS);
            let requests = keys
                .clone()
                .map(|key| OmRequest {
                    create_key_request: Some(Box::new(CreateKeyRequest {
                        key_args: args(key),
                        client_id: None,
                    })),
                    ..request(Type::CreateKey)
                })
                .collect();
            let responses = om.round(requests, &mut create);
            let requests = keys
                .zip(responses)
                .map(|(key, response)| {
                    let created = response.create_key_response.expect("an answer");
                    let info = created.key_info.expect("a key");
                    let mut key_locations = info.key_location_list[0].key_locations.clone();
                    key_locations[0].length = 10_240;
                    OmRequest {
                        commit_key_request: Some(Box::new(CommitKeyRequest {
                            key_args: KeyArgs { key_locations, ..args(key) },
                            client_id: created.id.expect("a session"),
                            hsync: Some(false),
                            recovery: Some(false),
                        })),
                        ..request(Type::CommitKey)
                    }
                })
                .collect();
            om.round(requests, &mut commit);
        }
        println!("{}", if overwrite { "overwriting" } else { "new keys" });
        report("create", &create);
        report("commit", &commit);
    }

    let cx = ReadContext { view: &om.tables, user: "ann", groups: &[], settings: &om.settings };
    let lookup = |key| OmRequest {
        get_key_info_request: Some(Box::new(GetKeyInfoRequest {
            key_args: args(key),
            assume_s3_context: None,
        })),
        ..request(Type::GetKeyInfo)
    };
    let requests: Vec<_> = (0..KEYS).map(lookup).collect();
    let mut samples = Samples::new();
    for round in requests.chunks(ROUND) {
        timed(&mut samples, || {
            round.iter().for_each(|r| drop(black_box(read(r, &cx).encode_to_vec())))
        });
    }
    println!("GetKeyInfo {:.2} µs", median(&samples, ROUND));

    for (name, fast) in [("messages", false), ("straight", true)] {
        let (mut start_key, mut entries, mut bytes) = (String::new(), 0, 0);
        let mut samples = Samples::new();
        loop {
            let r = OmRequest {
                list_keys_request: Some(Box::new(ListKeysRequest {
                    volume_name: "vol1".to_owned(),
                    bucket_name: "bucket1".to_owned(),
                    start_key: Some(start_key.clone()),
                    prefix: Some("prefix/".to_owned()),
                    count: Some(PAGE),
                })),
                ..request(Type::ListKeysLight)
            };
            let encoded = timed(&mut samples, || match fast {
                true => read_encoded(&r, &cx),
                false => read(&r, &cx).encode_to_vec().into(),
            });
            bytes += encoded.len();
            let list = OmResponse::decode(encoded).expect("an answer");
            let list = list.list_keys_light_response.expect("a list");
            entries += list.basic_key_info.len();
            let Some(last) = list.basic_key_info.last() else { break };
            start_key = last.key_name.clone().unwrap_or_default();
        }
        println!(
            "ListKeysLight {name}: {entries} entries, {} bytes each, {:.3} µs an entry",
            bytes / entries.max(1),
            median(&samples, PAGE as usize)
        );
    }
}
