//! Background scans: damage is found while other replicas are good, reported immediately, and
//! replaced by SCM in its next round.
//!
//! * [`metadata`]: the parts of containers, all of them at intervals;
//! * [`data`]: the bytes of closed containers, a service for each disk;
//! * [`on_demand`]: the bytes of a container after a failed read;
//! * [`pace`]: their share of a disk, and their pauses for others.
//!
//! [`containerstore::scan`] describes the checks, and what counts as damage.

mod data;
mod metadata;
mod on_demand;
mod pace;

use std::sync::Arc;

use service::Progress;
use types::ContainerId;

use crate::clock::{Clock, SystemClock};
use crate::daemon::Daemon;
use crate::node::Node;
use crate::service_names;
use containerstore::{ScanKind, StorageError, Verdict};

/// Starts the services of a DataNode whose disks are open.
pub(crate) fn spawn(daemon: &Daemon, node: &Arc<Node>) {
    if !node.settings.scans.enabled {
        tracing::warn!("containers are not scanned: hdds.container.scrub.enabled is false");
        return;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    daemon.services.spawn(Arc::new(metadata::MetadataScanner::new(node, clock.clone())));
    daemon.services.spawn(Arc::new(on_demand::OnDemandScanner::new(node, clock.clone())));
    for (index, disk) in node.store.disks().iter().enumerate() {
        let scanner = data::DataScanner::new(node, disk, index, clock.clone());
        daemon.services.spawn(Arc::new(scanner));
    }
}

/// Bytes per second that the scan of closed containers may read of a disk now.
pub(crate) fn data_rate(node: &Node) -> u64 {
    node.settings.scans.data_rate.at(SystemClock.hour())
}

/// Acts on the result of a scan.
fn follow(
    node: &Node,
    id: ContainerId,
    kind: ScanKind,
    outcome: Result<Verdict, StorageError>,
) -> Result<Verdict, Progress> {
    match &outcome {
        Ok(Verdict::Damaged(reason)) => {
            tracing::error!(container = %id, scan = kind.name(), reason, "damaged replica found");
            node.pending_reports.container_changed(id);
        }
        Ok(Verdict::DiskGone(reason)) => {
            tracing::error!(container = %id, reason, "disk of a replica is missing");
            node.services.wake(service_names::DISK_CHECK);
        }
        Ok(Verdict::Sound | Verdict::Moot) => {}
        Err(error) => tracing::error!(container = %id, %error, "cannot scan a replica"),
    }
    outcome.map_err(|error| Progress::failed(format!("container {id}: {error}")))
}
