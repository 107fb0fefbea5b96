//! Encoding and decoding of stripes, by each kernel supported by this processor, compared with
//! `memcpy`.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use erasure::kernel::{self, Kernel};
use erasure::{CellLengths, Codec, ReplicaIndex, Scheme};

use crate::cpu::CpuTime;

/// Size of a cell: Ozone's usual chunk size of erasure-coded buckets.
const CELL: usize = 1 << 20;
const SCHEMES: &[&str] = &["rs-3-2", "rs-6-3", "rs-10-4", "xor-2-1"];

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("erasure");
    let (from, mut to) = (cells(1, 0), cells(1, 1));
    group.throughput(Throughput::Bytes(CELL as u64));
    group.bench_function("memcpy", |b| {
        b.iter(|| {
            to[0].copy_from_slice(black_box(&from[0]));
            black_box(&mut to);
        });
    });
    group.finish();
    for kernel in kernel::supported() {
        for name in SCHEMES {
            let config = format!("{name}-1024k").parse().expect("a replication of Ozone");
            scheme(c, kernel, name, Scheme::new(config).expect("a scheme"));
        }
    }
}

/// Cells that are all written once, so that each has memory of its own.
fn cells(count: usize, seed: usize) -> Vec<Vec<u8>> {
    let byte = |cell: usize, at: usize| (31 * at + 131 * cell + seed) as u8;
    (0..count).map(|cell| (0..CELL).map(|at| byte(cell, at)).collect()).collect()
}

fn slices(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(Vec::as_slice).collect()
}

fn outputs(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Vec::as_mut_slice).collect()
}

fn scheme(c: &mut Criterion<CpuTime>, kernel: &'static dyn Kernel, name: &str, scheme: Scheme) {
    let mut group = c.benchmark_group(format!("erasure/{} {name}", kernel.name()));
    group.throughput(Throughput::Bytes((scheme.data() * CELL) as u64));
    let codec = Codec::with_kernel(scheme, kernel);
    let (data, mut parity) = (cells(scheme.data(), 0), cells(scheme.parity(), 0));
    group.bench_function("encode", |b| {
        let data = slices(&data);
        b.iter(|| codec.encode(&data, &mut outputs(&mut parity)).expect("the cells fit"));
    });
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    let all: Vec<&[u8]> = data.iter().chain(&parity).map(Vec::as_slice).collect();
    let lengths = CellLengths::equal(CELL as u64);
    for lost in 1..=scheme.parity().min(scheme.data()) {
        // The first cells are lost. With one more cell than needed the result can be verified.
        let available = &replicas[lost..(lost + scheme.data() + 1).min(replicas.len())];
        let decoder = codec.decoder(available, &replicas[..lost]).expect("enough cells");
        let mut decoded = cells(lost, 0);
        group.bench_function(format!("decode {lost} lost"), |b| {
            let given = &all[lost..lost + scheme.data()];
            b.iter(|| {
                decoder.decode(&lengths, given, &mut outputs(&mut decoded)).expect("they fit");
            });
        });
        if lost < scheme.parity() {
            group.bench_function(format!("decode {lost} lost checked"), |b| {
                let given = &all[lost..=lost + scheme.data()];
                b.iter(|| {
                    let decoded = &mut outputs(&mut decoded);
                    decoder.decode_checked(&lengths, given, decoded).expect("no cell differs");
                });
            });
        }
    }
    group.finish();
}
