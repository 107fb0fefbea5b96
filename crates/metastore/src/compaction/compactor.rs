//! A queue of ranges to compact, and the place in each table where the next look begins.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use blockio::durable;
use parking_lot::Mutex;

use super::{Compacted, Cut, Limits, PlannedRange, RangeStatistics, TableFile, plan};
use crate::gaps::Wall;
use crate::{Result, Store, Table};

/// Ranges that wait; what does not fit is found again later.
const MAX_WAITING: usize = 256;
/// Ranges of a table that one look finds.
const RANGES_PER_LOOK: usize = 32;
/// Pieces of a table that one look is at.
const PIECES_PER_LOOK: usize = 10_000;
/// Ranges that are remembered after they were compacted.
const MAX_FINISHED: usize = 64;
/// Time between two looks at a table because of walls.
const WALL_INTERVAL: Duration = Duration::from_secs(5);
/// The same for a patient compactor: lists know the wall by then.
const PATIENT_WALL_INTERVAL: Duration = Duration::from_secs(60);
/// The share of tombstones among the entries of a range in which hardly a row is alive: each has a
/// tombstone and the row that it deletes.
const ALL_DELETED_PERCENTAGE: u64 = 45;
/// Looks for which servers let a range grow.
pub const PATIENCE: u32 = 10;

/// A table to look at.
pub struct TablePlan<'a> {
    /// The table.
    pub table: Table,
    /// Where it may be cut.
    pub cut: Cut,
    /// The first keys of its groups, ascending.
    pub groups: Box<dyn Iterator<Item = Vec<u8>> + 'a>,
}

impl TablePlan<'_> {
    /// A table whose rows are in no groups: it is cut where files begin.
    pub fn whole(table: Table) -> Self {
        let cut = Cut { merge: true, align: <[u8]>::len };
        Self { table, cut, groups: Box::new(std::iter::empty()) }
    }
}

/// Why a range is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its files have many tombstones.
    Tombstones,
    /// A cursor met many tombstones in it.
    Wall,
    /// Somebody asked for it.
    Asked,
}

impl Reason {
    /// In words, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Tombstones => "tombstones in its files",
            Self::Wall => "a list met its tombstones",
            Self::Asked => "asked for",
        }
    }
}

/// A range that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The table.
    pub table: Table,
    /// The range, and what its files held when it was queued.
    pub range: PlannedRange,
    /// Why.
    pub reason: Reason,
}

/// A range that was compacted, or could not be.
#[derive(Debug, Clone)]
pub struct Finished {
    /// What was to be done.
    pub waiting: Waiting,
    /// When it was done.
    pub at: SystemTime,
    /// What it came to.
    pub outcome: Result<Compacted>,
}

/// What a compactor has done and has yet to do.
#[derive(Debug, Clone, Default)]
pub struct RangeCompactorStatus {
    /// Ranges that wait, the next one first.
    pub waiting: Vec<Waiting>,
    /// The range that is being compacted.
    pub running: Option<Waiting>,
    /// The last ranges that were compacted, newest first.
    pub finished: Vec<Finished>,
    /// Where the next look at a table begins, for those that were not looked at to their end.
    pub places: Vec<(String, Vec<u8>)>,
    /// Ranges compacted since the start.
    pub compacted: u64,
    /// Ranges that could not be.
    pub failed: u64,
    /// Ranges that waited and were not worth it any more.
    pub skipped: u64,
    /// Tombstones that went.
    pub tombstones_removed: u64,
    /// Bytes that were read and written for it.
    pub bytes: u64,
    /// The last look at all tables.
    pub looked: Option<SystemTime>,
}

/// Finds ranges that are worth a compaction, and compacts one after the other.
#[derive(Debug)]
pub struct RangeCompactor {
    limits: Limits,
    /// Looks for which a range may wait whose tombstones still grow.
    patience: u32,
    /// Where the places are kept over restarts.
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
    /// Ranges whose tombstones grow, by table and first key.
    growing: BTreeMap<&'static str, BTreeMap<Vec<u8>, Growing>>,
}

/// A range that was left to grow.
#[derive(Debug, Clone, Copy)]
struct Growing {
    /// Its tombstones at the last look.
    deletions: u64,
    /// Looks since the first one.
    looks: u32,
}

impl RangeCompactor {
    /// One that keeps its places in a file, where one is given. A file that cannot be read counts
    /// as none: each look begins at a table's start then.
    pub fn new(limits: Limits, places: Option<PathBuf>) -> Self {
        let kept = places.as_deref().map(read_places).unwrap_or_default();
        let state = State { places: kept, ..State::default() };
        Self { limits, patience: 0, places, state: Mutex::new(state) }
    }

    /// Leaves a range alone whose tombstones grow from look to look, for that many looks at most
    /// and until hardly a row in it is alive: what is deleted piece by piece is rewritten once.
    /// For stores whose lists go over tombstones that they know.
    #[must_use]
    pub fn patient(self, looks: u32) -> Self {
        Self { patience: looks, ..self }
    }

    /// What makes a range worth it.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Looks at tables, each from where the last look ended, and queues what is worth it. Gives
    /// back how many ranges it found. Tombstones that are in memory alone are flushed when there
    /// are enough of them to be worth a compaction.
    ///
    /// # Errors
    /// When the files of a table cannot be listed or memory cannot be flushed.
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

    /// What to remember of a range that is left to grow; `None` when it is compacted now.
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

    /// Queues the ranges in which cursors met tombstones, as far as they are worth it.
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

    /// Queues a range, whether it is worth it or not, before all others.
    ///
    /// # Errors
    /// When the files of the table cannot be listed.
    pub fn ask(&self, store: &Store, table: Table, start: &[u8], end: Option<&[u8]>) -> Result<()> {
        let files = store.table_files(table)?;
        let statistics = RangeStatistics::of(&files, start, end);
        let (start, end) = (start.to_vec(), end.map(<[u8]>::to_vec));
        let range = PlannedRange { start, end, statistics };
        self.state.lock().queue.push_front(Waiting { table, range, reason: Reason::Asked });
        Ok(())
    }

    /// Compacts the next range that is still worth it; `None` when none waits. Takes as long as
    /// rewriting its files takes.
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

    /// Ranges that wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// What was done and is to be done.
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
            // Costs a look at what was looked at already.
            tracing::warn!(%error, path = %path.display(), "places of range compaction are not kept");
        }
    }
}

impl State {
    /// Queues a range that overlaps none that waits; false when it does, or there is no room.
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
