//! Selection of the ranges of a table that are worth a compaction.
//!
//! The keys of a table are in groups (buckets), which the caller identifies by their first keys. A
//! group is examined as a whole, or, if it has more entries than one compaction should rewrite, in
//! pieces that begin at file boundaries. A piece is worth a compaction if it has enough tombstones
//! and a sufficient share of its entries are tombstones. Adjacent pieces are merged into one range,
//! where the table and the limit allow it.

use super::{RangeStatistics, TableFile};

/// Thresholds of a compaction, and the maximum size of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entries of one range, unless a single file has more.
    pub max_entries: u64,
    /// Minimum number of tombstones.
    pub min_tombstones: u64,
    /// Minimum share of tombstones among entries, in percent.
    pub tombstone_percentage: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_entries: 1_000_000, min_tombstones: 10_000, tombstone_percentage: 30 }
    }
}

impl Limits {
    /// Returns `true` if a range with these statistics is worth a compaction.
    pub fn wants(&self, range: &RangeStatistics) -> bool {
        let share = u128::from(range.entries) * u128::from(self.tombstone_percentage) / 100;
        range.deletions >= self.min_tombstones.max(1) && share <= u128::from(range.deletions)
    }
}

/// Rules for splitting a table into ranges.
#[derive(Clone, Copy)]
pub struct Cut {
    /// Adjacent groups may be compacted together.
    pub merge: bool,
    /// Length of the key prefix at which a piece of a group should begin, such as the directory of
    /// a file; a directory that is too large is split anywhere.
    pub align: fn(&[u8]) -> usize,
}

/// A range that is worth a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRange {
    /// Its first key.
    pub start: Vec<u8>,
    /// The first key after it; `None` for the end of the table.
    pub end: Option<Vec<u8>>,
    /// Statistics of its files.
    pub statistics: RangeStatistics,
}

/// The result of a scan of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Ranges, in order.
    pub ranges: Vec<PlannedRange>,
    /// Start of the next scan; `None` if the table's end was reached.
    pub next: Option<Vec<u8>>,
}

/// Scans a table from `from` on, until `most` ranges are found or `looks` pieces are examined.
/// `groups` are the first keys of groups in ascending order; a group ends where the next begins.
pub fn plan(
    files: &[TableFile],
    groups: impl Iterator<Item = Vec<u8>>,
    cut: Cut,
    limits: &Limits,
    from: &[u8],
    (most, looks): (usize, usize),
) -> Plan {
    let mut planner = Planner { files, cut, limits, ranges: Vec::new(), open: None };
    let mut groups = groups.filter(|start| start.as_slice() > from);
    let mut start = from.to_vec();
    let mut looked = 0_usize;
    loop {
        let group_end = groups.next();
        let mut piece_start = start;
        loop {
            let end = planner.piece_end(&piece_start, group_end.as_deref());
            planner.look(&piece_start, end.as_deref());
            looked = looked.saturating_add(1);
            let Some(end) = end else { return planner.finish(None) };
            if planner.found() >= most.max(1) || looked >= looks.max(1) {
                return planner.finish(Some(end));
            }
            let is_last = Some(end.as_slice()) == group_end.as_deref();
            piece_start = end;
            if is_last {
                break;
            }
        }
        start = piece_start;
    }
}

struct Planner<'a> {
    files: &'a [TableFile],
    cut: Cut,
    limits: &'a Limits,
    ranges: Vec<PlannedRange>,
    /// The last range, to which the next piece may be added.
    open: Option<PlannedRange>,
}

impl Planner<'_> {
    fn statistics(&self, start: &[u8], end: Option<&[u8]>) -> RangeStatistics {
        RangeStatistics::of(self.files, start, end)
    }

    fn fits(&self, statistics: &RangeStatistics) -> bool {
        statistics.entries <= self.limits.max_entries
    }

    /// End of the piece that begins at `start`: the end of its group, or before the file that would
    /// add too many entries.
    fn piece_end(&self, start: &[u8], group_end: Option<&[u8]>) -> Option<Vec<u8>> {
        if self.fits(&self.statistics(start, group_end)) {
            return group_end.map(<[u8]>::to_vec);
        }
        let within = |key: &&[u8]| *key > start && group_end.is_none_or(|end| *key < end);
        let firsts = self.files.iter().map(|file| file.first.as_slice());
        let mut bounds: Vec<&[u8]> =
            firsts.map(|first| self.aligned(first, start)).filter(within).collect();
        bounds.sort_unstable();
        bounds.dedup();
        // Entries increase with the length of the piece: the last bound that fits is found by
        // bisection.
        let fitting = bounds.partition_point(|end| self.fits(&self.statistics(start, Some(end))));
        let end = bounds.get(fitting.saturating_sub(1)).copied();
        end.or(group_end).map(<[u8]>::to_vec)
    }

    /// The bound before `key` at which a piece should begin; `key` itself if that is not after
    /// `start`.
    fn aligned<'k>(&self, key: &'k [u8], start: &[u8]) -> &'k [u8] {
        let aligned = key.get(..(self.cut.align)(key)).unwrap_or(key);
        if aligned > start { aligned } else { key }
    }

    fn look(&mut self, start: &[u8], end: Option<&[u8]>) {
        let statistics = self.statistics(start, end);
        if !self.limits.wants(&statistics) {
            self.ranges.extend(self.open.take());
            return;
        }
        if let Some(open) = &self.open
            && self.cut.merge
            && open.end.as_deref() == Some(start)
        {
            let both = self.statistics(&open.start, end);
            // A file that lies in both counts for each: together they may not be worth it.
            if self.fits(&both) && self.limits.wants(&both) {
                let start = open.start.clone();
                let end = end.map(<[u8]>::to_vec);
                self.open = Some(PlannedRange { start, end, statistics: both });
                return;
            }
        }
        self.ranges.extend(self.open.take());
        let (start, end) = (start.to_vec(), end.map(<[u8]>::to_vec));
        self.open = Some(PlannedRange { start, end, statistics });
    }

    /// Number of ranges that are complete.
    fn found(&self) -> usize {
        self.ranges.len()
    }

    fn finish(mut self, next: Option<Vec<u8>>) -> Plan {
        self.ranges.extend(self.open.take());
        Plan { ranges: self.ranges, next }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLAT: Cut = Cut { merge: true, align: <[u8]>::len };
    /// Two characters are the "bucket", three the "directory" within it.
    const TREE: Cut = Cut { merge: false, align: three };
    const ALL: (usize, usize) = (usize::MAX, usize::MAX);

    fn three(key: &[u8]) -> usize {
        key.len().min(3)
    }

    fn limits(max_entries: u64) -> Limits {
        Limits { max_entries, min_tombstones: 10, tombstone_percentage: 30 }
    }

    fn file(first: &str, last: &str, entries: u64, deletions: u64) -> TableFile {
        TableFile {
            first: first.into(),
            last: last.into(),
            entries,
            deletions,
            ..TableFile::default()
        }
    }

    fn planned(files: &[TableFile], groups: &[&str], cut: Cut, limits: &Limits) -> Vec<String> {
        let groups = groups.iter().map(|group| group.as_bytes().to_vec());
        let plan = plan(files, groups, cut, limits, b"", ALL);
        assert_eq!(plan.next, None);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        plan.ranges
            .iter()
            .map(|r| {
                format!("{}..{}", text(&r.start), r.end.as_deref().map(text).unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn a_range_wants_enough_tombstones_and_a_large_enough_share() {
        let limits = limits(1_000);
        let of = |entries, deletions| RangeStatistics { entries, deletions, ..Default::default() };
        assert!(limits.wants(&of(33, 10)) && limits.wants(&of(36, 10)));
        assert!(!limits.wants(&of(37, 10)), "10 of 37 are less than 30 percent");
        assert!(!limits.wants(&of(9, 9)), "too few to be worth it");
        assert!(limits.wants(&of(u64::MAX, u64::MAX)));
        assert!(!Limits { min_tombstones: 0, ..limits }.wants(&of(0, 0)), "nothing to gain");
    }

    #[test]
    fn only_the_buckets_with_tombstones_are_planned() {
        let files = [file("a1", "a9", 100, 50), file("b1", "b9", 100, 0), file("c1", "c9", 50, 40)];
        assert_eq!(planned(&files, &["a", "b", "c"], FLAT, &limits(1_000)), ["a..b", "c.."]);
    }

    #[test]
    fn neighbours_are_merged_below_the_limit_in_flat_tables_only() {
        let files =
            [file("a1", "a9", 100, 50), file("b1", "b9", 100, 50), file("c1", "c9", 90, 60)];
        let groups = ["a", "b", "c"];
        assert_eq!(planned(&files, &groups, FLAT, &limits(1_000)), ["a.."]);
        assert_eq!(planned(&files, &groups, FLAT, &limits(200)), ["a..c", "c.."]);
        assert_eq!(planned(&files, &groups, TREE, &limits(1_000)), ["a..b", "b..c", "c.."]);
    }

    #[test]
    fn neighbours_that_are_not_worth_it_together_stay_apart() {
        let files = [
            file("aaa", "baa", 118, 114),
            file("aaa", "aaa", 247, 0),
            file("aba", "baa", 33, 0),
            file("aaa", "baa", 63, 39),
            file("aba", "aba", 79, 0),
        ];
        assert_eq!(planned(&files, &["ab"], FLAT, &limits(540)), ["..ab", "ab.."]);
    }

    #[test]
    fn a_large_bucket_is_cut_where_files_begin() {
        let files: Vec<TableFile> = (0..6)
            .map(|i| file(&format!("a{i}x"), &format!("a{i}z"), 100, if i == 4 { 0 } else { 60 }))
            .collect();
        let tree = Cut { align: |key| key.len().min(2), ..TREE };
        let expected = ["a..a2", "a2..a4", "a4..b"];
        assert_eq!(planned(&files, &["a", "b"], tree, &limits(200)), expected);
    }

    #[test]
    fn a_directory_that_is_too_large_is_cut_within() {
        let files: Vec<TableFile> =
            (0..4).map(|i| file(&format!("aa1{i}"), &format!("aa1{i}z"), 100, 60)).collect();
        assert_eq!(
            planned(&files, &["aa"], TREE, &limits(200)),
            ["aa1..aa12", "aa12.."],
            "all are of the directory aa1"
        );
    }

    #[test]
    fn a_look_goes_on_where_the_last_one_stopped() {
        let files: Vec<TableFile> =
            (0..9).map(|i| file(&format!("{i}a"), &format!("{i}z"), 100, 60)).collect();
        let groups = || (0..9).map(|i| vec![b'0' + i]);
        let all = plan(&files, groups(), TREE, &limits(1_000), b"", ALL);
        let (mut from, mut seen, mut rounds) = (Vec::new(), Vec::new(), 0);
        loop {
            let part = plan(&files, groups(), TREE, &limits(1_000), &from, (2, 100));
            assert!(part.ranges.len() <= 3);
            seen.extend(part.ranges);
            rounds += 1;
            match part.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert!(rounds >= 3);
        assert_eq!(seen, all.ranges);
    }

    fn files() -> impl Strategy<Value = Vec<TableFile>> {
        let one = ("[a-d]{3}", "[a-d]{3}", 0_u64..400, 0_u64..100).prop_map(
            |(a, b, entries, percent)| {
                let (first, last) = if a <= b { (a, b) } else { (b, a) };
                file(&first, &last, entries, entries * percent / 100)
            },
        );
        prop::collection::vec(one, 0..20)
    }

    proptest! {
        #[test]
        fn ranges_are_in_order_apart_and_worth_it(
            files in files(),
            groups in prop::collection::btree_set("[a-d]{1,2}", 0..6),
            merge: bool,
            max_entries in 1_u64..2_000,
        ) {
            let cut = Cut { merge, align: three };
            let limits = limits(max_entries);
            let starts: Vec<Vec<u8>> = groups.iter().map(|g| g.clone().into_bytes()).collect();
            let plan = plan(&files, starts.iter().cloned(), cut, &limits, b"", ALL);
            prop_assert_eq!(plan.next, None);
            for pair in plan.ranges.windows(2) {
                prop_assert!(pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start));
            }
            for range in &plan.ranges {
                let end = range.end.as_deref();
                prop_assert!(end.is_none_or(|end| end > range.start.as_slice()));
                prop_assert_eq!(range.statistics, RangeStatistics::of(&files, &range.start, end));
                prop_assert!(limits.wants(&range.statistics));
                let crossed = starts.iter().filter(|s| **s > range.start && end.is_none_or(|e| s.as_slice() < e));
                if crossed.count() > 0 {
                    prop_assert!(merge, "a range of one bucket stays in it");
                    prop_assert!(range.statistics.entries <= max_entries);
                }
            }
        }

        #[test]
        fn what_is_worth_it_as_a_bucket_within_the_limit_is_planned(
            files in files(),
            groups in prop::collection::btree_set("[a-d]{1,2}", 1..6),
            merge: bool,
        ) {
            let cut = Cut { merge, align: three };
            let limits = limits(u64::MAX);
            let starts: Vec<Vec<u8>> = groups.iter().map(|g| g.clone().into_bytes()).collect();
            let plan = plan(&files, starts.iter().cloned(), cut, &limits, b"", ALL);
            for (i, start) in starts.iter().enumerate() {
                let end = starts.get(i + 1).map(Vec::as_slice);
                if limits.wants(&RangeStatistics::of(&files, start, end)) {
                    let covers = |r: &PlannedRange| {
                        r.start <= *start && r.end.as_deref().is_none_or(|e| end.is_some_and(|end| e >= end))
                    };
                    prop_assert!(plan.ranges.iter().any(covers));
                }
            }
        }

        #[test]
        fn every_look_gets_on(
            files in files(),
            groups in prop::collection::btree_set("[a-d]{1,2}", 0..6),
            max_entries in 1_u64..500,
            looks in 1_usize..4,
        ) {
            let limits = limits(max_entries);
            let starts: Vec<Vec<u8>> = groups.iter().map(|g| g.clone().into_bytes()).collect();
            let mut from = Vec::new();
            for _ in 0..1_000 {
                let part = plan(&files, starts.iter().cloned(), FLAT, &limits, &from, (1, looks));
                match part.next {
                    Some(next) => {
                        prop_assert!(next > from);
                        from = next;
                    }
                    None => return Ok(()),
                }
            }
            prop_assert!(false, "the end of the table was not reached");
        }
    }
}
