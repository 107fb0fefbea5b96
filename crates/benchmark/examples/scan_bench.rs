//! Rate of an unthrottled scan of a replica.
//!
//! ```text
//! cargo run --release --example scan_bench -- [DIR] [MiB] [small blocks]
//! ```
//! The scan runs on one thread; `taskset -c 0` keeps the threads it waits for there, too. `from the
//! page cache` has all files cached, `from the device` none. Everything is written below DIR
//! (default: the target directory) and removed at the end. CPU is user and system time of the
//! process.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use container::checksum;
use containerstore::scan::Unpaced;
use containerstore::{
    ContainerStore, DataDirectory, NewContainer, PipelineStore, Position, ScanKind, StorageOptions,
    Verdict,
};
use proto::datanode::{BlockData, ChecksumType, ChunkInfo};
use types::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const MIB: usize = 1 << 20;
const CHUNK: usize = 4 * MIB;
const SMALL: usize = 10_000;
const LARGE_BLOCKS: ContainerId = ContainerId(1);
const SMALL_BLOCKS: ContainerId = ContainerId(2);
const ROUNDS: usize = 3;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let base = args.next().map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mib: usize = args.next().map_or(Ok(512), |n| n.parse())?;
    let small: u64 = args.next().map_or(Ok(20_000), |n| n.parse())?;
    std::fs::create_dir_all(&base)?;
    let dir = tempfile::TempDir::new_in(base)?;
    let mut options = StorageOptions::new(
        vec![DataDirectory::new(dir.path().join("disk"))],
        "CID-bench",
        DatanodeId::random(),
    );
    // One container has all of it; a disk must have that much free space.
    options.container_size = ((mib as u64) << 20) + small * 16_384 + (1 << 30);
    let store = ContainerStore::open(options)?;
    let pipe = store
        .open_pipeline(PipelineId::random(), &store.choose_disk(&types::StorageType::ANY, 0)?)?;
    for id in [LARGE_BLOCKS, SMALL_BLOCKS] {
        let new = NewContainer { id, pipeline: Some(pipe.id()), ..Default::default() };
        store.create_container(new)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut position = 0;
    runtime.block_on(write_large(&store, &pipe, mib, &mut position))?;
    write_small(&pipe, small, &mut position)?;
    for id in [LARGE_BLOCKS, SMALL_BLOCKS] {
        store.close(id, None)?;
    }
    let many = [(LARGE_BLOCKS, "chunks of 4 MiB"), (SMALL_BLOCKS, "packed blocks of 10 KB")];
    for (id, what) in many {
        for cached in [true, false] {
            let place = store.container(id)?.path().join("chunks");
            prepare(&place, cached)?;
            runtime.block_on(scan(&store, id, what, cached))?;
        }
    }
    Ok(())
}

async fn write_large(
    store: &ContainerStore,
    pipe: &PipelineStore,
    mib: usize,
    position: &mut u64,
) -> Outcome<()> {
    let data = Bytes::from((0..CHUNK).map(|i| ((i * 31) >> 3) as u8).collect::<Vec<_>>());
    for local in 0..(mib * MIB / CHUNK / 4).max(1) as u64 {
        let chunks = [data.clone(), data.clone(), data.clone(), data.clone()];
        let block = block_data(LARGE_BLOCKS, local, &chunks);
        let id = BlockId::new(LARGE_BLOCKS, LocalId(local));
        for (chunk, data) in block.chunks.iter().zip(chunks) {
            store.write_chunk(id, chunk, data).await?;
        }
        store.sync_block(id).await?;
        *position += 1;
        let mut batch = pipe.begin();
        batch.put_block(Position { term: 1, index: *position }, &block)?;
        batch.commit()?;
    }
    Ok(())
}

fn write_small(pipe: &PipelineStore, count: u64, position: &mut u64) -> Outcome<()> {
    let data = Bytes::from(vec![7; SMALL]);
    for local in 0..count {
        *position += 1;
        let block = block_data(SMALL_BLOCKS, local, std::slice::from_ref(&data));
        let Some(chunk) = block.chunks.first() else { continue };
        let mut batch = pipe.begin();
        let at = Position { term: 1, index: *position };
        batch.put_small_file(at, &block, chunk, data.clone())?;
        batch.commit()?;
    }
    pipe.flush()?;
    Ok(())
}

/// Loads the files into the page cache, or drops them from it.
fn prepare(dir: &Path, cached: bool) -> Outcome<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let mut file = std::fs::File::open(&path)?;
        if cached {
            std::io::copy(&mut file, &mut std::io::sink())?;
        } else {
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

async fn scan(store: &ContainerStore, id: ContainerId, what: &str, cached: bool) -> Outcome<()> {
    let place = if cached { "the page cache" } else { "the device" };
    // Data read from the device does not stay in the page cache.
    for _ in 0..ROUNDS {
        let before = store.scans(ScanKind::Data).bytes;
        let (start, used) = (Instant::now(), cpu());
        let verdict = store.scan_data(id, ScanKind::Data, &Unpaced, SystemTime::now()).await?;
        let (wall, used) = (start.elapsed(), cpu().saturating_sub(used));
        if verdict != Verdict::Sound {
            return Err(format!("container {id}: {verdict:?}").into());
        }
        let mb = (store.scans(ScanKind::Data).bytes - before) as f64 / 1e6;
        let (rate, per_mb) = (mb / wall.as_secs_f64(), used.as_secs_f64() * 1e6 / mb);
        println!("{what:<24} from {place:<16} {rate:>7.0} MB/s   {per_mb:>7.1} µs CPU per MB");
        benchmark::record(&format!("scan/{what} from {place}"), rate, "MB/s");
        benchmark::record(&format!("scan/{what} from {place}, CPU of a MB"), per_mb, "us");
    }
    Ok(())
}

fn block_data(container: ContainerId, local: u64, chunks: &[Bytes]) -> BlockData {
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
        block_id: BlockId::new(container, LocalId(local)).to_datanode(0),
        chunks: chunks.collect(),
        ..Default::default()
    }
}

/// User and system time of this process.
fn cpu() -> Duration {
    // Fields 14 and 15 of the line, counted after the name, in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
