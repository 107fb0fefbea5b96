//! Finalization of an upgrade. There is one layout, and a data directory of another is refused at
//! the start: what runs is finalized.

use proto::container_location::*;
use proto::hdds::UpgradeFinalizationStatus;
use proto::hdds::upgrade_finalization_status::Status;

/// FinalizeScmUpgrade.
pub fn finalize() -> FinalizeScmUpgradeResponseProto {
    FinalizeScmUpgradeResponseProto { status: of(Status::AlreadyFinalized) }
}

/// QueryUpgradeFinalizationProgress.
pub fn progress() -> QueryUpgradeFinalizationProgressResponseProto {
    QueryUpgradeFinalizationProgressResponseProto { status: of(Status::FinalizationDone) }
}

fn of(status: Status) -> UpgradeFinalizationStatus {
    UpgradeFinalizationStatus { status: status as i32, messages: Vec::new() }
}
