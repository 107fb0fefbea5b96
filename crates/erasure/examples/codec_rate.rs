//! What encoding and decoding cost: GB/s of data bytes of one thread, for each kernel that this
//! processor has, and beside them what `memcpy` moves in the same run.
//!
//! `cargo run --release -p erasure --example codec_rate -- [--json] [--cell KIB] [--stripes N]
//! [--rounds N] [--scheme rs-6-3]`
//!
//! A round is one stripe. With `--stripes` above 1 the rounds go over that many stripes in turn, so
//! that cells come from memory rather than from a cache. Time is the CPU time of the thread. Rates
//! are those of the median round; the best round is in the JSON.

use std::hint::black_box;

use erasure::kernel::{self, Kernel};
use erasure::{CellLengths, Codec, ReplicaIndex, Scheme};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

struct Options {
    json: bool,
    cell: usize,
    stripes: usize,
    rounds: usize,
    schemes: Vec<String>,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { json: false, cell: 1 << 20, stripes: 1, rounds: 300, schemes: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let mut value = || args.next().ok_or(format!("{name} has no value"));
        let mut number = || value()?.parse::<usize>().map_err(|error| format!("{name}: {error}"));
        match name.as_str() {
            "--json" => options.json = true,
            "--cell" => options.cell = number()? << 10,
            "--stripes" => options.stripes = number()?.max(1),
            "--rounds" => options.rounds = number()?.max(1),
            "--scheme" => options.schemes.push(value()?),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    if options.schemes.is_empty() {
        options.schemes = ["rs-3-2", "rs-6-3", "rs-10-4", "xor-2-1"].map(str::to_owned).to_vec();
    }
    Ok(options)
}

/// CPU time of this thread in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// GB/s of the median and of the best round.
struct Rate {
    median: f64,
    best: f64,
}

/// Runs rounds of `bytes` each over the stripes in turn.
fn measure(options: &Options, bytes: usize, mut round: impl FnMut(usize)) -> Rate {
    let warm = options.stripes.max(3);
    let mut nanoseconds: Vec<f64> = (0..warm + options.rounds)
        .map(|number| {
            let begun = now();
            round(number % options.stripes);
            now() - begun
        })
        .skip(warm)
        .collect();
    nanoseconds.sort_by(f64::total_cmp);
    let rate = |nanoseconds: f64| bytes as f64 / nanoseconds;
    Rate { median: rate(nanoseconds[nanoseconds.len() / 2]), best: rate(nanoseconds[0]) }
}

/// Cells of the benchmark, each of them written once, so that it has memory of its own.
fn cells(stripes: usize, cells: usize, length: usize) -> Vec<Vec<Vec<u8>>> {
    let byte = |stripe: usize, cell: usize, at: usize| (31 * at + 131 * cell + stripe) as u8;
    let cell = |stripe, cell| (0..length).map(|at| byte(stripe, cell, at)).collect();
    (0..stripes).map(|s| (0..cells).map(|c| cell(s, c)).collect()).collect()
}

fn slices(cells: &[Vec<u8>]) -> Vec<&[u8]> {
    cells.iter().map(Vec::as_slice).collect()
}

fn outputs(cells: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    cells.iter_mut().map(Vec::as_mut_slice).collect()
}

struct Bench<'a> {
    options: &'a Options,
    rows: Vec<Value>,
}

impl Bench<'_> {
    fn row(&mut self, scheme: &str, kernel: &str, operation: &str, rate: &Rate) {
        if !self.options.json {
            println!("{scheme:8} {kernel:12} {operation:18} {:6.1} GB/s", rate.median);
        }
        self.rows.push(json!({
            "scheme": scheme, "kernel": kernel, "operation": operation,
            "median_gb_per_s": rate.median, "best_gb_per_s": rate.best,
        }));
    }

    fn memcpy(&mut self) {
        let from = cells(self.options.stripes, 1, self.options.cell);
        let mut to = cells(self.options.stripes, 1, self.options.cell);
        let rate = measure(self.options, self.options.cell, |stripe| {
            to[stripe][0].copy_from_slice(&from[stripe][0]);
            black_box(&mut to[stripe]);
        });
        self.row("-", "-", "memcpy", &rate);
    }

    fn scheme(&mut self, name: &str, kernel: &'static dyn Kernel) -> Result<(), String> {
        let explain = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let config = format!("{name}-1024k").parse().map_err(|e| explain(&e))?;
        let scheme = Scheme::new(config).map_err(|e| explain(&e))?;
        let codec = Codec::with_kernel(scheme, kernel);
        let (options, length) = (self.options, self.options.cell);
        let bytes = scheme.data() * length;
        let data = cells(options.stripes, scheme.data(), length);
        let mut parity = cells(options.stripes, scheme.parity(), length);

        let rate = measure(options, bytes, |stripe| {
            let mut parity = outputs(&mut parity[stripe]);
            codec.encode(&slices(&data[stripe]), &mut parity).expect("the cells fit");
            black_box(&mut parity);
        });
        self.row(name, kernel.name(), "encode", &rate);

        let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
        let all: Vec<Vec<&[u8]>> = data
            .iter()
            .zip(&parity)
            .map(|(data, parity)| data.iter().chain(parity).map(Vec::as_slice).collect())
            .collect();
        let lengths = CellLengths::equal(length as u64);
        for lost in 1..=scheme.parity().min(scheme.data()) {
            // The first cells are lost; one more cell than needed is there for the check.
            let checked = lost < scheme.parity();
            let available = &replicas[lost..(lost + scheme.data() + 1).min(replicas.len())];
            let decoder = codec.decoder(available, &replicas[..lost]).map_err(|e| explain(&e))?;
            let mut decoded = cells(options.stripes, lost, length);
            let rate = measure(options, bytes, |stripe| {
                let cells = &all[stripe][lost..lost + scheme.data()];
                let mut decoded = outputs(&mut decoded[stripe]);
                decoder.decode(&lengths, cells, &mut decoded).expect("the cells fit");
                black_box(&mut decoded);
            });
            self.row(name, kernel.name(), &format!("decode {lost} lost"), &rate);
            if checked {
                let rate = measure(options, bytes, |stripe| {
                    let cells = &all[stripe][lost..=lost + scheme.data()];
                    let mut decoded = outputs(&mut decoded[stripe]);
                    decoder.decode_checked(&lengths, cells, &mut decoded).expect("no cell differs");
                    black_box(&mut decoded);
                });
                self.row(name, kernel.name(), &format!("decode {lost}, checked"), &rate);
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), String> {
    let options = options()?;
    let mut bench = Bench { options: &options, rows: Vec::new() };
    bench.memcpy();
    for kernel in kernel::supported() {
        for scheme in &options.schemes {
            bench.scheme(scheme, kernel)?;
        }
    }
    if options.json {
        let run = json!({
            "cell_bytes": options.cell, "stripes": options.stripes, "rounds": options.rounds,
            "rates": bench.rows,
        });
        println!("{run:#}");
    }
    Ok(())
}
