//! Work of the compactor: for administrators, the status page and metrics.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use metastore::compaction::{Finished, RangeCompactorStatus, Waiting};
use proto::om_admin::{RangeCompactionRange, RangeCompactionStatusResponse, TableTombstones};
use service::{MetricsRegistry, Section};

use super::{OmCompactor, groups};
use crate::state::Tables;

/// Ranges that the status page shows of each kind.
const SHOWN: usize = 20;
/// Characters of a key that the status page shows.
const SHOWN_KEY: usize = 60;

impl OmCompactor {
    /// The answer to an administrator.
    pub(crate) fn report(&self, node_id: &str, tables: &Tables) -> RangeCompactionStatusResponse {
        let status = self.ranges.status();
        let limits = self.ranges.limits();
        let store = tables.store();
        let of_table = |table: metastore::Table| {
            let files = store.table_files(table).unwrap_or_default();
            let sum = |of: fn(&metastore::compaction::TableFile) -> u64| {
                files.iter().map(of).fold(0, u64::saturating_add)
            };
            TableTombstones {
                table: table.name().to_owned(),
                files: files.len() as u64,
                bytes: sum(|file| file.bytes),
                entries: sum(|file| file.entries),
                deletions: sum(|file| file.deletions),
                deletions_in_memory: store.deletions_in_memory(table),
            }
        };
        let metrics = store.metrics();
        RangeCompactionStatusResponse {
            node_id: node_id.to_owned(),
            enabled: self.options.enabled,
            interval_ms: u64::try_from(self.options.interval.as_millis()).unwrap_or(u64::MAX),
            max_entries: limits.max_entries,
            min_tombstones: limits.min_tombstones,
            tombstone_percentage: limits.tombstone_percentage,
            looked_at: status.looked.and_then(millis),
            tables: groups::all().map(of_table).collect(),
            running: status.running.as_ref().map(waiting),
            waiting: status.waiting.iter().map(waiting).collect(),
            finished: status.finished.iter().map(finished).collect(),
            compacted: status.compacted,
            failed: status.failed,
            skipped: status.skipped,
            tombstones_removed: status.tombstones_removed,
            bytes: status.bytes,
            gaps: metrics.gaps as u64,
        }
    }

    /// Sections of the status page.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let status = self.ranges.status();
        let columns = ["table", "from", "to", "why", "files", "entries", "tombstones", "outcome"];
        let mut rows: Vec<Vec<String>> = Vec::new();
        rows.extend(status.running.iter().map(|w| row(w, "being compacted".to_owned())));
        rows.extend(status.waiting.iter().take(SHOWN).map(|w| row(w, "waits".to_owned())));
        rows.extend(status.finished.iter().take(SHOWN).map(|f| row(&f.waiting, outcome(f))));
        vec![
            Section::facts("Range compaction", facts(&status, self.options.enabled)),
            Section::table("Ranges", &columns, rows),
        ]
    }

    /// Registers the metrics.
    pub(crate) fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let of = |count: fn(&RangeCompactorStatus) -> u64| {
            let compactor = Arc::clone(self);
            move || count(&compactor.ranges.status())
        };
        let waiting = of(|status| status.waiting.len() as u64);
        let help = "Ranges of tables pending compaction";
        registry.gauge_fn("range_compaction_waiting", help, move || waiting() as f64);
        for (name, help, count) in [
            (
                "range_compaction_ranges",
                "Compacted ranges of tables",
                (|s| s.compacted) as fn(&RangeCompactorStatus) -> u64,
            ),
            ("range_compaction_failures", "Ranges that could not be compacted", |s| s.failed),
            ("range_compaction_skipped", "Ranges not worth it any more", |s| s.skipped),
            (
                "range_compaction_tombstones_removed",
                "Tombstones removed by compactions of ranges",
                |s| s.tombstones_removed,
            ),
            (
                "range_compaction_bytes",
                "Bytes read and written by compactions while ranges were compacted",
                |s| s.bytes,
            ),
        ] {
            registry.counter_fn(name, help, of(count));
        }
    }
}

fn facts(status: &RangeCompactorStatus, enabled: bool) -> [(&'static str, String); 8] {
    let looked = status.looked.map_or_else(|| "not yet".to_owned(), ago);
    let places: Vec<String> =
        status.places.iter().map(|(table, key)| format!("{table} {}", shown(key))).collect();
    [
        ("runs by itself", if enabled { "yes" } else { "no" }.to_owned()),
        ("last scan of the tables", looked),
        (
            "next scan continues at",
            if places.is_empty() { "-".to_owned() } else { places.join(", ") },
        ),
        ("ranges compacted", status.compacted.to_string()),
        ("ranges that failed", status.failed.to_string()),
        ("ranges not worth it any more", status.skipped.to_string()),
        ("tombstones removed", status.tombstones_removed.to_string()),
        ("bytes read and written", status.bytes.to_string()),
    ]
}

fn ago(at: SystemTime) -> String {
    let seconds = at.elapsed().unwrap_or_default().as_secs();
    format!("{seconds} s ago")
}

fn row(waiting: &Waiting, outcome: String) -> Vec<String> {
    let Waiting { table, range, reason } = waiting;
    vec![
        table.name().to_owned(),
        shown(&range.start),
        range.end.as_deref().map_or_else(|| "end".to_owned(), shown),
        reason.text().to_owned(),
        range.statistics.files.to_string(),
        range.statistics.entries.to_string(),
        range.statistics.deletions.to_string(),
        outcome,
    ]
}

fn outcome(finished: &Finished) -> String {
    match &finished.outcome {
        Err(error) => format!("failed {}: {error}", ago(finished.at)),
        Ok(done) => format!(
            "{} tombstones left of {}, {} entries of {}, {:.1} MB in {:.1} s, {}",
            done.after.deletions,
            done.before.deletions,
            done.after.entries,
            done.before.entries,
            done.read_bytes.saturating_add(done.written_bytes) as f64 / 1e6,
            done.took.as_secs_f64(),
            ago(finished.at)
        ),
    }
}

fn shown(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let mut short: String = text.chars().take(SHOWN_KEY).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn millis(at: SystemTime) -> Option<u64> {
    u64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

fn waiting(waiting: &Waiting) -> RangeCompactionRange {
    let Waiting { table, range, reason } = waiting;
    RangeCompactionRange {
        table: table.name().to_owned(),
        start: Bytes::copy_from_slice(&range.start),
        end: range.end.as_ref().map(|end| Bytes::copy_from_slice(end)),
        reason: reason.text().to_owned(),
        files: range.statistics.files as u64,
        entries: range.statistics.entries,
        deletions: range.statistics.deletions,
        ..RangeCompactionRange::default()
    }
}

fn finished(finished: &Finished) -> RangeCompactionRange {
    let told = RangeCompactionRange { at: millis(finished.at), ..waiting(&finished.waiting) };
    match &finished.outcome {
        Err(error) => RangeCompactionRange { failure: Some(error.to_string()), ..told },
        Ok(done) => RangeCompactionRange {
            entries: done.before.entries,
            deletions: done.before.deletions,
            entries_left: Some(done.after.entries),
            deletions_left: Some(done.after.deletions),
            read_bytes: Some(done.read_bytes),
            written_bytes: Some(done.written_bytes),
            took_ms: u64::try_from(done.took.as_millis()).ok(),
            ..told
        },
    }
}
