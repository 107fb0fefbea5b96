//! Levels of replication that a watch can wait for.

/// Progress of an entry that a watch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It is committed.
    Majority,
    /// It is committed, and in every member's log.
    All,
    /// It is committed by the commit indexes of a majority.
    MajorityCommitted,
    /// It is committed by the commit index of every member.
    AllCommitted,
}
