//! Benchmarks of functions and servers, and the format of their results.
//!
//! A benchmark prints its results for people and [`record`]s them for `cargo xtask bench`, which
//! adds commit, time and machine and stores them (docs/benchmarks.md). No shipped code depends on
//! this crate.
//!
//! `benches/components` measures rules and machinery without a server, `examples` a server or part
//! of one.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use serde_json::json;

/// The environment variable with the file to which results are appended. Without it nothing is
/// recorded.
pub const RESULTS: &str = "BENCH_RESULTS";

/// Ticks of `/proc` per second: Linux reports this unit to all programs, whatever its own.
const TICKS_PER_SECOND: u64 = 100;

/// Appends one result as a line of JSON (`name`, `value`, `unit`) to the file in [`RESULTS`].
///
/// `name` is the benchmark and the case, separated by slashes, and stays the same across commits.
/// For a `unit` that ends with `/s` more is better, for every other one less.
///
/// # Panics
/// If the file cannot be written: the result would be silently missing.
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
/// If the kernel's line does not match proc(5).
pub fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15, counted after the name of the program, which may contain spaces.
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
