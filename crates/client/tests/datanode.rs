//! A DataNode in memory, with injected failures.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use framed::{Call, Handler, HandlerFuture, Reply, Server, ServerOptions, Status};
use parking_lot::Mutex;
use prost::Message;
use proto::datanode as dn;
use proto::datanode::{Result as Code, Type};
use tokio::sync::Semaphore;
use types::{DatanodeDetails, DatanodeId, PortName};

/// Bytes and records of all nodes of a pipeline: data acknowledged by one node is on all nodes with
/// the same replica index.
#[derive(Default)]
pub struct Blocks {
    written: Mutex<HashMap<ReplicaId, BTreeMap<u64, Bytes>>>,
    records: Mutex<HashMap<ReplicaId, dn::BlockData>>,
    next_index: AtomicUsize,
}

/// Local id and replica index.
type ReplicaId = (u64, i32);

fn replica(id: &dn::DatanodeBlockId) -> ReplicaId {
    (id.local_id as u64, id.replica_index())
}

/// Injected failures of a node. By default everything works.
#[derive(Default)]
pub struct Faults {
    /// Names this node as the leader.
    pub leader: Mutex<Option<DatanodeId>>,
    /// Containers that accept no more writes.
    pub closed: Mutex<Vec<i64>>,
    /// Closes a container after this number of PutBlocks.
    pub close_after_puts: Mutex<Option<usize>>,
    /// Flips a bit in all data read.
    pub corrupt: AtomicBool,
    /// Number of reads that fail because it has not caught up.
    pub behind: AtomicUsize,
    /// Has no containers.
    pub ignorant: AtomicBool,
    /// Answers no requests, pings included.
    pub hangs: AtomicBool,
    /// Never answers reads.
    pub silent: AtomicBool,
    /// Answers everything with "no such pipeline".
    pub no_pipeline: AtomicBool,
    /// Reports that it is starting, and executes nothing.
    pub starts: AtomicBool,
    /// Writes wait for a permit.
    pub gate: Mutex<Option<Arc<Semaphore>>>,
    /// PutBlocks wait for a permit.
    pub put_gate: Mutex<Option<Arc<Semaphore>>>,
    /// Reads of this block wait for a permit.
    pub read_gate: Mutex<Option<(i64, Arc<Semaphore>)>>,
    /// True if one of them arrived.
    pub read_held: AtomicBool,
    /// Number of writes, or reads, before all of them fail.
    pub writes_left: Mutex<Option<usize>>,
    pub reads_left: Mutex<Option<usize>>,
    /// Fails every command of this kind after this number.
    pub fails_from: Mutex<Option<(Type, usize)>>,
    /// Flips a bit in data read at this offset of blocks.
    pub corrupt_at: Mutex<Option<u64>>,
}

impl Blocks {
    /// The blocks of a key are deleted, on all nodes.
    pub fn delete(&self, key: &proto::ozone::KeyInfo) {
        for location in &key.key_location_list[0].key_locations {
            let local = location.block_id.container_block_id.local_id as u64;
            self.records.lock().retain(|(other, _), _| *other != local);
            self.written.lock().retain(|(other, _), _| *other != local);
        }
    }

    /// The record of a replica of a block group, and its bytes.
    pub fn replica(&self, local: i64, index: i32) -> (dn::BlockData, Vec<u8>) {
        let id = (local as u64, index);
        let bytes = self
            .written
            .lock()
            .get(&id)
            .map(|parts| parts.values().flat_map(|part| part.to_vec()).collect::<Vec<u8>>());
        (self.records.lock()[&id].clone(), bytes.unwrap_or_default())
    }

    /// Exchanges the bytes of a replica of two blocks.
    pub fn exchange(&self, local: i64, other: i64, index: i32) {
        let mut written = self.written.lock();
        let bytes = written.remove(&(local as u64, index)).unwrap();
        let bytes = written.insert((other as u64, index), bytes).unwrap();
        written.insert((local as u64, index), bytes);
    }

    /// Changes the record of a replica.
    pub fn change(&self, local: i64, index: i32, change: impl FnOnce(&mut dn::BlockData)) {
        change(self.records.lock().get_mut(&(local as u64, index)).unwrap());
    }
}

pub struct Node {
    pub details: DatanodeDetails,
    pub faults: Arc<Faults>,
    pub seen: Arc<Seen>,
    blocks: Arc<Blocks>,
    server: Server,
}

/// The requests of a node.
#[derive(Default)]
pub struct Seen {
    pub commands: Mutex<Vec<Type>>,
    pub bytes_in: AtomicUsize,
    /// Number of pings.
    pub pulses: AtomicUsize,
    /// Number of reports that its bytes have wrong checksums.
    pub damage: AtomicUsize,
    /// Blocks, offsets and lengths of reads.
    pub reads: Mutex<Vec<(i64, u64, u64)>>,
    /// PutBlocks that wait at their gate now, and their maximum.
    pub puts_held: (AtomicUsize, AtomicUsize),
    /// Number of PutBlocks that are marked as the last.
    pub ends: AtomicUsize,
    puts: Mutex<HashMap<i64, usize>>,
}

impl Seen {
    pub fn count(&self, kind: Type) -> usize {
        self.commands.lock().iter().filter(|seen| **seen == kind).count()
    }
}

struct Service {
    id: DatanodeId,
    blocks: Arc<Blocks>,
    faults: Arc<Faults>,
    seen: Arc<Seen>,
}

impl Node {
    pub async fn start(blocks: Arc<Blocks>) -> Self {
        Self::start_as(DatanodeId::random(), "127.0.0.1:0", blocks).await
    }

    async fn start_as(id: DatanodeId, address: &str, blocks: Arc<Blocks>) -> Self {
        let (faults, seen) = (Arc::<Faults>::default(), Arc::<Seen>::default());
        let service = Arc::new(Service {
            id,
            blocks: blocks.clone(),
            faults: faults.clone(),
            seen: seen.clone(),
        });
        let server = Server::bind(address, service, ServerOptions::default()).await.unwrap();
        let mut details = DatanodeDetails::new(id, "127.0.0.1", "localhost");
        details.set_port(PortName::Native, server.local_addr().port());
        Self { details, faults, seen, blocks, server }
    }

    pub async fn stop(self) {
        self.server.shutdown().await;
    }

    /// Stops it; the returned future starts it again at the same address.
    pub async fn stop_for_now(self) -> impl Future<Output = Self> {
        let (id, blocks, address) =
            (self.details.id, self.blocks.clone(), self.server.local_addr());
        self.stop().await;
        async move { Self::start_as(id, &address.to_string(), blocks).await }
    }
}

impl Handler for Service {
    fn call(&self, call: Call) -> HandlerFuture {
        if self.faults.hangs.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        if call.method == proto::method::ALIVE {
            self.seen.pulses.fetch_add(1, Ordering::Relaxed);
            return Box::pin(async { Ok(Reply::default()) });
        }
        if call.method == proto::method::REPORT_DAMAGE {
            self.seen.damage.fetch_add(1, Ordering::Relaxed);
            return Box::pin(async { Ok(Reply::default()) });
        }
        let request = dn::ContainerCommandRequestProto::decode(call.header).unwrap();
        let kind = request.cmd_type();
        self.seen.commands.lock().push(kind);
        self.seen.bytes_in.fetch_add(call.payload.len(), Ordering::Relaxed);
        let writes = matches!(kind, Type::WriteChunk | Type::PutBlock | Type::PutSmallFile);
        if self.faults.silent.load(Ordering::Relaxed) && !writes {
            return Box::pin(std::future::pending());
        }
        if self.faults.starts.load(Ordering::Relaxed) {
            let status = Status::new(framed::Code::Unavailable, "the datanode is starting");
            return Box::pin(async move { Err(status) });
        }
        if self.faults.no_pipeline.load(Ordering::Relaxed) {
            let status = Status::new(framed::Code::NotFound, "no such pipeline");
            return Box::pin(async { Err(status) });
        }
        if writes
            && let Some(leader) = *self.faults.leader.lock()
            && leader != self.id
        {
            let status = Status::not_leader("not me", leader.to_string());
            return Box::pin(async { Err(status) });
        }
        let gate = match writes {
            true if kind == Type::PutBlock => {
                let gate = self.faults.put_gate.lock().clone();
                gate.or_else(|| self.faults.gate.lock().clone())
            }
            true => self.faults.gate.lock().clone(),
            false => self.faults.read_gate.lock().clone().and_then(|(block, gate)| {
                let read = [
                    request.get_block.as_ref().map(|r| r.block_id.local_id),
                    request.get_small_file.as_ref().map(|r| r.block.block_id.local_id),
                    request.read_chunk.as_ref().map(|r| r.block_id.local_id),
                ];
                read.contains(&Some(block)).then_some(gate)
            }),
        };
        if gate.is_some() && !writes {
            self.faults.read_held.store(true, Ordering::Release);
        }
        let answer = match &gate {
            None => Some(self.answer(&request, call.payload.clone())),
            Some(_) => None,
        };
        let service = Service {
            id: self.id,
            blocks: self.blocks.clone(),
            faults: self.faults.clone(),
            seen: self.seen.clone(),
        };
        Box::pin(async move {
            let (message, payload) = match (gate, answer) {
                (Some(gate), _) => {
                    let (now, most) = &service.seen.puts_held;
                    let is_put = usize::from(kind == Type::PutBlock);
                    let held = now.fetch_add(is_put, Ordering::Relaxed) + is_put;
                    most.fetch_max(held, Ordering::Relaxed);
                    gate.acquire().await.unwrap().forget();
                    now.fetch_sub(is_put, Ordering::Relaxed);
                    service.answer(&request, call.payload)
                }
                (None, Some(answer)) => answer,
                (None, None) => unreachable!(),
            };
            Ok(Reply { header: message.encode_to_vec().into(), payload })
        })
    }
}

type Answer = (dn::ContainerCommandResponseProto, Bytes);

impl Service {
    fn answer(&self, request: &dn::ContainerCommandRequestProto, payload: Bytes) -> Answer {
        let mut response = dn::ContainerCommandResponseProto {
            cmd_type: request.cmd_type,
            result: Code::Success as i32,
            ..Default::default()
        };
        let mut out = Bytes::new();
        let writes = matches!(request.cmd_type(), Type::WriteChunk | Type::PutBlock);
        let left = if writes { &self.faults.writes_left } else { &self.faults.reads_left };
        let mut failed = match &mut *left.lock() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if let Some((kind, before)) = &mut *self.faults.fails_from.lock()
            && *kind == request.cmd_type()
        {
            failed |= *before == 0;
            *before = before.saturating_sub(1);
        }
        let done = match request.cmd_type() {
            _ if failed => Err(Code::IoException),
            Type::WriteChunk => self.write_chunk(request, payload),
            Type::PutBlock => {
                let put = request.put_block.as_ref().unwrap();
                self.seen.ends.fetch_add(usize::from(put.eof()), Ordering::Relaxed);
                self.put(request, &put.block_data).map(|committed_block_length| {
                    response.put_block = Some(dn::PutBlockResponseProto { committed_block_length });
                })
            }
            Type::PutSmallFile => {
                let small = request.put_small_file.as_ref().unwrap();
                let block = &small.block.block_data;
                self.store(&block.block_id, small.chunk_info.offset, payload);
                self.put(request, block).map(|committed_block_length| {
                    response.put_small_file =
                        Some(dn::PutSmallFileResponseProto { committed_block_length });
                })
            }
            Type::GetBlock => {
                let get = request.get_block.as_ref().unwrap();
                self.record(&get.block_id).map(|block_data| {
                    response.get_block = Some(dn::GetBlockResponseProto { block_data });
                })
            }
            Type::ReadChunk => {
                let read = request.read_chunk.clone().unwrap();
                let (from, length) = (read.chunk_data.offset, read.chunk_data.len);
                self.record(&read.block_id).map(|_| {
                    self.seen.reads.lock().push((read.block_id.local_id, from, length));
                    out = self.load(&read.block_id, from, length);
                    response.read_chunk = Some(dn::ReadChunkResponseProto {
                        block_id: read.block_id,
                        chunk_data: read.chunk_data,
                        response_data: None,
                    });
                })
            }
            Type::GetSmallFile => {
                let id = request.get_small_file.as_ref().unwrap().block.block_id;
                self.record(&id).map(|record| {
                    let chunk_data = record.chunks[0].clone();
                    out = self.load(&id, 0, chunk_data.len);
                    let data = dn::ReadChunkResponseProto {
                        block_id: id,
                        chunk_data,
                        response_data: None,
                    };
                    response.get_small_file = Some(dn::GetSmallFileResponseProto { data });
                })
            }
            _ => Err(Code::UnsupportedRequest),
        };
        if let Err(code) = done {
            response.result = code as i32;
            response.message = Some("told to".to_owned());
        }
        (response, out)
    }

    fn writable(&self, container: i64) -> Result<(), Code> {
        match self.faults.closed.lock().contains(&container) {
            true => Err(Code::ClosedContainerIo),
            false => Ok(()),
        }
    }

    fn write_chunk(
        &self,
        request: &dn::ContainerCommandRequestProto,
        payload: Bytes,
    ) -> Result<(), Code> {
        self.writable(request.container_id)?;
        let write = request.write_chunk.as_ref().unwrap();
        let chunk = write.chunk_data.as_ref().unwrap();
        assert_eq!(chunk.len, payload.len() as u64);
        container::checksum::verify(&chunk.checksum_data, &payload).unwrap();
        self.store(&write.block_id, chunk.offset, payload);
        Ok(())
    }

    fn put(
        &self,
        request: &dn::ContainerCommandRequestProto,
        block: &dn::BlockData,
    ) -> Result<dn::GetCommittedBlockLengthResponseProto, Code> {
        self.writable(request.container_id)?;
        let length: u64 = block.chunks.iter().map(|chunk| chunk.len).sum();
        let there: usize = match self.blocks.written.lock().get(&replica(&block.block_id)) {
            Some(written) => written.values().map(Bytes::len).sum(),
            None => 0,
        };
        assert!(there as u64 >= length, "a PutBlock came before its chunks");
        let index = self.blocks.next_index.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        let mut block = block.clone();
        // No log orders the writes to the replicas of a block group.
        let is_grouped = block.block_id.replica_index() > 0;
        block.block_id.block_commit_sequence_id = Some(if is_grouped { 0 } else { index });
        let id = block.block_id;
        self.blocks.records.lock().insert(replica(&id), block);
        let mut puts = self.seen.puts.lock();
        let count = puts.entry(request.container_id).or_default();
        *count += 1;
        if Some(*count) == *self.faults.close_after_puts.lock() {
            self.faults.closed.lock().push(request.container_id);
        }
        Ok(dn::GetCommittedBlockLengthResponseProto { block_id: id, block_length: length as i64 })
    }

    fn store(&self, id: &dn::DatanodeBlockId, offset: u64, payload: Bytes) {
        self.blocks.written.lock().entry(replica(id)).or_default().insert(offset, payload);
    }

    fn record(&self, id: &dn::DatanodeBlockId) -> Result<dn::BlockData, Code> {
        if self.faults.ignorant.load(Ordering::Relaxed) {
            return Err(Code::ContainerNotFound);
        }
        let behind = self.faults.behind.load(Ordering::Relaxed);
        if behind > 0 {
            self.faults.behind.store(behind - 1, Ordering::Relaxed);
            return Err(Code::UnknownBcsid);
        }
        let record = self.blocks.records.lock().get(&replica(id)).cloned();
        let record = record.ok_or(Code::NoSuchBlock)?;
        match record.block_id.block_commit_sequence_id() < id.block_commit_sequence_id() {
            true => Err(Code::BcsidMismatch),
            false => Ok(record),
        }
    }

    fn load(&self, id: &dn::DatanodeBlockId, from: u64, length: u64) -> Bytes {
        let written = self.blocks.written.lock();
        let mut all = Vec::new();
        for (offset, bytes) in &written[&replica(id)] {
            assert_eq!(*offset, all.len() as u64, "a hole in a block");
            all.extend_from_slice(bytes);
        }
        let mut part = all[from as usize..(from + length) as usize].to_vec();
        if self.faults.corrupt.load(Ordering::Relaxed)
            && let Some(byte) = part.last_mut()
        {
            *byte ^= 1;
        }
        let flipped = self.faults.corrupt_at.lock().and_then(|at| at.checked_sub(from));
        if let Some(byte) = flipped.and_then(|at| part.get_mut(at as usize)) {
            *byte ^= 1;
        }
        part.into()
    }
}
