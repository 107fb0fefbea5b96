//! Live keys of a generator: a bounded set with random access.

use std::sync::{Mutex, PoisonError};

use rand::RngExt;

/// Numbers of keys, up to a limit.
pub(crate) struct LiveKeys {
    limit: usize,
    keys: Mutex<Vec<u64>>,
}

impl LiveKeys {
    /// An empty set of at most `limit` keys.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, keys: Mutex::new(Vec::new()) }
    }

    /// Adds a key. Above the limit it is not added, and stays in the bucket.
    pub(crate) fn add(&self, key: u64) {
        let mut keys = self.lock();
        if keys.len() < self.limit {
            keys.push(key);
        }
    }

    /// Removes a key and returns it, so that no other thread deletes it.
    pub(crate) fn pop(&self) -> Option<u64> {
        let mut keys = self.lock();
        let at = pick(keys.len())?;
        Some(keys.swap_remove(at))
    }

    /// Returns a random key, which stays in the set.
    pub(crate) fn any(&self) -> Option<u64> {
        let keys = self.lock();
        keys.get(pick(keys.len())?).copied()
    }

    /// Number of keys.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Maximum number of keys.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A random index below `length`.
fn pick(length: usize) -> Option<usize> {
    (length > 0).then(|| rand::rng().random_range(0..length))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_taken_once_and_never_more_than_the_limit_are_kept() {
        let keys = LiveKeys::new(5);
        assert_eq!((keys.any(), keys.pop()), (None, None));
        (0..8).for_each(|key| keys.add(key));
        assert_eq!((keys.count(), keys.limit()), (5, 5));
        assert!(keys.any().is_some_and(|key| key < 5) && keys.count() == 5);
        let taken: BTreeSet<u64> = (0..5).map_while(|_| keys.pop()).collect();
        assert_eq!(taken, (0..5).collect());
        assert_eq!(keys.pop(), None);
    }
}
