//! The reference limit for replicated writes: the same bytes written three times to one disk, one
//! copy after the other, each durable before the next begins, with nothing in between. Plain system
//! calls only.
//!
//! `cargo run --release --example raw_copies -- [dir] [keys] [MB a key] [threads]`

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const COPIES: usize = 3;
const PIECE: usize = 4 << 20;
/// Alignment of addresses and lengths for direct I/O.
const ALIGN: usize = 4096;

fn key(dir: &Path, number: usize, piece: &[u8], size: usize) -> io::Result<()> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    for copy in 0..COPIES {
        let path = dir.join(format!("{number}-{copy}"));
        let file =
            OpenOptions::new().create_new(true).write(true).custom_flags(direct).open(path)?;
        for at in (0..size).step_by(PIECE) {
            file.write_all_at(&piece[..PIECE.min(size - at)], at as u64)?;
        }
        file.sync_data()?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| ".".into())).join("raw_copies");
    let keys: usize = args.next().map_or(Ok(200), |n| n.parse())?;
    let megabytes: usize = args.next().map_or(Ok(10), |n| n.parse())?;
    let threads: usize = args.next().map_or(Ok(4), |n| n.parse())?;
    let size = (megabytes << 20).next_multiple_of(ALIGN);
    fs::create_dir_all(&dir)?;
    let memory: Vec<u8> = (0..PIECE + ALIGN).map(|i| (i * 31 + i / 251) as u8).collect();
    let start = memory.as_ptr().align_offset(ALIGN);
    let piece = &memory[start..start + PIECE];
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    let outcome: io::Result<()> = std::thread::scope(|scope| {
        let work = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= keys {
                return Ok(());
            }
            key(&dir, number, piece, size)?;
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|t| t.join().unwrap_or_else(|_| Err(io::Error::other("panic"))))
    });
    let took = begun.elapsed().as_secs_f64();
    fs::remove_dir_all(&dir)?;
    outcome?;
    let rate = (keys * size) as f64 / took / 1e6;
    println!("{keys} keys of {size} bytes, {COPIES} durable copies each: {rate:.0} MB/s of keys");
    benchmark::record(&format!("disk/{COPIES} durable copies of {size} B"), rate, "MB/s");
    Ok(())
}
