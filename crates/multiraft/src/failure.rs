//! A group that no longer works on this node, and why.

use std::fmt;

use crate::machine::{MachineError, NoRoom};

/// Where a group failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The code that drives the group panicked.
    Panic,
    /// The state machine returned an error, or panicked.
    Machine,
    /// The state machine has no room to write.
    Room,
    /// A committed entry or a snapshot says something of the members that cannot be.
    Members,
    /// The log can no longer be written: what of it is on the disk is unknown.
    Log,
}

impl FailureCause {
    /// Whether another try can succeed. A log that failed to sync is not tried again: the kernel
    /// may say yes the next time and have dropped what it did not write.
    pub fn is_final(self) -> bool {
        self == Self::Log
    }

    /// The cause of an error of the state machine.
    pub(crate) fn of(error: &MachineError) -> Self {
        if error.is::<NoRoom>() { Self::Room } else { Self::Machine }
    }
}

/// Why a group no longer works on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFailure {
    /// Where it failed.
    pub cause: FailureCause,
    /// What was said.
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
