//! Benchmarks of functions and servers, and the form of their results.
//!
//! A benchmark prints its figures for a reader and [`record`]s them for `cargo xtask bench`,
//! which adds commit, time and machine and keeps them (docs/benchmarks.md). Nothing that is
//! shipped depends on this crate.
//!
//! `benches/components` measures rules and machinery without a server, `examples` a server or part
//! of one.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use serde_json::json;

/// The environment variable that names the file to which figures are appended. Nothing is recorded
/// without it.
pub const RESULTS: &str = "BENCH_RESULTS";

/// Ticks of `/proc` in a second: what Linux tells every program, whatever it counts in.
const TICKS_PER_SECOND: u64 = 100;

/// Appends one figure as a line of JSON (`name`, `value`, `unit`) to the file that [`RESULTS`]
/// names.
///
/// `name` is the benchmark and the case, parted by slashes, and stays the same over commits. In a
/// `unit` that ends with `/s` more is better, in every other one less.
///
/// # Panics
/// When the file cannot be written: the figure would be missing without a word.
pub fn record(name: &str, value: f64, unit: &str) {
    let Some(path) = std::env::var_os(RESULTS) else { return };
    let line = format!("{}\n", json!({ "name": name, "value": value, "unit": unit }));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        panic!("{}: {error}", path.display());
    }
}

/// User and system time of this process so far, in steps of 10 ms.
///
/// # Panics
/// When the kernel's line is not as proc(5) says.
pub fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15, counted behind the name of the program, which may have spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Option<Vec<u64>> = fields.skip(11).take(2).map(|field| field.parse().ok()).collect();
    match ticks.as_deref() {
        Some([user, system]) => Duration::from_millis((user + system) * 1_000 / TICKS_PER_SECOND),
        _ => panic!("/proc/self/stat has no times: {stat}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_has_used_cpu_time() {
        let before = cpu_time();
        let mut sum = 0u64;
        while cpu_time() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(cpu_time() > before, "{sum}");
    }
}
