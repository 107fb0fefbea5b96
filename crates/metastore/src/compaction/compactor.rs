//! A queue of ranges to compact, and the position in each table at which the next scan starts.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use blockio::durable;
use parking_lot::Mutex;

use super::{Compacted, Cut, Limits, PlannedRange, RangeStatistics, TableFile, plan};
use crate::gaps::Wall;
use crate::{Result, Store, Table};

/// Maximum number of queued ranges; later scans find the others again.
const MAX_WAITING: usize = 256;
/// Maximum number of ranges that one scan of a table finds.
const RANGES_PER_LOOK: usize = 32;
/// Maximum number of pieces of a table in one scan.
const PIECES_PER_LOOK: usize = 10_000;
/// Number of compacted ranges in the history.
const MAX_FINISHED: usize = 64;
/// Minimum interval between two scans of a table because of walls.
const WALL_INTERVAL: Duration = Duration::from_secs(5);
/// The same for a patient compactor: by then cursors skip the wall.
const PATIENT_WALL_INTERVAL: Duration = Duration::from_secs(60);
/// Share of tombstones from which on a range counts as completely deleted: each row has one
/// tombstone.
const ALL_DELETED_PERCENTAGE: u64 = 45;
/// Number of scans for which servers let a range grow.
pub const PATIENCE: u32 = 10;

/// A table to scan.
pub struct TablePlan<'a> {
    /// The table.
    pub table: Table,
    /// Rules for splitting it.
    pub cut: Cut,
    /// The first keys of its groups, ascending.
    pub groups: Box<dyn Iterator<Item = Vec<u8>> + 'a>,
}

impl TablePlan<'_> {
    /// A plan for a table without groups of rows: it is split at file boundaries.
    pub fn whole(table: Table) -> Self {
        let cut = Cut { merge: true, align: <[u8]>::len };
        Self { table, cut, groups: Box::new(std::iter::empty()) }
    }
}

/// The reason of a range's compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its files have many tombstones.
    Tombstones,
    /// A cursor met many tombstones in it.
    Wall,
    /// It was requested.
    Asked,
}

impl Reason {
    /// Description for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Tombstones => "tombstones in its files",
            Self::Wall => "a cursor met its tombstones",
            Self::Asked => "requested",
        }
    }
}

/// A queued range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The table.
    pub table: Table,
    /// The range, with the statistics of its files when it was queued.
    pub range: PlannedRange,
    /// The reason.
    pub reason: Reason,
}

/// A finished compaction, successful or not.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The task.
    pub waiting: Waiting,
    /// Time of its end.
    pub at: SystemTime,
    /// The outcome.
    pub outcome: Result<Compacted>,
}

/// Status of a compactor.
#[derive(Debug, Clone, Default)]
pub struct RangeCompactorStatus {
    /// Queued ranges, the next one first.
    pub waiting: Vec<Waiting>,
    /// The range that is being compacted.
    pub running: Option<Waiting>,
    /// Recently compacted ranges, newest first.
    pub finished: Vec<Finished>,
    /// Position of the next scan, for tables whose last scan did not reach the end.
    pub places: Vec<(String, Vec<u8>)>,
    /// Ranges compacted since the start.
    pub compacted: u64,
    /// Failed compactions.
    pub failed: u64,
    /// Queued ranges that were no longer worth a compaction.
    pub skipped: u64,
    /// Removed tombstones.
    pub tombstones_removed: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time of the last scan of all tables.
    pub looked: Option<SystemTime>,
}

/// Finds ranges that are worth a compaction, and compacts them one after the other.
#[derive(Debug)]
pub struct RangeCompactor {
    limits: Limits,
    /// Number of scans for which a range may wait while its tombstones grow.
    patience: u32,
    /// File of the scan positions, kept across restarts.
    places: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    status: RangeCompactorStatus,
    queue: VecDeque<Waiting>,
    finished: VecDeque<Finished>,
    places: BTreeMap<String, Vec<u8>>,
    walls: BTreeMap<&'static str, Instant>,
    /// Ranges with growing tombstones, by table and first key.
    growing: BTreeMap<&'static str, BTreeMap<Vec<u8>, Growing>>,
}

/// A range that waits while it grows.
#[derive(Debug, Clone, Copy)]
struct Growing {
    /// Its tombstones at the last scan.
    deletions: u64,
    /// Number of scans since the first one.
    looks: u32,
}

impl RangeCompactor {
    /// Creates a compactor that stores its positions in a file, if given. An unreadable file is
    /// ignored: each scan starts at a table's beginning then.
    pub fn new(limits: Limits, places: Option<PathBuf>) -> Self {
        let kept = places.as_deref().map(read_places).unwrap_or_default();
        let state = State { places: kept, ..State::default() };
        Self { limits, patience: 0, places, state: Mutex::new(state) }
    }

    /// Delays ranges whose tombstones grow from scan to scan, for at most that many scans and until
    /// almost no row in them is alive, so that incremental deletions are rewritten only once. For
    /// stores whose cursors skip known tombstones.
    #[must_use]
    pub fn patient(self, looks: u32) -> Self {
        Self { patience: looks, ..self }
    }

    /// Thresholds of a compaction.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Scans tables, each from the end of its last scan, and queues ranges worth a compaction.
    /// Returns the number of ranges found. Tombstones that are only in memory are flushed if there
    /// are enough of them for a compaction.
    ///
    /// # Errors
    /// If the files of a table cannot be listed or memory cannot be flushed.
    pub fn look<'a>(
        &self,
        store: &Store,
        tables: impl Iterator<Item = TablePlan<'a>>,
    ) -> Result<usize> {
        let mut found = 0_usize;
        for TablePlan { table, cut, groups } in tables {
            if self.state.lock().queue.len() >= MAX_WAITING {
                break;
            }
            self.flush_deletions(store, table)?;
            let files = store.table_files(table)?;
            if RangeStatistics::of(&files, b"", None).deletions < self.limits.min_tombstones {
                self.state.lock().places.remove(table.name);
                continue;
            }
            found = found.saturating_add(self.look_at(table, &files, cut, groups));
        }
        self.state.lock().status.looked = Some(SystemTime::now());
        self.keep_places();
        Ok(found)
    }

    fn look_at(
        &self,
        table: Table,
        files: &[TableFile],
        cut: Cut,
        groups: impl Iterator<Item = Vec<u8>>,
    ) -> usize {
        let from = self.state.lock().places.get(table.name).cloned().unwrap_or_default();
        let bounds = (RANGES_PER_LOOK, PIECES_PER_LOOK);
        let planned = plan(files, groups, cut, &self.limits, &from, bounds);
        let mut state = self.state.lock();
        let mut found = 0_usize;
        let before = state.growing.remove(table.name).unwrap_or_default();
        let mut growing = BTreeMap::new();
        for range in planned.ranges {
            if let Some(grows) = self.grows(&range, before.get(&range.start)) {
                growing.insert(range.start, grows);
                continue;
            }
            let waiting = Waiting { table, range, reason: Reason::Tombstones };
            found = found.saturating_add(usize::from(state.queue(waiting)));
        }
        if !growing.is_empty() {
            state.growing.insert(table.name, growing);
        }
        match planned.next {
            Some(next) => state.places.insert(table.name.to_owned(), next),
            None => state.places.remove(table.name),
        };
        found
    }

    /// The new record of a range that is left to grow; `None` if it is compacted now.
    fn grows(&self, range: &PlannedRange, before: Option<&Growing>) -> Option<Growing> {
        let RangeStatistics { entries, deletions, .. } = range.statistics;
        if deletions.saturating_mul(100) >= entries.saturating_mul(ALL_DELETED_PERCENTAGE) {
            return None;
        }
        let Growing { deletions: last, looks } =
            before.copied().unwrap_or(Growing { deletions: 0, looks: 0 });
        let grows = deletions > last.saturating_add(last / 20);
        (grows && looks < self.patience)
            .then_some(Growing { deletions, looks: looks.saturating_add(1) })
    }

    /// Queues the ranges in which cursors met tombstones, as far as they are worth a compaction.
    ///
    /// # Errors
    /// As [`RangeCompactor::look`].
    pub fn look_at_walls(&self, store: &Store, walls: Vec<Wall>) -> Result<usize> {
        let mut by_table: BTreeMap<&'static str, Vec<Wall>> = BTreeMap::new();
        for wall in walls {
            by_table.entry(wall.table).or_default().push(wall);
        }
        let mut found = 0_usize;
        for (name, walls) in by_table {
            let table = Table::named(name);
            let now = Instant::now();
            let last = self.state.lock().walls.get(name).copied();
            let interval = if self.patience > 0 { PATIENT_WALL_INTERVAL } else { WALL_INTERVAL };
            if last.is_some_and(|last| now.duration_since(last) < interval) {
                continue;
            }
            self.state.lock().walls.insert(name, now);
            self.flush_deletions(store, table)?;
            let files = store.table_files(table)?;
            for Wall { start, end, .. } in walls {
                let statistics = RangeStatistics::of(&files, &start, Some(&end));
                if !self.limits.wants(&statistics) {
                    continue;
                }
                let range = PlannedRange { start, end: Some(end), statistics };
                let waiting = Waiting { table, range, reason: Reason::Wall };
                found = found.saturating_add(usize::from(self.state.lock().queue(waiting)));
            }
        }
        Ok(found)
    }

    /// Queues a range unconditionally, before all others.
    ///
    /// # Errors
    /// If the files of the table cannot be listed.
    pub fn ask(&self, store: &Store, table: Table, start: &[u8], end: Option<&[u8]>) -> Result<()> {
        let files = store.table_files(table)?;
        let statistics = RangeStatistics::of(&files, start, end);
        let (start, end) = (start.to_vec(), end.map(<[u8]>::to_vec));
        let range = PlannedRange { start, end, statistics };
        self.state.lock().queue.push_front(Waiting { table, range, reason: Reason::Asked });
        Ok(())
    }

    /// Compacts the next range that is still worth it; `None` if the queue is empty. Takes as long
    /// as rewriting its files.
    pub fn compact_next(&self, store: &Store) -> Option<Finished> {
        loop {
            let waiting = {
                let mut state = self.state.lock();
                let waiting = state.queue.pop_front()?;
                state.status.running = Some(waiting.clone());
                waiting
            };
            let outcome = self.compact(store, &waiting).transpose();
            let mut state = self.state.lock();
            state.status.running = None;
            let Some(outcome) = outcome else {
                state.status.skipped = state.status.skipped.saturating_add(1);
                continue;
            };
            let finished = Finished { waiting, at: SystemTime::now(), outcome };
            state.note(finished.clone());
            return Some(finished);
        }
    }

    fn compact(&self, store: &Store, waiting: &Waiting) -> Result<Option<Compacted>> {
        let Waiting { table, range, reason } = waiting;
        let end = range.end.as_deref();
        let now = RangeStatistics::of(&store.table_files(*table)?, &range.start, end);
        if *reason != Reason::Asked && !self.limits.wants(&now) {
            return Ok(None);
        }
        store.compact(*table, &range.start, end).map(Some)
    }

    /// Number of queued ranges.
    pub fn waiting(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// The current status.
    pub fn status(&self) -> RangeCompactorStatus {
        let state = self.state.lock();
        RangeCompactorStatus {
            waiting: state.queue.iter().cloned().collect(),
            finished: state.finished.iter().cloned().collect(),
            places: state.places.iter().map(|(t, place)| (t.clone(), place.clone())).collect(),
            ..state.status.clone()
        }
    }

    fn flush_deletions(&self, store: &Store, table: Table) -> Result<()> {
        if store.deletions_in_memory(table) < self.limits.min_tombstones.max(1) {
            return Ok(());
        }
        store.flush()
    }

    fn keep_places(&self) {
        let Some(path) = &self.places else { return };
        let places = self.state.lock().places.clone();
        if read_places(path) == places {
            return;
        }
        let lines = places.iter().map(|(table, place)| format!("{table} {}\n", hex(place)));
        let content: String = lines.collect();
        let temporary = path.with_extension("new");
        if let Err(error) = durable::replace(path, &temporary, content.as_bytes()) {
            // The cost is a repeated scan.
            tracing::warn!(%error, path = %path.display(), "cannot store positions of range compaction");
        }
    }
}

impl State {
    /// Queues a range that overlaps no queued one; returns `false` if it overlaps, or the queue is
    /// full.
    fn queue(&mut self, new: Waiting) -> bool {
        let overlaps = |old: &Waiting| {
            let (a, b) = (&old.range, &new.range);
            old.table == new.table
                && a.end.as_ref().is_none_or(|end| *end > b.start)
                && b.end.as_ref().is_none_or(|end| *end > a.start)
        };
        if self.queue.len() >= MAX_WAITING || self.queue.iter().any(overlaps) {
            return false;
        }
        self.queue.push_back(new);
        true
    }

    fn note(&mut self, finished: Finished) {
        let status = &mut self.status;
        match &finished.outcome {
            Ok(done) => {
                status.compacted = status.compacted.saturating_add(1);
                let gone = done.before.deletions.saturating_sub(done.after.deletions);
                status.tombstones_removed = status.tombstones_removed.saturating_add(gone);
                let bytes = done.read_bytes.saturating_add(done.written_bytes);
                status.bytes = status.bytes.saturating_add(bytes);
            }
            Err(_) => status.failed = status.failed.saturating_add(1),
        }
        self.finished.push_front(finished);
        self.finished.truncate(MAX_FINISHED);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_places(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(content) = std::fs::read_to_string(path) else { return BTreeMap::new() };
    let place = |digits: &str| -> Option<Vec<u8>> {
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
    };
    let line = |line: &str| {
        let (table, digits) = line.split_once(' ')?;
        Some((table.to_owned(), place(digits)?))
    };
    content.lines().filter_map(line).collect()
}
