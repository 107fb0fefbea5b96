//! The newest entries of one group in memory, limited in bytes.

use std::collections::VecDeque;

use crate::consensus::Entry;

/// Size of an entry for the limit.
pub(crate) fn size(entry: &Entry) -> u64 {
    // The constant covers the entry itself and its slot in the queue.
    (entry.data.len() + entry.context.len() + 96) as u64
}

/// Consecutive entries of one group, the newest ones of its log.
#[derive(Default)]
pub(crate) struct Cache {
    entries: VecDeque<Entry>,
    bytes: u64,
}

impl Cache {
    pub(crate) fn first(&self) -> Option<u64> {
        self.entries.front().map(|e| e.index)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds entries, replacing those at and after the first one's index.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        while self.entries.back().is_some_and(|last| last.index >= first.index) {
            if let Some(entry) = self.entries.pop_back() {
                self.bytes -= size(&entry);
            }
        }
        if self.entries.back().is_some_and(|last| last.index + 1 != first.index) {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += entries.iter().map(size).sum::<u64>();
        self.entries.extend(entries.iter().cloned());
    }

    /// Drops entries up to and including `index`.
    pub(crate) fn drop_to(&mut self, index: u64) {
        while self.entries.front().is_some_and(|first| first.index <= index) {
            if let Some(entry) = self.entries.pop_front() {
                self.bytes -= size(&entry);
            }
        }
    }

    /// Drops the oldest entries, none after `index`, until `max_bytes` are left.
    pub(crate) fn shrink(&mut self, max_bytes: u64, index: u64) {
        while self.bytes > max_bytes && self.entries.front().is_some_and(|e| e.index <= index) {
            if let Some(entry) = self.entries.pop_front() {
                self.bytes -= size(&entry);
            }
        }
    }

    /// Adds the entries `low..high` to `into` (at least one, the rest limited to `max_bytes`
    /// including those already in `into`). Returns `false` if `low` is not cached.
    pub(crate) fn extend_into(
        &self,
        low: u64,
        high: u64,
        max_bytes: Option<u64>,
        into: &mut Vec<Entry>,
    ) -> bool {
        let Some(skip) = self.first().and_then(|first| low.checked_sub(first)) else {
            return false;
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        if skip >= self.entries.len() {
            return false;
        }
        let mut bytes: u64 = into.iter().map(size).sum();
        for entry in self.entries.range(skip..) {
            bytes += size(entry);
            let full = max_bytes.is_some_and(|max| bytes > max) && !into.is_empty();
            if entry.index >= high || full {
                break;
            }
            into.push(entry.clone());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, len: usize) -> Entry {
        Entry { index, data: vec![7; len].into(), ..Entry::default() }
    }

    fn indexes(cache: &Cache, low: u64, high: u64, max: Option<u64>) -> Vec<u64> {
        let mut out = Vec::new();
        cache.extend_into(low, high, max, &mut out);
        out.iter().map(|e| e.index).collect()
    }

    #[test]
    fn a_conflicting_tail_is_replaced_and_bytes_are_counted() {
        let mut cache = Cache::default();
        cache.append(&[entry(5, 10), entry(6, 10), entry(7, 10)]);
        cache.append(&[entry(6, 20)]);
        assert_eq!(indexes(&cache, 5, 100, None), [5, 6]);
        assert_eq!(cache.bytes(), size(&entry(5, 10)) + size(&entry(6, 20)));
        cache.drop_to(6);
        assert_eq!((cache.bytes(), cache.first()), (0, None));
    }

    #[test]
    fn at_least_one_entry_is_given_and_then_as_many_as_fit() {
        let mut cache = Cache::default();
        cache.append(&[entry(1, 1000), entry(2, 1000), entry(3, 1000)]);
        assert_eq!(indexes(&cache, 1, 4, Some(1)), [1]);
        assert_eq!(indexes(&cache, 1, 4, Some(2300)), [1, 2]);
        assert_eq!(indexes(&cache, 2, 3, None), [2]);
        assert!(!cache.extend_into(4, 5, None, &mut Vec::new()));
    }

    #[test]
    fn shrinking_stops_at_what_is_still_needed() {
        let mut cache = Cache::default();
        cache.append(&[entry(1, 1000), entry(2, 1000), entry(3, 1000)]);
        cache.shrink(0, 2);
        assert_eq!(cache.first(), Some(3));
    }
}
