//! Records of scans: times of each replica's scans, and findings of each disk's scans.

mod stats;
mod times;

use container::ContainerState;

pub use stats::{DiskScans, FoundDamage, ScanStats};
pub use times::ScanTimes;
pub(crate) use times::to_millis;

/// Kind of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanKind {
    /// Its parts, at intervals.
    Metadata,
    /// All of its bytes, at intervals.
    Data,
    /// All of its bytes, because a read found damage.
    OnDemand,
    /// All of its bytes, to find the damage to repair, and to verify the repair.
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

    /// Returns `true` if it scans replicas in this state.
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
