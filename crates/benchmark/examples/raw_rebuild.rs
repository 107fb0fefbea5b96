//! The reference limits for the reconstruction of one replica: the same bytes read and written by
//! plain system calls with nothing in between, and decoded without a disk.
//!
//! ```text
//! cargo run --release --example raw_rebuild -- [DIRS] [MiB of a replica] [d-p]
//! ```
//! Directories are separated by commas: the replicas are spread over them. The number of replicas
//! read is that of data cells plus one for verification; one is written, durable at the end. All
//! run concurrently, with direct I/O.

use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use benchmark::{cpu_time, record};
use erasure::{CellLengths, Codec, ReplicaIndex, Scheme};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const CELL: usize = 1 << 20;
/// Alignment of addresses and lengths for direct I/O.
const ALIGN: usize = 4096;
/// Number of distinct stripes to decode repeatedly, so that not all of them stay in the caches.
const STRIPES: usize = 8;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let dirs = args.next().unwrap_or_else(|| ".".into());
    let dirs: Vec<PathBuf> =
        dirs.split(',').map(|dir| PathBuf::from(dir).join("raw_rebuild")).collect();
    let mib: usize = args.next().map_or(Ok(1024), |n| n.parse())?;
    let name = args.next().unwrap_or_else(|| "3-2".into());
    let scheme = Scheme::new(format!("rs-{name}-1024k").parse()?)?;
    dirs.iter().try_for_each(fs::create_dir_all)?;
    let disk = disk(&dirs, mib, scheme);
    dirs.iter().try_for_each(fs::remove_dir_all)?;
    let (disk, codec) = (disk?, codec(mib, scheme)?);
    println!(
        "rs-{name}, a replica of {mib} MiB: {disk:.0} MB/s by the disk, {codec:.0} MB/s by the codec"
    );
    record(&format!("rebuild/rs-{name}, disk alone"), disk, "MB/s");
    record(&format!("rebuild/rs-{name}, codec alone"), codec, "MB/s");
    Ok(())
}

/// MB per second of the rebuilt replica, reading its sources and writing it.
fn disk(dirs: &[PathBuf], mib: usize, scheme: Scheme) -> Outcome<f64> {
    let sources: Vec<PathBuf> = (0..=scheme.data())
        .zip(dirs.iter().cycle())
        .map(|(n, dir)| dir.join(format!("source-{n}")))
        .collect();
    for source in &sources {
        write(source, mib)?;
    }
    let last = dirs.last().ok_or("no directory")?;
    let begun = Instant::now();
    std::thread::scope(|scope| -> io::Result<()> {
        let reads: Vec<_> =
            sources.iter().map(|source| scope.spawn(move || read(source, mib))).collect();
        write(&last.join("target"), mib)?;
        reads
            .into_iter()
            .try_for_each(|t| t.join().unwrap_or_else(|_| Err(io::Error::other("panic"))))
    })?;
    Ok((mib * CELL) as f64 / begun.elapsed().as_secs_f64() / 1e6)
}

fn aligned() -> (Vec<u8>, usize) {
    let memory: Vec<u8> = (0..CELL + ALIGN).map(|i| (i * 31 + i / 251) as u8).collect();
    let start = memory.as_ptr().align_offset(ALIGN);
    (memory, start)
}

fn direct() -> i32 {
    rustix::fs::OFlags::DIRECT.bits() as i32
}

fn write(path: &Path, mib: usize) -> io::Result<()> {
    let (memory, start) = aligned();
    let file = OpenOptions::new().create_new(true).write(true).custom_flags(direct()).open(path)?;
    for at in 0..mib {
        file.write_all_at(&memory[start..start + CELL], (at * CELL) as u64)?;
    }
    file.sync_data()
}

fn read(path: &Path, mib: usize) -> io::Result<()> {
    let (mut memory, start) = aligned();
    let file = OpenOptions::new().read(true).custom_flags(direct()).open(path)?;
    (0..mib)
        .try_for_each(|at| file.read_exact_at(&mut memory[start..start + CELL], (at * CELL) as u64))
}

/// MB per second of the rebuilt replica on one core.
fn codec(mib: usize, scheme: Scheme) -> Outcome<f64> {
    let codec = Codec::new(scheme);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    let (wanted, available) = (&replicas[..1], &replicas[1..=scheme.data() + 1]);
    let decoder = codec.decoder(available, wanted)?;
    let stripes: Vec<Vec<Vec<u8>>> = (0..STRIPES).map(|seed| stripe(&codec, seed)).collect();
    let mut out = vec![0; CELL];
    let begun = cpu_time();
    for at in 0..mib {
        let cells: Vec<&[u8]> = stripes[at % STRIPES][1..].iter().map(Vec::as_slice).collect();
        let cells = &cells[..=scheme.data()];
        decoder.decode_checked(&CellLengths::equal(CELL as u64), cells, &mut [&mut out])?;
        black_box(&mut out);
    }
    Ok((mib * CELL) as f64 / (cpu_time() - begun).as_secs_f64() / 1e6)
}

/// The cells of a stripe, parity included.
fn stripe(codec: &Codec, seed: usize) -> Vec<Vec<u8>> {
    let scheme = codec.scheme();
    let byte = |cell: usize, at: usize| (31 * at + 131 * cell + seed) as u8;
    let mut cells: Vec<Vec<u8>> =
        (0..scheme.data()).map(|cell| (0..CELL).map(|at| byte(cell, at)).collect()).collect();
    let mut parity = vec![vec![0; CELL]; scheme.parity()];
    {
        let data: Vec<&[u8]> = cells.iter().map(Vec::as_slice).collect();
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
        codec.encode(&data, &mut out).expect("the cells are as long as each other");
    }
    cells.append(&mut parity);
    cells
}
