//! Cache of decoded directories, so that paths are resolved from memory.
//!
//! A directory is cached under its row: its parent's id and its name. A rename therefore changes
//! one entry, whatever is below the directory, and nothing has to be searched for. The apply thread
//! updates the entries; a reader adds a row only if no round changed a directory since its read, so
//! that an old row never replaces a new one.
//!
//! Entries are in two generations. The young one becomes the old one when it has half of the
//! allowed bytes, and the former old one is dropped; used entries move to the young one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use prost::Message;
use proto::ozone::DirectoryInfo;
use rustc_hash::FxHashMap;

/// Bytes that an entry takes besides its row and message: map slot, counters, allocations.
const ENTRY_BYTES: usize = 160;

#[derive(Default)]
struct Generation {
    rows: FxHashMap<Box<[u8]>, Arc<DirectoryInfo>>,
    bytes: usize,
}

impl Generation {
    fn insert(&mut self, row: Box<[u8]>, directory: Arc<DirectoryInfo>) {
        self.remove(&row);
        self.bytes += weight(&row, &directory);
        self.rows.insert(row, directory);
    }

    fn remove(&mut self, row: &[u8]) -> Option<(Box<[u8]>, Arc<DirectoryInfo>)> {
        let (row, directory) = self.rows.remove_entry(row)?;
        self.bytes -= weight(&row, &directory);
        Some((row, directory))
    }
}

/// Weight of an entry. The message in memory is about twice its encoding.
fn weight(row: &[u8], directory: &DirectoryInfo) -> usize {
    ENTRY_BYTES + row.len() + 2 * directory.encoded_len()
}

#[derive(Default)]
struct Generations {
    young: Generation,
    old: Generation,
    /// Rounds that changed directories.
    round: u64,
}

/// Hits and misses.
#[derive(Debug, Default)]
pub(crate) struct DirectoryCacheStats {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

/// The cache.
pub(crate) struct DirectoryCache {
    generations: RwLock<Generations>,
    most_bytes: usize,
    stats: DirectoryCacheStats,
}

/// The round in which a directory was not found here: needed to add it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missed(u64);

impl DirectoryCache {
    pub(crate) fn new(most_bytes: usize) -> Self {
        let stats = DirectoryCacheStats::default();
        Self { generations: RwLock::default(), most_bytes, stats }
    }

    /// The directory at `row`.
    pub(crate) fn get(&self, row: &[u8]) -> Result<Arc<DirectoryInfo>, Missed> {
        let round = {
            let all = self.generations.read();
            if let Some(found) = all.young.rows.get(row) {
                self.stats.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Arc::clone(found));
            }
            if !all.old.rows.contains_key(row) {
                self.stats.misses.fetch_add(1, Ordering::Relaxed);
                return Err(Missed(all.round));
            }
            all.round
        };
        let mut all = self.generations.write();
        let Some((row, directory)) = all.old.remove(row) else { return Err(Missed(round)) };
        self.stats.hits.fetch_add(1, Ordering::Relaxed);
        let found = Arc::clone(&directory);
        self.insert(&mut all, row, directory);
        Ok(found)
    }

    /// Adds a directory that was read after it was [`Missed`].
    pub(crate) fn add(&self, row: &[u8], directory: Arc<DirectoryInfo>, missed: Missed) {
        let mut all = self.generations.write();
        if all.round == missed.0 {
            self.insert(&mut all, row.into(), directory);
        }
    }

    /// Records changes of directories in a round: their new values, `None` for removed ones.
    pub(crate) fn changed(&self, rows: Vec<(Vec<u8>, Option<DirectoryInfo>)>) {
        if rows.is_empty() {
            return;
        }
        let mut all = self.generations.write();
        all.round += 1;
        for (row, directory) in rows {
            all.old.remove(&row);
            all.young.remove(&row);
            if let Some(directory) = directory {
                self.insert(&mut all, row.into(), Arc::new(directory));
            }
        }
    }

    fn insert(&self, all: &mut Generations, row: Box<[u8]>, directory: Arc<DirectoryInfo>) {
        all.young.insert(row, directory);
        if all.young.bytes > self.most_bytes / 2 {
            all.old = std::mem::take(&mut all.young);
        }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let all = self.generations.read();
        all.young.bytes + all.old.bytes
    }

    /// Hits and misses so far.
    pub(crate) fn stats(&self) -> &DirectoryCacheStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> DirectoryInfo {
        DirectoryInfo { name: name.to_owned(), ..DirectoryInfo::default() }
    }

    fn name(cache: &DirectoryCache, row: &[u8]) -> Option<String> {
        cache.get(row).ok().map(|directory| directory.name.clone())
    }

    #[test]
    fn what_was_read_before_a_change_is_not_added_after_it() {
        let cache = DirectoryCache::new(1 << 20);
        let missed = cache.get(b"/1/2/3/a").unwrap_err();
        cache.changed(vec![(b"/1/2/3/a".to_vec(), None)]);
        cache.add(b"/1/2/3/a", Arc::new(directory("a")), missed);
        assert_eq!(name(&cache, b"/1/2/3/a"), None);
        let missed = cache.get(b"/1/2/3/a").unwrap_err();
        cache.add(b"/1/2/3/a", Arc::new(directory("a")), missed);
        assert_eq!(name(&cache, b"/1/2/3/a").as_deref(), Some("a"));
        cache.changed(vec![
            (b"/1/2/3/a".to_vec(), None),
            (b"/1/2/3/b".to_vec(), Some(directory("b"))),
        ]);
        assert_eq!(name(&cache, b"/1/2/3/a"), None);
        assert_eq!(name(&cache, b"/1/2/3/b").as_deref(), Some("b"));
    }

    #[test]
    fn bytes_are_bounded_and_what_is_used_stays() {
        let cache = DirectoryCache::new(64 << 10);
        cache.changed(vec![(b"hot".to_vec(), Some(directory("hot")))]);
        for i in 0..10_000 {
            cache.changed(vec![(format!("row{i}").into_bytes(), Some(directory("cold")))]);
            assert!(cache.bytes() <= 64 << 10);
            assert!(cache.get(b"hot").is_ok());
        }
        assert!(cache.get(b"row0").is_err());
        assert!(cache.get(b"row9999").is_ok());
        assert_eq!(cache.stats().hits.load(Ordering::Relaxed), 10_001);
    }
}
