//! What is kept of scans: when each replica was scanned, and what the scans of a disk found.

mod stats;
mod times;

use container::ContainerState;

pub use stats::{DiskScans, FoundDamage, ScanStats};
pub use times::ScanTimes;
pub(crate) use times::to_millis;

/// Why a replica is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanKind {
    /// What it is made of, at intervals.
    Metadata,
    /// All of its bytes, at intervals.
    Data,
    /// All of its bytes, because a read found something wrong.
    OnDemand,
    /// All of its bytes, to know what of it has to be repaired, and whether it was.
    Reconcile,
}

impl ScanKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Metadata, Self::Data, Self::OnDemand, Self::Reconcile];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Data => "data",
            Self::OnDemand => "on_demand",
            Self::Reconcile => "reconcile",
        }
    }

    /// Whether it looks through replicas in this state.
    pub(crate) fn covers(self, state: ContainerState) -> bool {
        use ContainerState::*;
        match (self, state) {
            (Self::Reconcile, state) => matches!(state, Closed | QuasiClosed | Unhealthy),
            (_, Unhealthy | Deleted | Recovering) => false,
            (Self::Data, state) => matches!(state, Closed | QuasiClosed),
            (Self::Metadata | Self::OnDemand, _) => true,
        }
    }
}
