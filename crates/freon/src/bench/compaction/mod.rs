//! `o3 bench compaction`: what keeps a table fast whose rows are deleted.
//!
//! Each variant gets a database of its own with the same rows, and the same load at the same pace:
//! a bucket is emptied from its front, other clients create and delete, and a reader looks for the
//! first row of the bucket and lists some of it, through snapshots as OM does. Rates, latencies,
//! bytes that compactions read and wrote and processor time are taken every second, while rows are
//! deleted and for a while after.

mod load;
mod maintain;
mod plot;
mod report;
mod variant;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::FreonError;

use load::Measured;
use variant::Variant;

/// What keeps a table fast whose rows are deleted
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 bench compaction --deletes 1000000 --out plots     a million, SVG plots and results.json\n  \
    o3 bench compaction --variants none,all --deletes 10000000\n\n\
    Variants: none (RocksDB's own compaction), full (whole tables at intervals), \
    collector-WINDOW-TRIGGER\n(CompactOnDeletionCollector), service (ranges, by the files' own \
    counts), service-samples (ranges, by the\ncollector that samples deleted keys), gaps (no \
    compaction; lists go over what is known to be deleted),\nall (what OM runs with).")]
pub struct Compaction {
    /// Rows of the bucket that are deleted.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(crate) deletes: u64,
    /// Rows of nine other buckets, which stay.
    #[arg(long, default_value_t = 900_000, value_name = "N")]
    pub(crate) live: u64,
    /// Rows a second that are deleted; 0 for as many as can be.
    #[arg(long, default_value_t = 25_000, value_name = "N")]
    pub(crate) delete_rate: u64,
    /// Rows a second that other clients write; 0 for as many as can be.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) write_rate: u64,
    /// Seconds that are measured after the last deletion.
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    pub(crate) settle: u64,
    /// Seconds between two looks of the service.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pub(crate) interval: u64,
    /// Seconds between two compactions of the whole table.
    #[arg(long, default_value_t = 15, value_name = "SECONDS")]
    pub(crate) full_interval: u64,
    /// What to compare, in this order.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "none,full,collector-1000-500,collector-128-64,collector-10000-5000,service,service-samples,gaps,all",
        value_name = "VARIANT,..."
    )]
    pub(crate) variants: Vec<String>,
    /// Where the databases are made; a directory for temporary files when absent. What is made is
    /// removed.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where results.json and the plots are written.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The results as JSON.
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

/// What a variant came to.
pub(crate) struct Outcome {
    pub(crate) variant: Variant,
    pub(crate) measured: Measured,
}

/// Compares.
///
/// # Errors
/// When there is no such variant, or the disk cannot be used.
pub(super) fn run(args: Compaction) -> Result<ExitCode, FreonError> {
    let variants: Vec<Variant> =
        args.variants.iter().map(|name| Variant::parse(name)).collect::<Result<_, _>>()?;
    let base = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = base.join(format!("o3-bench-compaction-{}", std::process::id()));
    let mut outcomes = Vec::new();
    for variant in variants {
        let at = dir.join(variant.name());
        let measured = load::measure(&args, &variant, &at);
        let removed = std::fs::remove_dir_all(&at);
        let measured = measured?;
        removed.map_err(|e| failed(&at, &e))?;
        if !args.json {
            report::line(&variant, &measured, outcomes.is_empty());
        }
        outcomes.push(Outcome { variant, measured });
    }
    // Empty by now.
    std::fs::remove_dir(&dir).map_err(|e| failed(&dir, &e))?;
    let results = report::json(&args, &outcomes);
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| failed(out, &e))?;
        let path = out.join("results.json");
        let text = serde_json::to_string_pretty(&results).unwrap_or_default();
        std::fs::write(&path, text + "\n").map_err(|e| failed(&path, &e))?;
        plot::all(out, &outcomes)?;
    }
    if args.json {
        println!("{results}");
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(path: &std::path::Path, error: &dyn std::fmt::Display) -> FreonError {
    FreonError::Bench(format!("{}: {error}", path.display()))
}
