//! Erasure codes, tested from outside: golden bytes, ISA-L, properties, junk.
#![allow(missing_docs, clippy::unwrap_used)]

mod arguments;
mod check;
mod golden;
mod guard;
mod isal;
mod kernels;
mod layout;
mod losses;
mod stripes;

use erasure::{Codec, ReplicaIndex, Scheme};

/// Ozone's schemes, and some that are only possible by name.
const SCHEMES: [&str; 10] = [
    "rs-3-2-1024k",
    "rs-6-3-512k",
    "rs-10-4-2048k",
    "xor-2-1-4096k",
    "rs-1-1-1k",
    "rs-1-3-3",
    "rs-2-5-7",
    "rs-17-6-1k",
    "xor-9-1-1k",
    "rs-128-127-1k",
];

fn scheme(name: &str) -> Scheme {
    Scheme::new(name.parse().unwrap()).unwrap()
}

fn refs(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(Vec::as_slice).collect()
}

fn muts(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Vec::as_mut_slice).collect()
}

/// Bytes without a pattern that could hide an error, the same at every run.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| byte()).collect()
}

/// All d + p cells of one stripe whose data cells have these lengths.
fn stripe(codec: &Codec, lengths: &[usize]) -> Vec<Vec<u8>> {
    let mut cells: Vec<Vec<u8>> =
        lengths.iter().enumerate().map(|(seed, &length)| noise(seed as u64 + 1, length)).collect();
    let mut parity = vec![vec![0; lengths[0]]; codec.scheme().parity()];
    codec.encode(&refs(&cells), &mut muts(&mut parity)).unwrap();
    cells.extend(parity);
    cells
}

fn pick(cells: &[Vec<u8>], replicas: &[ReplicaIndex]) -> Vec<Vec<u8>> {
    replicas.iter().map(|replica| cells[replica.position()].clone()).collect()
}
