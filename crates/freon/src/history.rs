//! Consistency rules for a history of overwrites and reads.
//!
//! Each key has one writer, which writes versions 1, 2, 3, … sequentially; a deletion is a version,
//! too, which reads as absent. From that follow the allowed results of a read without any search:
//!
//! * **not older than the floor**: the newest version that was acknowledged, or returned by a read,
//!   before this read started;
//! * **not newer than the newest write started** before it ended;
//! * an exception: a write of unknown outcome may take effect at any time after its start, also
//!   after a newer one. A read may then return it: [`Verdict::Late`], which is counted and no
//!   violation.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The key does not exist.
    Absent,
    /// A complete version.
    Version(u64),
    /// Bytes that no single write wrote.
    Torn,
}

/// The verdict on a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No violation.
    Fine,
    /// An older write of unknown outcome took effect late, which is allowed.
    Late,
    /// An acknowledged write is lost.
    Lost,
    /// A version older than the floor.
    Stale,
    /// Content that no writer wrote.
    Torn,
}

/// The floor of a read: the newest version that it must return at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor(u64);

impl Floor {
    /// The version.
    pub(crate) fn version(self) -> u64 {
        self.0
    }
}

#[derive(Default)]
struct Key {
    begun: u64,
    floor: u64,
    unknown: BTreeSet<u64>,
    deletions: BTreeSet<u64>,
}

/// The histories of all keys, shared by all tasks that write and read.
pub(crate) struct History {
    keys: Vec<Mutex<Key>>,
}

impl History {
    /// Histories of this number of unwritten keys.
    pub(crate) fn new(keys: usize) -> Self {
        Self { keys: (0..keys).map(|_| Mutex::default()).collect() }
    }

    fn with<T>(&self, key: usize, change: impl FnOnce(&mut Key) -> T) -> T {
        // No code under the lock panics.
        change(&mut self.keys[key].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Starts a write; returns its version.
    pub(crate) fn begin(&self, key: usize) -> u64 {
        self.with(key, |k| {
            k.begun += 1;
            k.begun
        })
    }

    /// Starts a deletion; returns its version.
    pub(crate) fn begin_deletion(&self, key: usize) -> u64 {
        self.with(key, |k| {
            k.begun += 1;
            k.deletions.insert(k.begun);
            k.begun
        })
    }

    /// The newest version started.
    pub(crate) fn newest(&self, key: usize) -> u64 {
        self.with(key, |k| k.begun)
    }

    /// Records an acknowledged write.
    pub(crate) fn acknowledged(&self, key: usize, version: u64) {
        self.with(key, |k| k.floor = k.floor.max(version));
    }

    /// Records a write that failed or timed out: its outcome is unknown.
    pub(crate) fn unknown(&self, key: usize, version: u64) {
        self.with(key, |k| k.unknown.insert(version));
    }

    /// Starts a read; call it before any request is sent.
    pub(crate) fn floor(&self, key: usize) -> Floor {
        Floor(self.with(key, |k| k.floor))
    }

    /// Judges the result of a read.
    pub(crate) fn judge(&self, key: usize, floor: Floor, seen: Seen) -> Verdict {
        self.with(key, |k| match seen {
            Seen::Torn => Verdict::Torn,
            Seen::Version(v) if v == 0 || v > k.begun || k.deletions.contains(&v) => Verdict::Torn,
            Seen::Absent => match k.deletions.range(floor.0..).next() {
                Some(deletion) => {
                    // It may have been a later deletion; at least this one.
                    k.floor = k.floor.max(*deletion);
                    Verdict::Fine
                }
                None if floor.0 == 0 => Verdict::Fine,
                None if k.deletions.intersection(&k.unknown).next().is_some() => Verdict::Late,
                None => Verdict::Lost,
            },
            Seen::Version(version) if version >= floor.0 => {
                // From now on no reader may return an older one, acknowledged or not.
                k.floor = k.floor.max(version);
                Verdict::Fine
            }
            Seen::Version(version) if k.unknown.contains(&version) => Verdict::Late,
            Seen::Version(_) => Verdict::Stale,
        })
    }

    /// Judges the last read of a key after the end of all writes: an older version is final then.
    pub(crate) fn judge_last(&self, key: usize, seen: Seen) -> Verdict {
        match self.judge(key, self.floor(key), seen) {
            Verdict::Stale => Verdict::Lost,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of one key with this number of acknowledged versions.
    fn written(versions: u64) -> History {
        let history = History::new(1);
        for _ in 0..versions {
            let version = history.begin(0);
            history.acknowledged(0, version);
        }
        history
    }

    #[test]
    fn what_was_acknowledged_or_is_newer_is_fine() {
        let history = written(2);
        let floor = history.floor(0);
        assert_eq!(history.judge(0, floor, Seen::Version(2)), Verdict::Fine);
        let third = history.begin(0);
        assert_eq!(history.judge(0, floor, Seen::Version(third)), Verdict::Fine, "under way");
        assert_eq!(written(0).judge_last(0, Seen::Absent), Verdict::Fine, "never written");
    }

    #[test]
    fn a_lost_write_is_found() {
        assert_eq!(written(3).judge_last(0, Seen::Version(2)), Verdict::Lost);
        assert_eq!(written(1).judge_last(0, Seen::Absent), Verdict::Lost);
        let history = written(1);
        assert_eq!(history.judge(0, history.floor(0), Seen::Absent), Verdict::Lost, "at once");
    }

    #[test]
    fn a_stale_read_is_found_but_not_one_that_began_before() {
        let history = written(1);
        let before = history.floor(0);
        let second = history.begin(0);
        history.acknowledged(0, second);
        assert_eq!(history.judge(0, before, Seen::Version(1)), Verdict::Fine);
        assert_eq!(history.judge(0, history.floor(0), Seen::Version(1)), Verdict::Stale);
    }

    #[test]
    fn what_one_read_returned_all_later_reads_know() {
        let history = written(1);
        let second = history.begin(0);
        history.unknown(0, second);
        assert_eq!(history.judge(0, history.floor(0), Seen::Version(2)), Verdict::Fine);
        assert_eq!(history.judge(0, history.floor(0), Seen::Version(1)), Verdict::Stale);
    }

    #[test]
    fn a_write_of_unknown_outcome_may_take_effect_late_and_only_that_one() {
        let history = written(1);
        let second = history.begin(0);
        history.unknown(0, second);
        let third = history.begin(0);
        history.acknowledged(0, third);
        assert_eq!(history.judge_last(0, Seen::Version(2)), Verdict::Late);
        assert_eq!(history.judge_last(0, Seen::Version(1)), Verdict::Lost);
    }

    #[test]
    fn what_was_deleted_is_absent_and_what_came_before_it_is_stale() {
        let history = written(1);
        let before = history.floor(0);
        assert_eq!(history.judge(0, before, Seen::Absent), Verdict::Lost, "it is never deleted");
        let deletion = history.begin_deletion(0);
        assert_eq!(history.judge(0, before, Seen::Version(1)), Verdict::Fine, "under way");
        assert_eq!(history.judge(0, before, Seen::Absent), Verdict::Fine);
        assert_eq!(history.judge(0, history.floor(0), Seen::Version(1)), Verdict::Stale, "seen");
        assert_eq!(history.judge(0, before, Seen::Version(deletion)), Verdict::Torn);
        history.acknowledged(0, deletion);
        assert_eq!(history.judge_last(0, Seen::Absent), Verdict::Fine);
        let third = history.begin(0);
        history.acknowledged(0, third);
        assert_eq!(history.judge_last(0, Seen::Absent), Verdict::Lost, "written again");
    }

    #[test]
    fn a_deletion_of_unknown_outcome_may_take_effect_late() {
        let history = written(1);
        let deletion = history.begin_deletion(0);
        history.unknown(0, deletion);
        let third = history.begin(0);
        history.acknowledged(0, third);
        assert_eq!(history.judge_last(0, Seen::Absent), Verdict::Late);
    }

    #[test]
    fn content_that_nobody_wrote_is_found() {
        let history = written(1);
        let floor = history.floor(0);
        for seen in [Seen::Torn, Seen::Version(0), Seen::Version(7)] {
            assert_eq!(history.judge(0, floor, seen), Verdict::Torn);
        }
    }
}
