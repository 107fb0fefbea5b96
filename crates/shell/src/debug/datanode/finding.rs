//! A finding.

use types::ContainerId;

/// A defect of a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub container: ContainerId,
    pub kind: &'static str,
    /// The data directory.
    pub dir: String,
    pub detail: String,
}
