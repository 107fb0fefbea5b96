//! The results as text and as JSON.

use serde_json::{Value, json};

use crate::load::{Measured, Second};
use crate::variant::Variant;
use crate::{Compaction, Outcome};

/// Prints a row of the table, with the table's head before the first.
pub(crate) fn line(variant: &Variant, measured: &Measured, first: bool) {
    if first {
        println!(
            "{:<24}{:>10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}{:>12}",
            "VARIANT",
            "WRITES/S",
            "SEEK P50 MS",
            "SEEK P99",
            "AFTER P99",
            "LIST P99",
            "AFTER P99",
            "COMPACT MB",
            "CPU S",
            "TOMBSTONES"
        );
    }
    println!(
        "{:<24}{:>10.0}{:>12.3}{:>12.3}{:>12.3}{:>12.3}{:>12.3}{:>12.1}{:>10.1}{:>12}",
        variant.name(),
        measured.writes,
        measured.seek.0,
        measured.seek.1,
        measured.seek_after.1,
        measured.list.1,
        measured.list_after.1,
        measured.compacted_bytes as f64 / 1e6,
        measured.cpu,
        measured.tombstones
    );
}

/// All results.
pub(crate) fn json(args: &Compaction, outcomes: &[Outcome]) -> Value {
    let variants: Vec<Value> = outcomes.iter().map(one).collect();
    json!({
        "deletes": args.deletes,
        "live": args.live,
        "deleteRate": args.delete_rate,
        "writeRate": args.write_rate,
        "intervalSeconds": args.interval,
        "fullIntervalSeconds": args.full_interval,
        "variants": variants,
    })
}

fn latency((p50, p99): (f64, f64)) -> Value {
    json!({ "p50Ms": p50, "p99Ms": p99 })
}

fn one(outcome: &Outcome) -> Value {
    let measured = &outcome.measured;
    let second = |s: &Second| {
        json!({
            "at": s.at,
            "writesPerSecond": s.writes,
            "deletesPerSecond": s.deletes,
            "seek": latency(s.seek),
            "list": latency(s.list),
            "compactedBytes": s.compacted_bytes,
            "cpuSeconds": s.cpu,
        })
    };
    let seconds: Vec<Value> = measured.seconds.iter().map(second).collect();
    json!({
        "variant": outcome.variant.name(),
        "deletingSeconds": measured.deleting,
        "writesPerSecond": measured.writes,
        "writesPerSecondWhileDeleting": measured.writes_deleting,
        "seek": latency(measured.seek),
        "list": latency(measured.list),
        "seekAfter": latency(measured.seek_after),
        "listAfter": latency(measured.list_after),
        "compactedBytes": measured.compacted_bytes,
        "cpuSeconds": measured.cpu,
        "tombstonesLeft": measured.tombstones,
        "seconds": seconds,
    })
}
