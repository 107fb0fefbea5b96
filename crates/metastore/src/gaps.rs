//! Key ranges known to contain no row, which cursors can skip.
//!
//! A deleted row stays in the database as a tombstone until a compaction drops it, and a cursor
//! steps over each tombstone in its path, which takes half a microsecond each. A cursor that met
//! many of them records the range from its position to the next row. Later cursors skip the range
//! at once, even while rows around it are deleted and before anything is compacted. Some of the
//! deleted keys are recorded, so that a background task can step through new tombstones before a
//! request has to.
//!
//! # Invariants
//! * **A gap holds no row, as of the sequence number at which it was seen empty and at every later
//!   moment.** A put splits the gap that contains its key before the put is visible. A put in
//!   flight when the range was seen empty is among the recent or current puts, and truncates the
//!   range when it is recorded.
//! * **A cursor uses a gap only if its snapshot is as new**: rows that were deleted after an older
//!   snapshot still exist for that one.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Number of recorded puts: at least as many as happen between a snapshot and the search that
/// starts in it.
const RECENT_PUTS: usize = 4_096;
/// Gaps of one table; each stands for hundreds of tombstones.
const MAX_GAPS: usize = 4_096;
/// Age at which a gap is merged with the preceding one: cursors with older snapshots are rare.
const JOIN_AGE: Duration = Duration::from_secs(1);
/// Number of walls recorded until they are compacted.
const MAX_WALLS: usize = 64;
/// Number of deletions of which one key is recorded.
const DELETIONS_PER_KEY: u64 = 256;
/// Maximum number of recorded keys of deletions.
const MAX_DELETED: usize = 1_024;
/// After every key of our tables; a gap up to the end of a table ends here.
pub(crate) const TABLE_END: [u8; 64] = [0xff; 64];

/// The gaps of a database.
#[derive(Default)]
pub(crate) struct Gaps {
    state: Mutex<State>,
    /// True if any table has a gap.
    any: AtomicBool,
    /// Number of rows deleted so far.
    deletions: AtomicU64,
}

#[derive(Default)]
struct State {
    tables: FxHashMap<&'static str, BTreeMap<Vec<u8>, Gap>>,
    recent: VecDeque<(&'static str, Vec<u8>)>,
    /// Number of the first of `recent`.
    first: u64,
    /// For each write in flight, the number of its first put.
    writing: Vec<u64>,
    searches: Vec<Search>,
    walls: VecDeque<Wall>,
    /// Some of the deleted keys.
    deleted: VecDeque<(&'static str, Vec<u8>)>,
}

/// A range without a row, from its key in the map.
struct Gap {
    /// The first key after it.
    end: Vec<u8>,
    /// Sequence number at which it was seen empty.
    seen: u64,
    noted: Instant,
}

/// A search: a cursor that steps through an unknown range.
struct Search {
    id: u64,
    table: &'static str,
    from: Vec<u8>,
    /// The first key from `from` on that was put since the cursor's snapshot.
    put: Option<Vec<u8>>,
}

/// A range in which a cursor met more tombstones than its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    /// The table.
    pub table: &'static str,
    /// The cursor's position.
    pub start: Vec<u8>,
    /// The first row after the tombstones.
    pub end: Vec<u8>,
}

/// A write whose puts are recorded.
#[derive(Debug)]
pub(crate) struct WriteMark(u64);

/// A moment before a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SnapshotMark(u64);

/// A running search.
#[derive(Debug)]
pub(crate) struct SearchId(u64);

impl Gaps {
    /// Records puts that are about to become visible. [`Gaps::end_write`] must follow.
    pub(crate) fn begin_write(&self, puts: Vec<(&'static str, Vec<u8>)>) -> WriteMark {
        let mut state = self.state.lock();
        let state = &mut *state;
        let number = state.next();
        for (table, key) in puts {
            if let Some(gaps) = state.tables.get_mut(table) {
                split(gaps, &key);
            }
            for search in state.searches.iter_mut().filter(|s| s.table == table) {
                search.note(&key);
            }
            if state.recent.len() == RECENT_PUTS {
                state.recent.pop_front();
                state.first += 1;
            }
            state.recent.push_back((table, key));
        }
        state.writing.push(number);
        WriteMark(number)
    }

    /// The puts are visible, or will never be.
    pub(crate) fn end_write(&self, mark: WriteMark) {
        let mut state = self.state.lock();
        if let Some(at) = state.writing.iter().position(|number| *number == mark.0) {
            state.writing.swap_remove(at);
        }
    }

    /// Returns `true` if the key of a deletion should be passed to [`Gaps::note_deleted`].
    pub(crate) fn wants_deleted(&self) -> bool {
        self.deletions.fetch_add(1, Ordering::Relaxed) % DELETIONS_PER_KEY == 0
    }

    /// Records a deletion.
    pub(crate) fn note_deleted(&self, table: &'static str, key: Vec<u8>) {
        let mut state = self.state.lock();
        if state.deleted.len() == MAX_DELETED {
            state.deleted.pop_front();
        }
        state.deleted.push_back((table, key));
    }

    /// Returns `true` if there are recorded deletions.
    pub(crate) fn has_deleted(&self) -> bool {
        !self.state.lock().deleted.is_empty()
    }

    /// The deletions recorded since the last call.
    pub(crate) fn take_deleted(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.state.lock().deleted.drain(..).collect()
    }

    /// Must be called before a snapshot is taken.
    pub(crate) fn before_snapshot(&self) -> SnapshotMark {
        let state = self.state.lock();
        SnapshotMark(state.writing.iter().copied().min().unwrap_or(state.next()))
    }

    /// Returns `true` if there is any gap.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// The end of the gaps that begin at or before `from`, for a cursor of that sequence number;
    /// `None` if `from` is in no gap.
    pub(crate) fn behind(
        &self,
        table: &'static str,
        from: &[u8],
        sequence: u64,
    ) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let gaps = state.tables.get(table)?;
        let mut reached: Option<&Vec<u8>> = None;
        loop {
            let at = reached.map_or(from, Vec::as_slice);
            let (_, gap) =
                gaps.range::<[u8], _>((Bound::Unbounded, Bound::Included(at))).next_back()?;
            if gap.end.as_slice() <= at || gap.seen > sequence {
                return reached.cloned();
            }
            reached = Some(&gap.end);
        }
    }

    /// The start of the next gap at or after `from` that a cursor of that sequence number may use.
    pub(crate) fn next_start(
        &self,
        table: &'static str,
        from: &[u8],
        sequence: u64,
    ) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let gaps = state.tables.get(table)?;
        let mut ahead = gaps.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        ahead.find(|(_, gap)| gap.seen <= sequence).map(|(start, _)| start.clone())
    }

    /// Starts a search from `from` in a snapshot; `None` if the puts since the snapshot are no
    /// longer all recorded.
    pub(crate) fn begin_search(
        &self,
        table: &'static str,
        from: &[u8],
        mark: SnapshotMark,
    ) -> Option<SearchId> {
        let mut state = self.state.lock();
        let skip = mark.0.checked_sub(state.first)?;
        let id = state.searches.iter().map(|search| search.id).max().unwrap_or(0).wrapping_add(1);
        let mut search = Search { id, table, from: from.to_vec(), put: None };
        let since = state.recent.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX));
        for (_, key) in since.filter(|(of, _)| *of == table) {
            search.note(key);
        }
        state.searches.push(search);
        Some(SearchId(id))
    }

    /// Ends a search that met no row before `until`, in a snapshot of that sequence number.
    pub(crate) fn end_search(&self, search: SearchId, until: &[u8], sequence: u64) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(at) = state.searches.iter().position(|s| s.id == search.0) else { return };
        let Search { table, from, put, .. } = state.searches.swap_remove(at);
        let end = put.as_deref().map_or(until, |put| put.min(until));
        if end <= from.as_slice() {
            return;
        }
        if state.walls.len() == MAX_WALLS {
            state.walls.pop_front();
        }
        state.walls.push_back(Wall { table, start: from.clone(), end: end.to_vec() });
        let gap = Gap { end: end.to_vec(), seen: sequence, noted: Instant::now() };
        insert(state.tables.entry(table).or_default(), from, gap);
        self.any.store(true, Ordering::Release);
    }

    /// Abandons a search.
    pub(crate) fn abandon(&self, search: SearchId) {
        self.state.lock().searches.retain(|s| s.id != search.0);
    }

    /// Removes the gaps that begin in `start..end`: no tombstones are left there.
    pub(crate) fn forget(&self, table: &'static str, start: &[u8], end: Option<&[u8]>) {
        let mut state = self.state.lock();
        if let Some(gaps) = state.tables.get_mut(table) {
            gaps.retain(|from, _| {
                from.as_slice() < start || end.is_some_and(|end| from.as_slice() >= end)
            });
        }
        let any = state.tables.values().any(|gaps| !gaps.is_empty());
        self.any.store(any, Ordering::Release);
    }

    /// The walls met since the last call.
    pub(crate) fn take_walls(&self) -> Vec<Wall> {
        self.state.lock().walls.drain(..).collect()
    }

    /// Number of gaps of all tables.
    pub(crate) fn count(&self) -> usize {
        self.state.lock().tables.values().map(BTreeMap::len).sum()
    }
}

impl State {
    fn next(&self) -> u64 {
        self.first + self.recent.len() as u64
    }
}

impl Search {
    fn note(&mut self, key: &[u8]) {
        let first = self.put.as_deref().is_none_or(|put| key < put);
        if key >= self.from.as_slice() && first {
            self.put = Some(key.to_vec());
        }
    }
}

/// The smallest key after `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Splits the gap at `key`, which gets a row.
fn split(gaps: &mut BTreeMap<Vec<u8>, Gap>, key: &[u8]) {
    let before = gaps.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
    let Some((start, gap)) = before else { return };
    if gap.end.as_slice() <= key {
        return;
    }
    let behind = successor(key);
    let rest = (behind < gap.end).then(|| Gap {
        end: std::mem::replace(&mut gap.end, key.to_vec()),
        seen: gap.seen,
        noted: gap.noted,
    });
    if start.as_slice() == key {
        gaps.remove(key);
    } else {
        gap.end = key.to_vec();
    }
    if let Some(rest) = rest {
        gaps.insert(behind, rest);
        if gaps.len() > MAX_GAPS {
            gaps.pop_first();
        }
    }
}

/// Adds a gap; overlapping ones are removed.
fn insert(gaps: &mut BTreeMap<Vec<u8>, Gap>, start: Vec<u8>, mut gap: Gap) {
    // Ends at the following gap, which may have been seen at another moment.
    let behind = (Bound::Excluded(start.as_slice()), Bound::Excluded(gap.end.as_slice()));
    let covered: Vec<Vec<u8>> = match start < gap.end {
        true => gaps.range::<[u8], _>(behind).map(|(from, _)| from.clone()).collect(),
        false => Vec::new(),
    };
    for from in covered {
        if let Some(inner) = gaps.remove(&from)
            && inner.end > gap.end
        {
            gap.end = from.clone();
            gaps.insert(from, inner);
        }
    }
    let up_to = (Bound::Unbounded, Bound::Included(start.as_slice()));
    if let Some((_, before)) = gaps.range_mut::<[u8], _>(up_to).next_back()
        && before.end > start
    {
        if before.end >= gap.end {
            return;
        }
        before.end.clone_from(&start);
    }
    if gaps.len() >= MAX_GAPS {
        gaps.pop_first();
    }
    join_old(gaps, &start);
    gaps.insert(start, gap);
}

/// Merges the gap that ends at `end`, if it is old, with the one that ends where it begins.
fn join_old(gaps: &mut BTreeMap<Vec<u8>, Gap>, end: &[u8]) {
    let mut before = gaps.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(end))).rev();
    let (Some((start, last)), Some((previous, first))) = (before.next(), before.next()) else {
        return;
    };
    if last.end != end || first.end != *start || last.noted.elapsed() < JOIN_AGE {
        return;
    }
    let (start, previous) = (start.clone(), previous.clone());
    if let Some(last) = gaps.remove(&start)
        && let Some(first) = gaps.get_mut(&previous)
    {
        *first = Gap { seen: first.seen.max(last.seen), ..last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "table";

    fn noted(gaps: &Gaps, from: &str, until: &str, sequence: u64) {
        let mark = gaps.before_snapshot();
        let search = gaps.begin_search(TABLE, from.as_bytes(), mark).unwrap();
        gaps.end_search(search, until.as_bytes(), sequence);
    }

    fn behind(gaps: &Gaps, from: &str, sequence: u64) -> Option<String> {
        let end = gaps.behind(TABLE, from.as_bytes(), sequence);
        end.map(|end| String::from_utf8(end).unwrap().replace('\0', "~"))
    }

    fn put(gaps: &Gaps, key: &str) {
        let mark = gaps.begin_write(vec![(TABLE, key.as_bytes().to_vec())]);
        gaps.end_write(mark);
    }

    #[test]
    fn a_gap_is_for_snapshots_that_are_as_new() {
        let gaps = Gaps::default();
        noted(&gaps, "b", "f", 10);
        assert_eq!(behind(&gaps, "c", 10).as_deref(), Some("f"));
        assert_eq!(behind(&gaps, "c", 9), None);
        assert_eq!(behind(&gaps, "f", 10), None);
        assert_eq!(behind(&gaps, "a", 10), None);
        noted(&gaps, "f", "h", 12);
        assert_eq!(behind(&gaps, "c", 12).as_deref(), Some("h"), "consecutive gaps");
        assert_eq!(behind(&gaps, "c", 11).as_deref(), Some("f"));
        assert_eq!(gaps.next_start(TABLE, b"c", 12).as_deref(), Some(b"f".as_slice()));
        assert_eq!(gaps.next_start(TABLE, b"c", 11), None);
    }

    #[test]
    fn a_put_splits_the_gap_that_it_falls_into() {
        let gaps = Gaps::default();
        noted(&gaps, "b", "f", 1);
        put(&gaps, "d");
        assert_eq!(behind(&gaps, "b", 1).as_deref(), Some("d"));
        assert_eq!(behind(&gaps, "d", 1), None);
        assert_eq!(behind(&gaps, "d~".replace('~', "\0").as_str(), 1).as_deref(), Some("f"));
        put(&gaps, "b");
        assert_eq!(behind(&gaps, "b", 1), None);
        assert_eq!(behind(&gaps, "c", 1).as_deref(), Some("d"));
    }

    #[test]
    fn a_put_that_is_under_way_or_came_since_the_snapshot_cuts_a_new_gap_off() {
        let gaps = Gaps::default();
        let under_way = gaps.begin_write(vec![(TABLE, b"d".to_vec())]);
        let mark = gaps.before_snapshot();
        let search = gaps.begin_search(TABLE, b"b", mark).unwrap();
        gaps.end_write(under_way);
        put(&gaps, "e");
        gaps.end_search(search, b"f", 1);
        assert_eq!(behind(&gaps, "b", 1).as_deref(), Some("d"));
        let mark = gaps.before_snapshot();
        put(&gaps, "m");
        let search = gaps.begin_search(TABLE, b"k", mark).unwrap();
        gaps.end_search(search, b"p", 1);
        assert_eq!(behind(&gaps, "k", 1).as_deref(), Some("m"));
    }

    #[test]
    fn a_search_whose_snapshot_is_too_old_is_not_begun() {
        let gaps = Gaps::default();
        let mark = gaps.before_snapshot();
        for i in 0..=RECENT_PUTS {
            put(&gaps, &format!("x{i:06}"));
        }
        assert!(gaps.begin_search(TABLE, b"b", mark).is_none());
        assert!(gaps.begin_search(TABLE, b"b", gaps.before_snapshot()).is_some());
    }

    #[test]
    fn what_is_compacted_is_forgotten_and_walls_are_told_once() {
        let gaps = Gaps::default();
        noted(&gaps, "b", "f", 1);
        assert!(gaps.any() && gaps.count() == 1);
        let wall = Wall { table: TABLE, start: b"b".to_vec(), end: b"f".to_vec() };
        assert_eq!(gaps.take_walls(), [wall]);
        assert!(gaps.take_walls().is_empty());
        gaps.forget(TABLE, b"a", Some(b"b"));
        assert!(gaps.any());
        gaps.forget(TABLE, b"a", None);
        assert!(!gaps.any());
    }
}
