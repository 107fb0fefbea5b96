//! Levels of replication that a watch can wait for.

/// Progress of an entry that a watch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It is committed.
    Majority,
    /// It is committed, and in every member's log.
    All,
    /// A majority knows that it is committed.
    MajorityCommitted,
    /// Every member knows that it is committed.
    AllCommitted,
}
