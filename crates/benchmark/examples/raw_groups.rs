//! The reference limit for writes of erasure-coded keys: the data and parity cells of each replica
//! of a key, written by plain system calls to one file per replica, all of them concurrently, each
//! durable before the next key begins, with nothing in between.
//!
//! `cargo run --release --example raw_groups -- [dirs] [keys] [MB a key] [d-p]`, directories
//! separated by commas: the replicas are spread over them.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

const CELL: usize = 1 << 20;
/// Alignment of addresses and lengths for direct I/O.
const ALIGN: usize = 4096;

/// Writes `cells` cells.
fn replica(path: &Path, cell: &[u8], cells: usize) -> io::Result<()> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().create_new(true).write(true).custom_flags(direct).open(path)?;
    for number in 0..cells {
        file.write_all_at(cell, (number * CELL) as u64)?;
    }
    file.sync_data()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dirs = args.next().unwrap_or_else(|| ".".into());
    let dirs: Vec<PathBuf> =
        dirs.split(',').map(|dir| PathBuf::from(dir).join("raw_groups")).collect();
    let keys: usize = args.next().map_or(Ok(50), |n| n.parse())?;
    let megabytes: usize = args.next().map_or(Ok(10), |n| n.parse())?;
    let scheme = args.next().unwrap_or_else(|| "3-2".into());
    let (data, parity) = scheme.split_once('-').ok_or("the scheme is not like 3-2")?;
    let (data, parity): (usize, usize) = (data.parse()?, parity.parse()?);
    // Data cells go to the replicas in turn; each stripe, including a short last one, has all of
    // its parity.
    let cells = |index| match index < data {
        true => (megabytes + data - 1 - index) / data,
        false => megabytes.div_ceil(data),
    };
    dirs.iter().try_for_each(fs::create_dir_all)?;
    let memory: Vec<u8> = (0..CELL + ALIGN).map(|i| (i * 31 + i / 251) as u8).collect();
    let start = memory.as_ptr().align_offset(ALIGN);
    let cell = &memory[start..start + CELL];
    let begun = Instant::now();
    for key in 0..keys {
        std::thread::scope(|scope| -> io::Result<()> {
            let replicas = (0..data + parity).zip(dirs.iter().cycle());
            let paths = replicas.map(|(index, dir)| (dir.join(format!("{key}-{index}")), index));
            let write = |(path, index): (PathBuf, usize)| {
                let cells = cells(index);
                scope.spawn(move || replica(&path, cell, cells))
            };
            let threads: Vec<_> = paths.map(write).collect();
            threads
                .into_iter()
                .try_for_each(|t| t.join().unwrap_or_else(|_| Err(io::Error::other("panic"))))
        })?;
    }
    let took = begun.elapsed().as_secs_f64();
    dirs.iter().try_for_each(fs::remove_dir_all)?;
    let rate = (keys * (megabytes << 20)) as f64 / took / 1e6;
    println!(
        "{keys} keys of {megabytes} MiB, durable cells of rs-{scheme} each: {rate:.0} MB/s of keys"
    );
    benchmark::record(&format!("disk/durable rs-{scheme} cells of {megabytes} MiB"), rate, "MB/s");
    Ok(())
}
