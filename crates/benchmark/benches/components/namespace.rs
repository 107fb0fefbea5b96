//! OM's rules per batch of 64 requests, without a store, a log or a network: entries pass through
//! an overlay over in-memory tables, as in the server over a view of RocksDB.

use std::cell::Cell;
use std::hint::black_box;

use bytes::Bytes;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use namespace::{
    Effect, Fresh, MemoryTables, Overlay, PrepareContext, ReadContext, RowChange, Settings,
    TransactionPosition, apply, assign_blocks, prepare, read, read_encoded,
};
use prost::Message;
use proto::hdds::{BlockId, ContainerBlockId};
use proto::ozone::*;

use crate::cpu::CpuTime;

/// Requests per batch, as on a busy server.
const ROUND: usize = 64;
/// Number of keys that are looked up and listed.
const KEYS: usize = 20_000;
const PAGE: i32 = 1_000;
const NOW_MS: u64 = 1_700_000_000_000;

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("namespace");
    group.throughput(Throughput::Elements(ROUND as u64));
    writes(&mut group);
    reads(&mut group);
    group.finish();
}

/// Batches of writes are measured on the same tables repeatedly: their changes are dropped.
fn writes(group: &mut BenchmarkGroup<'_, CpuTime>) {
    let mut om = Om::filled();
    let creates: Vec<OmRequest> = (KEYS..KEYS + ROUND).map(create).collect();
    let created = om.round(creates.clone(), &mut Spent::default(), Changes::Keep);
    let commits: Vec<OmRequest> = (KEYS..KEYS + ROUND).zip(created).map(commit).collect();
    for (name, requests) in [("CreateKey", &creates), ("CommitKey", &commits)] {
        for (part, what) in [
            (Part::Prepare, "prepare"),
            (Part::Apply, "decode and apply"),
            (Part::Respond, "encode the response"),
        ] {
            group.bench_function(format!("{name} {what}"), |b| {
                b.iter_custom(|rounds| {
                    let mut spent = Spent::default();
                    for _ in 0..rounds {
                        om.round(requests.clone(), &mut spent, Changes::Drop);
                    }
                    spent.of(part)
                });
            });
        }
    }
}

fn reads(group: &mut BenchmarkGroup<'_, CpuTime>) {
    let om = Om::filled();
    let cx = ReadContext { view: &om.tables, user: "ann", groups: &[], settings: &om.settings };
    let lookups: Vec<OmRequest> = (0..ROUND).map(|n| lookup(n * 7919 % KEYS)).collect();
    group.bench_function("GetKeyInfo", |b| {
        b.iter(|| lookups.iter().for_each(|r| drop(black_box(read(r, &cx).encode_to_vec()))));
    });
    group.throughput(Throughput::Elements(PAGE as u64));
    let page = list();
    let listed = OmResponse::decode(read_encoded(&page, &cx)).expect("an answer");
    let listed = listed.list_keys_light_response.expect("a list").basic_key_info.len();
    assert_eq!(listed, PAGE as usize, "a whole page is measured");
    group.bench_function("ListKeysLight page, by messages", |b| {
        b.iter(|| black_box(read(&page, &cx).encode_to_vec()));
    });
    group.bench_function("ListKeysLight page, straight from rows", |b| {
        b.iter(|| black_box(read_encoded(&page, &cx)));
    });
}

/// Handling of the rows written by a batch.
#[derive(Clone, Copy, PartialEq)]
enum Changes {
    Keep,
    Drop,
}

/// The parts of a batch.
#[derive(Clone, Copy)]
enum Part {
    Prepare,
    Apply,
    Respond,
}

/// Nanoseconds of CPU time by part.
#[derive(Default)]
struct Spent {
    prepare: u64,
    apply: u64,
    respond: u64,
}

impl Spent {
    fn of(&self, part: Part) -> u64 {
        match part {
            Part::Prepare => self.prepare,
            Part::Apply => self.apply,
            Part::Respond => self.respond,
        }
    }
}

fn timed<T>(nanoseconds: &mut u64, work: impl FnOnce() -> T) -> T {
    let begun = CpuTime::now();
    let result = work();
    *nanoseconds += CpuTime::now() - begun;
    result
}

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

struct Om {
    tables: MemoryTables,
    settings: Settings,
    fresh: Counter,
    index: u64,
}

impl Om {
    /// An OM with a volume and a bucket.
    fn new() -> Self {
        let mut om = Self {
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
        om.round(vec![volume], &mut Spent::default(), Changes::Keep);
        om.round(vec![bucket], &mut Spent::default(), Changes::Keep);
        om
    }

    /// An OM with a bucket of [`KEYS`] keys.
    fn filled() -> Self {
        let mut om = Self::new();
        for first in (0..KEYS).step_by(ROUND) {
            let keys = first..(first + ROUND).min(KEYS);
            let creates = keys.clone().map(create).collect();
            let created = om.round(creates, &mut Spent::default(), Changes::Keep);
            let commits = keys.zip(created).map(commit).collect();
            om.round(commits, &mut Spent::default(), Changes::Keep);
        }
        om
    }

    /// Processes requests from the client's message to the response's bytes and the rows.
    fn round(
        &mut self,
        requests: Vec<OmRequest>,
        spent: &mut Spent,
        kept: Changes,
    ) -> Vec<OmResponse> {
        let groups = ["staff".to_owned()];
        let entries: Vec<Bytes> = timed(&mut spent.prepare, || {
            let cx = PrepareContext {
                now_ms: NOW_MS,
                view: &self.tables,
                user: "ann",
                groups: &groups,
                settings: &self.settings,
                fresh: &self.fresh,
            };
            let entry = |request| {
                let prepared = prepare(request, &cx).expect("a valid request");
                let mut request = prepared.request;
                if let Some(demand) = prepared.blocks {
                    let block = block(self.fresh.id() as i64, demand.size);
                    assign_blocks(&mut request, vec![block]);
                }
                request.encode_to_vec().into()
            };
            requests.into_iter().map(entry).collect()
        });
        let mut overlay = Overlay::new(&self.tables);
        let responses: Vec<OmResponse> = timed(&mut spent.apply, || {
            let mut responses = Vec::with_capacity(entries.len());
            for entry in entries {
                self.index += 1;
                let tx = TransactionPosition { term: 1, index: self.index };
                let request = OmRequest::decode(entry).expect("an entry");
                let applied = apply(request, tx, &overlay).expect("readable tables");
                overlay.absorb(applied.effects);
                responses.push(applied.response);
            }
            responses
        });
        timed(&mut spent.respond, || {
            responses.iter().for_each(|r| drop(black_box(r.encode_to_vec())));
        });
        for response in &responses {
            assert_eq!(response.status, Status::Ok as i32, "{:?}", response.message);
        }
        if kept == Changes::Drop {
            return responses;
        }
        let changes: Vec<_> =
            overlay.drain_changes().map(|(t, k, change)| (t, k, change.value(), change)).collect();
        for (table, key, value, change) in changes {
            self.tables.apply(match (value, change) {
                (Some(value), RowChange::Put(_) | RowChange::PutBucket(_)) => {
                    Effect::Put { table, key, value }
                }
                _ => Effect::Delete { table, key },
            });
        }
        responses
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

fn create(key: usize) -> OmRequest {
    let create = CreateKeyRequest { key_args: args(key), client_id: None };
    OmRequest { create_key_request: Some(Box::new(create)), ..request(Type::CreateKey) }
}

fn commit((key, created): (usize, OmResponse)) -> OmRequest {
    let created = created.create_key_response.expect("an answer");
    let info = created.key_info.expect("a key");
    let mut key_locations = info.key_location_list[0].key_locations.clone();
    key_locations[0].length = 10_240;
    let commit = CommitKeyRequest {
        key_args: KeyArgs { key_locations, ..args(key) },
        client_id: created.id.expect("a session"),
        hsync: Some(false),
        recovery: Some(false),
    };
    OmRequest { commit_key_request: Some(Box::new(commit)), ..request(Type::CommitKey) }
}

fn lookup(key: usize) -> OmRequest {
    let get = GetKeyInfoRequest { key_args: args(key), assume_s3_context: None };
    OmRequest { get_key_info_request: Some(Box::new(get)), ..request(Type::GetKeyInfo) }
}

fn list() -> OmRequest {
    let list = ListKeysRequest {
        volume_name: "vol1".to_owned(),
        bucket_name: "bucket1".to_owned(),
        start_key: Some(String::new()),
        prefix: Some("prefix/".to_owned()),
        count: Some(PAGE),
    };
    OmRequest { list_keys_request: Some(Box::new(list)), ..request(Type::ListKeysLight) }
}
