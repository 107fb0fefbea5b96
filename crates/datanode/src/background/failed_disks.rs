//! Handling of failed disks and Raft logs: their pipelines stop here and are reported, their
//! replicas are reported missing, and SCM replaces both. A DataNode without enough disks exits.

use std::path::Path;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashSet;
use tokio::sync::Notify;

use crate::daemon::Daemon;
use crate::node::Node;
use containerstore::Disk;

/// Disks and logs whose failure was dealt with, by the disks' ids.
#[derive(Default)]
struct Seen {
    disks: FxHashSet<String>,
    logs: FxHashSet<String>,
}

/// Deals with failures from now on, until the DataNode stops.
pub(crate) fn watch(daemon: &Arc<Daemon>, node: &Arc<Node>) {
    let (wake, errors) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    for disk in node.store.disks() {
        let (wake, errors) = (wake.clone(), errors.clone());
        disk.io().watch(Arc::new(move |trouble| match trouble {
            blockio::Trouble::Failed(_) => wake.notify_one(),
            blockio::Trouble::Error(_) => errors.notify_one(),
        }));
    }
    for log in node.pipelines.logs().values() {
        let (failed, wake, shutdown) = (log.failed(), wake.clone(), daemon.shutdown.clone());
        tokio::spawn(async move {
            if shutdown.until(failed).await.is_some() {
                wake.notify_one();
            }
        });
    }
    let (weak, shutdown) = (Arc::downgrade(daemon), daemon.shutdown.clone());
    let services = daemon.services.clone();
    let check = async move {
        loop {
            errors.notified().await;
            services.wake(crate::service_names::DISK_CHECK);
        }
    };
    let stopping = shutdown.clone();
    tokio::spawn(async move { stopping.until(check).await });
    // Logs that did not open count from the start, and disks that failed with them are removed
    // before the first report: it would contain their replicas.
    let mut seen = Seen::default();
    check_disks(node, &mut seen);
    wake.notify_one();
    let node = Arc::downgrade(node);
    tokio::spawn(async move { shutdown.until(run(weak, node, &wake, seen)).await });
}

async fn run(daemon: Weak<Daemon>, node: Weak<Node>, wake: &Notify, mut seen: Seen) {
    loop {
        wake.notified().await;
        let (Some(daemon), Some(node)) = (daemon.upgrade(), node.upgrade()) else { return };
        check_disks(&node, &mut seen);
        if let Some(reason) = too_few(&daemon, &node) {
            daemon.fail(reason);
        }
    }
}

fn check_disks(node: &Node, seen: &mut Seen) {
    for disk in node.store.disks() {
        let log = node.pipelines.logs().get(disk.id());
        if let Some(reason) = log.and_then(multiraft::LogHandle::failure)
            && seen.logs.insert(disk.id().to_owned())
        {
            tracing::error!(disk = disk.id(), dir = %disk.raft_dir().display(), reason, "raft log failed");
            if shares_device(disk) {
                disk.io().fail("write the raft log", disk.raft_dir(), reason.as_str());
            } else {
                node.pipelines.abandon(disk, &reason);
            }
        }
        if let Some(reason) = disk.failure()
            && seen.disks.insert(disk.id().to_owned())
        {
            leave(node, disk, &reason);
        }
    }
}

/// Drops a disk.
fn leave(node: &Node, disk: &Disk, reason: &str) {
    // The pipelines first: entries that the disk would store must not get this node's vote any
    // more.
    node.pipelines.abandon(disk, reason);
    let left = node.store.leave(disk);
    tracing::error!(
        disk = disk.id(), path = %disk.path().display(), containers = left.len(), reason,
        "disk failed; reporting its replicas as missing"
    );
    left.into_iter().for_each(|id| node.pending_reports.container_changed(id));
}

/// Returns `true` if a disk's Raft log is on the device of its data.
pub(crate) fn shares_device(disk: &Disk) -> bool {
    disk.path().parent().is_some_and(|dir: &Path| disk.raft_dir().starts_with(dir))
}

/// Returns the reason why the DataNode cannot continue with the remaining disks, if so.
fn too_few(daemon: &Daemon, node: &Node) -> Option<String> {
    let settings = &daemon.settings;
    let (disks, unopened) = (node.store.disks(), node.store.unopened().len());
    let all = disks.len() + unopened;
    let bad = unopened + disks.iter().filter(|disk| disk.failure().is_some()).count();
    let data = settings.tolerated.data.exceeded(bad, all);
    let no_log = |disk: &&Arc<Disk>| {
        !node.pipelines.logs().contains_key(disk.id()) || node.pipelines.failure(disk).is_some()
    };
    let bad = unopened + disks.iter().filter(no_log).count();
    let logs = settings.tolerated.metadata.exceeded(bad, all);
    data.map(|why| format!("data directories: {why}"))
        .or_else(|| logs.map(|why| format!("raft log directories: {why}")))
}
