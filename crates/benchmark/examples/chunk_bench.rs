//! Cost of storage in addition to the raw disk: large blocks, small blocks, reads.
//!
//! ```text
//! cargo run --release --example chunk_bench -- [DIR] [MiB] [small blocks]
//! ```
//! Everything is written below DIR (default: the target directory) and removed at the end. CPU is
//! user and system time of the whole process.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use bytes::Bytes;
use container::checksum;
use containerstore::{
    ContainerStore, DataDirectory, NewContainer, PipelineStore, Position, ReadTimeout,
    StorageOptions,
};
use proto::datanode::{BlockData, ChecksumType, ChunkInfo};
use types::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const MIB: usize = 1 << 20;
const CHUNK: usize = 4 * MIB;
const CONTAINER: ContainerId = ContainerId(1);

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let base = args.next().map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mib: usize = args.next().map_or(Ok(512), |n| n.parse())?;
    let small: u64 = args.next().map_or(Ok(20_000), |n| n.parse())?;
    std::fs::create_dir_all(&base)?;
    let dir = tempfile::TempDir::new_in(base)?;

    let data = aligned(CHUNK);
    raw(&dir.path().join("raw"), &data, mib)?;
    let mut options = StorageOptions::new(
        vec![DataDirectory::new(dir.path().join("disk"))],
        "CID-bench",
        DatanodeId::random(),
    );
    options.container_size = u64::MAX >> 8;
    let store = ContainerStore::open(options)?;
    let disk = store.choose_disk(&types::StorageType::ANY, 0)?;
    let pipe = store.open_pipeline(PipelineId::random(), &disk)?;
    let new = NewContainer { id: CONTAINER, pipeline: Some(pipe.id()), ..Default::default() };
    store.create_container(new)?;

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let mut position = 0;
    let blocks = runtime.block_on(large(&store, &pipe, &data, mib, &mut position))?;
    for round in [1, 16, 64] {
        small_blocks(&pipe, small, round, &mut position)?;
    }
    runtime.block_on(read_large(&store, blocks))?;
    runtime.block_on(read_small(&store, small))?;
    Ok(())
}

/// The limit: one file, direct writes of a chunk, a sync every 16 MiB.
fn raw(path: &Path, data: &Bytes, mib: usize) -> Outcome<()> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().write(true).create(true).custom_flags(direct).open(path)?;
    let measure = Measure::start();
    for i in 0..mib * MIB / CHUNK {
        file.write_all_at(data, (i * CHUNK) as u64)?;
        if i % 4 == 3 {
            file.sync_data()?;
        }
    }
    file.sync_data()?;
    measure.bytes("raw disk, direct 4 MiB, sync per 16 MiB", mib * MIB);
    std::fs::remove_file(path)?;
    Ok(())
}

/// Blocks of 10 MiB, four at a time: chunks, sync, record.
async fn large(
    store: &ContainerStore,
    pipe: &PipelineStore,
    data: &Bytes,
    mib: usize,
    position: &mut u64,
) -> Outcome<u64> {
    let blocks = (mib / 10).max(1) as u64;
    let measure = Measure::start();
    for first in (0..blocks).step_by(4) {
        let some =
            (first..(first + 4).min(blocks)).map(|n| write_block(store, data, 1_000_000 + n));
        for block in futures::future::join_all(some).await {
            *position += 1;
            let mut batch = pipe.begin();
            batch.put_block(Position { term: 1, index: *position }, &block?)?;
            batch.commit()?;
        }
    }
    measure.bytes("blocks of 10 MiB, written, synced, committed", blocks as usize * 10 * MIB);
    Ok(blocks)
}

async fn write_block(store: &ContainerStore, data: &Bytes, local: u64) -> Outcome<BlockData> {
    let chunks = [data.clone(), data.clone(), data.slice(..2 * MIB)];
    let block = block_data(local, &chunks);
    let id = BlockId::new(CONTAINER, LocalId(local));
    let writes = block
        .chunks
        .iter()
        .zip(&chunks)
        .map(|(chunk, data)| store.write_chunk(id, chunk, data.clone()));
    let writes: Vec<_> = writes.collect();
    for write in writes {
        write.await?;
    }
    store.sync_block(id).await?;
    Ok(block)
}

/// Blocks of 10 KB as delivered by the log, `round` entries per batch.
fn small_blocks(pipe: &PipelineStore, count: u64, round: u64, position: &mut u64) -> Outcome<()> {
    let data = Bytes::from(vec![7; 10_000]);
    let measure = Measure::start();
    for first in (0..count).step_by(round as usize) {
        let mut batch = pipe.begin();
        for n in first..(first + round).min(count) {
            *position += 1;
            let at = Position { term: 1, index: *position };
            let block = block_data(round * 10_000_000 + n, std::slice::from_ref(&data));
            let Some(chunk) = block.chunks.first() else { continue };
            batch.put_small_file(at, &block, chunk, data.clone())?;
        }
        batch.commit()?;
    }
    measure.ops(&format!("blocks of 10 KB applied, {round} a round"), count);
    let measure = Measure::start();
    pipe.flush()?;
    measure.ops("  flush of them", count);
    Ok(())
}

async fn read_large(store: &ContainerStore, blocks: u64) -> Outcome<()> {
    for pass in ["first", "second"] {
        let measure = Measure::start();
        for n in 0..blocks {
            let id = BlockId::new(CONTAINER, LocalId(1_000_000 + n));
            for chunk in store.get_block(id)?.chunks {
                store.read_chunk(id, &chunk, ReadTimeout::Unlimited).await?;
            }
        }
        measure.bytes(&format!("blocks of 10 MiB read, {pass} time"), blocks as usize * 10 * MIB);
    }
    Ok(())
}

async fn read_small(store: &ContainerStore, count: u64) -> Outcome<()> {
    for pass in ["first", "second"] {
        let measure = Measure::start();
        for n in 0..count {
            // Far apart, like requests.
            let local = 10_000_000 + n * 7919 % count;
            store
                .get_small_file(BlockId::new(CONTAINER, LocalId(local)), ReadTimeout::Unlimited)
                .await?;
        }
        measure.ops(&format!("blocks of 10 KB read, {pass} time"), count);
    }
    Ok(())
}

fn block_data(local: u64, chunks: &[Bytes]) -> BlockData {
    let mut offset = 0;
    let chunks = chunks.iter().enumerate().map(|(i, data)| {
        offset += data.len() as u64;
        ChunkInfo {
            chunk_name: format!("{local}_chunk_{}", i + 1),
            offset: offset - data.len() as u64,
            len: data.len() as u64,
            checksum_data: checksum::compute(ChecksumType::Crc32, 16 << 10, data),
            ..Default::default()
        }
    });
    BlockData {
        block_id: BlockId::new(CONTAINER, LocalId(local)).to_datanode(0),
        chunks: chunks.collect(),
        ..Default::default()
    }
}

/// Page-aligned bytes, like those of the framed port.
fn aligned(len: usize) -> Bytes {
    let mut buffer = blockio::BufferPool::new(len).acquire(len);
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = ((i * 31) >> 3) as u8;
    }
    Bytes::from_owner(buffer)
}

struct Measure {
    start: Instant,
    cpu: Duration,
}

impl Measure {
    fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu_time() }
    }

    fn bytes(&self, what: &str, bytes: usize) {
        let (wall, used) = (self.start.elapsed(), cpu_time().saturating_sub(self.cpu));
        let mb = bytes as f64 / 1e6;
        let (rate, per_mb) = (mb / wall.as_secs_f64(), used.as_secs_f64() * 1e6 / mb);
        println!("{what:<55} {rate:>9.0} MB/s   {per_mb:>8.1} µs CPU per MB");
        record(&format!("storage/{what}"), rate, "MB/s");
        record(&format!("storage/{what}, CPU of a MB"), per_mb, "us");
    }

    fn ops(&self, what: &str, ops: u64) {
        let (wall, used) = (self.start.elapsed(), cpu_time().saturating_sub(self.cpu));
        let (rate, each) = (ops as f64 / wall.as_secs_f64(), used.as_secs_f64() * 1e6 / ops as f64);
        println!("{what:<55} {rate:>9.0} /s     {each:>8.1} µs CPU each");
        record(&format!("storage/{what}"), rate, "ops/s");
        record(&format!("storage/{what}, CPU of each"), each, "us");
    }
}
