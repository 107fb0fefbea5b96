//! `o3 admin om compaction`: ranges of the tables in which deletions left tombstones.

use clap::{Args, Subcommand};
use config::Configuration;
use proto::om_admin::{
    RangeCompactionRange, RangeCompactionRunRequest, RangeCompactionStatusResponse,
};
use serde_json::{Value, json};

use super::OmArgs;
use crate::{ShellError, output};

/// Maximum number of characters of a key in a line.
const SHOWN_KEY: usize = 40;

/// Commands for compaction.
#[derive(Debug, Clone, Subcommand)]
pub enum CompactionCommand {
    /// Show the compacted ranges of each OM, the reason, and the reclaimed entries.
    Status(Status),
    /// Start a compaction on each OM now: of the ranges above the thresholds, or of a whole table
    /// or bucket.
    Run(Run),
}

/// Show the compacted ranges of each OM.
#[derive(Debug, Clone, Args)]
pub struct Status {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// Start a compaction on each OM now.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// Table to compact as a whole, such as keyTable; by default, ranges with many tombstones of
    /// all tables.
    #[arg(long, visible_alias = "cf", visible_alias = "column-family", value_name = "TABLE")]
    table: Option<String>,
    /// Compact only the range of this bucket in the table, /volume/bucket.
    #[arg(long, requires = "table", value_name = "BUCKET")]
    bucket: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// Runs a command.
pub(super) async fn run(
    command: CompactionCommand,
    conf: &Configuration,
) -> Result<(), ShellError> {
    match command {
        CompactionCommand::Status(args) => status(args, conf).await,
        CompactionCommand::Run(args) => compact(args, conf).await,
    }
}

async fn status(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let answers = args.om.client(conf)?.om_range_compactions().await;
    if args.json {
        let all: Vec<Value> = answers
            .iter()
            .map(|(address, answer)| match answer {
                Ok(status) => as_json(address, status),
                Err(e) => json!({ "address": address, "error": e.to_string() }),
            })
            .collect();
        output::value(&all.into())?;
    } else {
        for (address, answer) in &answers {
            match answer {
                Ok(status) => show(address, status)?,
                Err(e) => output::line(format!("{address}: {e}"))?,
            }
        }
    }
    match answers.iter().any(|(_, answer)| answer.is_ok()) {
        true => Ok(()),
        false => Err(ShellError::Refused("no OM answered".to_owned())),
    }
}

fn show(address: &str, status: &RangeCompactionStatusResponse) -> Result<(), ShellError> {
    output::line(format!("OM {} ({address})", status.node_id))?;
    let by_itself = match status.enabled {
        true => format!("every {} ms", status.interval_ms),
        false => "only on request".to_owned(),
    };
    output::line(format!(
        "searches {by_itself} for ranges of at most {} entries with at least {} tombstones, {} %",
        status.max_entries, status.min_tombstones, status.tombstone_percentage
    ))?;
    output::line(format!(
        "  {} ranges compacted, {} failed, {} no longer above the thresholds; {} tombstones removed, {} \
         bytes read and written",
        status.compacted, status.failed, status.skipped, status.tombstones_removed, status.bytes
    ))?;
    output::line(format!(
        "  {:<24}{:>8}{:>14}{:>12}{:>12}{:>12}",
        "TABLE", "FILES", "BYTES", "ENTRIES", "TOMBSTONES", "IN MEMORY"
    ))?;
    for table in &status.tables {
        output::line(format!(
            "  {:<24}{:>8}{:>14}{:>12}{:>12}{:>12}",
            table.table,
            table.files,
            table.bytes,
            table.entries,
            table.deletions,
            table.deletions_in_memory
        ))?;
    }
    for (what, ranges) in [
        ("being compacted", status.running.as_slice()),
        ("waiting", &status.waiting),
        ("compacted", &status.finished),
    ] {
        for range in ranges {
            output::line(format!("  {what}: {}", line(range)))?;
        }
    }
    Ok(())
}

fn line(range: &RangeCompactionRange) -> String {
    let end = range.end.as_deref().map_or_else(|| "end".to_owned(), shown);
    let what = format!(
        "{} {} to {end}, {}: {} tombstones of {} entries in {} files",
        range.table,
        shown(&range.start),
        range.reason,
        range.deletions,
        range.entries,
        range.files
    );
    match (&range.failure, range.deletions_left) {
        (Some(failure), _) => format!("{what}; failed: {failure}"),
        (None, Some(left)) => format!(
            "{what}; {left} left, {} bytes in {} ms",
            range.read_bytes().saturating_add(range.written_bytes()),
            range.took_ms()
        ),
        (None, None) => what,
    }
}

fn shown(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let short: String = text.chars().take(SHOWN_KEY).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

fn as_json(address: &str, status: &RangeCompactionStatusResponse) -> Value {
    let range = |r: &RangeCompactionRange| {
        json!({
            "table": r.table,
            "start": String::from_utf8_lossy(&r.start),
            "end": r.end.as_deref().map(String::from_utf8_lossy),
            "reason": r.reason,
            "files": r.files,
            "entries": r.entries,
            "tombstones": r.deletions,
            "entriesLeft": r.entries_left,
            "tombstonesLeft": r.deletions_left,
            "readBytes": r.read_bytes,
            "writtenBytes": r.written_bytes,
            "tookMs": r.took_ms,
            "at": r.at,
            "failure": r.failure,
        })
    };
    let ranges =
        |ranges: &[RangeCompactionRange]| -> Vec<Value> { ranges.iter().map(range).collect() };
    let tables: Vec<Value> = status
        .tables
        .iter()
        .map(|t| {
            json!({
                "table": t.table,
                "files": t.files,
                "bytes": t.bytes,
                "entries": t.entries,
                "tombstones": t.deletions,
                "tombstonesInMemory": t.deletions_in_memory,
            })
        })
        .collect();
    json!({
        "nodeId": status.node_id,
        "address": address,
        "enabled": status.enabled,
        "intervalMs": status.interval_ms,
        "maxEntries": status.max_entries,
        "minTombstones": status.min_tombstones,
        "tombstonePercentage": status.tombstone_percentage,
        "lookedAt": status.looked_at,
        "compacted": status.compacted,
        "failed": status.failed,
        "skipped": status.skipped,
        "tombstonesRemoved": status.tombstones_removed,
        "bytes": status.bytes,
        "gaps": status.gaps,
        "tables": tables,
        "running": status.running.as_ref().map(range),
        "waiting": ranges(&status.waiting),
        "finished": ranges(&status.finished),
    })
}

async fn compact(args: Run, conf: &Configuration) -> Result<(), ShellError> {
    let names = match args.bucket.as_deref().map(|path| path.trim_matches('/').split_once('/')) {
        None => (None, None),
        Some(Some((volume, bucket))) if !bucket.contains('/') => {
            (Some(volume.to_owned()), Some(bucket.to_owned()))
        }
        Some(_) => {
            return Err(ShellError::Usage("--bucket is /volume/bucket".to_owned()));
        }
    };
    let request =
        RangeCompactionRunRequest { table: args.table.clone(), volume: names.0, bucket: names.1 };
    let answers = args.om.client(conf)?.compact_om_ranges(&request).await;
    let mut refused = Vec::new();
    let mut lines = Vec::new();
    for (address, answer) in answers {
        let failure = match answer {
            Ok(answer) if answer.success => None,
            Ok(answer) => Some(answer.error_msg.unwrap_or_default()),
            Err(error) => Some(error.to_string()),
        };
        lines.push(json!({ "address": address, "error": failure }));
        match failure {
            Some(failure) => refused.push(format!("{address}: {failure}")),
            None if !args.json => {
                let what = args.table.as_deref().unwrap_or("ranges above the thresholds");
                output::line(format!("{address} compacts {what}"))?;
            }
            None => {}
        }
    }
    if args.json {
        output::value(&lines.into())?;
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(ShellError::Refused(refused.join("; "))),
    }
}
