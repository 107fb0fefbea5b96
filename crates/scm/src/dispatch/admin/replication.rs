//! The replication manager: whether it runs, and its switch.
//!
//! The switch is the pause of its background service. As Ozone's it is a matter of the process, not
//! of the cluster's state: an SCM that starts has its replication manager running.

use proto::container_location::*;

use crate::core::Core;
use crate::service_names::REPLICATION_MANAGER;

/// StartReplicationManager.
pub fn start(core: &Core) -> StartReplicationManagerResponseProto {
    core.services.resume(REPLICATION_MANAGER);
    core.services.run(REPLICATION_MANAGER);
    StartReplicationManagerResponseProto {}
}

/// StopReplicationManager.
pub fn stop(core: &Core) -> StopReplicationManagerResponseProto {
    core.services.pause(REPLICATION_MANAGER);
    StopReplicationManagerResponseProto {}
}

/// GetReplicationManagerStatus.
pub fn status(core: &Core) -> ReplicationManagerStatusResponseProto {
    let is_running = !core.services.is_paused(REPLICATION_MANAGER);
    ReplicationManagerStatusResponseProto { is_running }
}
