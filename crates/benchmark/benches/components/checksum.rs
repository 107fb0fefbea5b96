//! Checksums of chunks, as computed by writers and verified by readers and the scanner.

use std::hint::black_box;

use container::checksum;
use criterion::{Criterion, Throughput};
use proto::datanode::ChecksumType;

use crate::cpu::CpuTime;

/// Size of a chunk.
const BYTES: usize = 4 << 20;
/// Ozone's default of `ozone.client.bytes.per.checksum`.
const BYTES_PER_CHECKSUM: u32 = 16 << 10;

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("checksum");
    group.throughput(Throughput::Bytes(BYTES as u64));
    let data: Vec<u8> = (0..BYTES).map(|at| ((at * 31) >> 3) as u8).collect();
    let kinds = [
        ("crc32", ChecksumType::Crc32),
        ("crc32c", ChecksumType::Crc32c),
        ("sha256", ChecksumType::Sha256),
    ];
    for (name, kind) in kinds {
        group.bench_function(format!("{name} compute"), |b| {
            b.iter(|| black_box(checksum::compute(kind, BYTES_PER_CHECKSUM, &data)));
        });
    }
    let sums = checksum::compute(ChecksumType::Crc32c, BYTES_PER_CHECKSUM, &data);
    group.bench_function("crc32c verify", |b| {
        b.iter(|| checksum::verify(&sums, &data).expect("the bytes that were summed"));
    });
    group.finish();
}
