//! Ways to keep a table with many deletions fast: `cargo run --release --example compaction`.
//!
//! Each variant gets a database of its own with the same rows, and the same load at the same rate:
//! a bucket is deleted from its front, other clients create and delete, and a reader seeks the
//! first row of the bucket and lists some of it, through snapshots as OM does. Rates, latencies,
//! bytes read and written by compactions and CPU time are recorded every second, during the
//! deletions and for a while afterwards.

mod load;
mod maintain;
mod plot;
mod report;
mod variant;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;

use serde_json::Value;

use crate::load::Measured;
use crate::variant::Variant;

/// Compares ways to keep a table with many deletions fast
#[derive(Debug, Clone, Parser)]
#[command(after_help = "Examples:\n  \
    compaction --deletes 1000000 --out plots     a million, SVG plots and results.json\n  \
    compaction --variants none,all --deletes 10000000\n\n\
    Variants: none (RocksDB's own compaction), full (whole tables at intervals), \
    collector-WINDOW-TRIGGER\n(CompactOnDeletionCollector), service (ranges, by the files' own \
    counts), service-samples (ranges, by the\ncollector that samples deleted keys), gaps (no \
    compaction; lists skip known deletions),\nall (as in OM).")]
pub struct Compaction {
    /// Rows of the bucket to delete.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(crate) deletes: u64,
    /// Rows of nine other buckets, which are kept.
    #[arg(long, default_value_t = 900_000, value_name = "N")]
    pub(crate) live: u64,
    /// Rows deleted per second; 0 for no limit.
    #[arg(long, default_value_t = 25_000, value_name = "N")]
    pub(crate) delete_rate: u64,
    /// Rows written per second by other clients; 0 for no limit.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) write_rate: u64,
    /// Seconds measured after the last deletion.
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    pub(crate) settle: u64,
    /// Seconds between two scans of the service.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub(crate) interval: u64,
    /// Interval of compactions of the whole table, in seconds.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub(crate) full_interval: u64,
    /// Variants to compare, in this order.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "none,full,collector-1000-500,collector-128-64,collector-10000-5000,service,service-samples,gaps,all",
        value_name = "VARIANT,..."
    )]
    pub(crate) variants: Vec<String>,
    /// Directory of the databases, a temporary one by default. They are removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Directory of results.json and the plots.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Compaction {
    fn interval(&self) -> Duration {
        Duration::from_secs(self.interval.max(1))
    }

    fn full_interval(&self) -> Duration {
        Duration::from_secs(self.full_interval.max(1))
    }
}

/// The result of a variant.
pub(crate) struct Outcome {
    pub(crate) variant: Variant,
    pub(crate) measured: Measured,
}

fn main() -> Result<()> {
    let args = Compaction::parse();
    let results = compare(&args)?;
    if args.json {
        println!("{results}");
    }
    Ok(())
}

/// Compares the variants, and writes the output for `--out`.
///
/// # Errors
/// If there is no such variant, or the disk fails.
fn compare(args: &Compaction) -> Result<Value> {
    let variants: Vec<Variant> =
        args.variants.iter().map(|name| Variant::parse(name)).collect::<Result<_, _>>()?;
    let base = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = base.join(format!("compaction-{}", std::process::id()));
    let mut outcomes = Vec::new();
    for variant in variants {
        let at = dir.join(variant.name());
        let measured = load::measure(args, &variant, &at);
        let removed = std::fs::remove_dir_all(&at);
        let measured = measured?;
        removed.with_context(|| at.display().to_string())?;
        if !args.json {
            report::line(&variant, &measured, outcomes.is_empty());
        }
        outcomes.push(Outcome { variant, measured });
    }
    // It is empty now.
    std::fs::remove_dir(&dir).with_context(|| dir.display().to_string())?;
    let results = report::json(args, &outcomes);
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
        let path = out.join("results.json");
        let text = serde_json::to_string_pretty(&results)? + "\n";
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        plot::all(out, &outcomes)?;
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_measured_and_drawn() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let flags = "compaction --deletes 3000 --live 900 --delete-rate 0 --settle 1 --interval 1 \
                     --full-interval 1 --json";
        let mut args = Compaction::parse_from(flags.split_whitespace());
        (args.dir, args.out) = (Some(dir.path().to_owned()), Some(out.clone()));
        let results = compare(&args).unwrap();
        let variants = results["variants"].as_array().unwrap();
        assert_eq!(variants.len(), 9);
        for variant in variants {
            assert!(variant["writesPerSecond"].as_f64().unwrap() > 0.0, "{variant}");
            assert!(variant["list"]["p99Ms"].as_f64().unwrap() > 0.0, "{variant}");
            assert!(!variant["seconds"].as_array().unwrap().is_empty());
        }
        let left = |i: usize| variants[i]["tombstonesLeft"].as_u64().unwrap();
        assert_eq!(variants[1]["variant"], "full");
        assert!(variants[1]["compactedBytes"].as_u64().unwrap() > 0);
        assert!(left(1) <= 3_000);
        for plot in ["write-rate", "seek-p99", "list-p99", "compacted", "cpu"] {
            let svg = std::fs::read_to_string(out.join(format!("{plot}.svg"))).unwrap();
            assert!(svg.contains("service-samples") && svg.contains("polyline"), "{plot}");
        }
        let kept = std::fs::read_to_string(out.join("results.json")).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept["variants"].as_array().unwrap().len(), 9);
        // The databases were removed.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_variant_that_is_not_there_is_named() {
        let args = Compaction::parse_from(["compaction", "--variants", "none,other"]);
        let error = compare(&args).unwrap_err().to_string();
        assert!(error.contains("there is no variant other"), "{error}");
    }
}
