//! Failures of a group on this node, and their causes.

use std::fmt;

use crate::machine::{MachineError, NoRoom};

/// The origin of a group's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// A panic in the code that drives the group.
    Panic,
    /// An error or panic in the state machine.
    Machine,
    /// The state machine has no disk space.
    Room,
    /// A committed entry or a snapshot contains invalid members.
    Members,
    /// The log can no longer be written: its contents on disk are unknown.
    Log,
}

impl FailureCause {
    /// Returns `true` if a retry cannot succeed. A log that failed to sync is not retried: the next
    /// fsync may succeed although the kernel dropped the unwritten pages.
    pub fn is_final(self) -> bool {
        self == Self::Log
    }

    /// The cause of a state machine's error.
    pub(crate) fn of(error: &MachineError) -> Self {
        if error.is::<NoRoom>() { Self::Room } else { Self::Machine }
    }
}

/// The failure of a group on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFailure {
    /// The origin.
    pub cause: FailureCause,
    /// The error text.
    pub reason: String,
}

impl fmt::Display for GroupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The text of a panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}
