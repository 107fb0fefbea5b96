//! Progress of deletions on this DataNode: `o3 admin deletion status`.

use std::sync::Arc;
use std::time::Duration;

use proto::deletion_status::{DeletionStage, DeletionStatusResponse};

use crate::daemon::Daemon;
use crate::node::Node;
use crate::service_names::BLOCK_DELETING;
use containerstore::StorageError;

/// Transactions of a disk that are counted.
const COUNTED: u64 = 100_000;
/// Timeout of a disk.
const DISK_TIME: Duration = Duration::from_secs(2);

/// Returns the pending deletions ordered by SCM. Before the disks are open the answer is empty.
///
/// # Errors
/// When a disk cannot be read.
pub(crate) async fn status(daemon: &Daemon) -> Result<DeletionStatusResponse, StorageError> {
    let stages = match daemon.node() {
        Some(node) => vec![stage(daemon, node).await?],
        None => Vec::new(),
    };
    Ok(DeletionStatusResponse {
        role: "datanode".to_owned(),
        node_id: daemon.identity.lock().details().id.to_string(),
        active: true,
        stages,
        nodes: Vec::new(),
        nodes_more: None,
    })
}

async fn stage(daemon: &Daemon, node: &Arc<Node>) -> Result<DeletionStage, StorageError> {
    let (pending, silent) = node.store.pending_deletions(COUNTED, DISK_TIME).await?;
    let age = pending.oldest.map(|(tx, _)| node.store.deletion_ages().of(tx));
    let service = pending.oldest.map(|_| daemon.services.waits_for(BLOCK_DELETING));
    let waits_for =
        silent.map(|disk| format!("disk {}, which does not respond", disk.display())).or(service);
    Ok(DeletionStage {
        table: "delete_txns".to_owned(),
        rows: pending.transactions,
        blocks: pending.blocks,
        bytes: pending.bytes,
        more: pending.more,
        oldest: pending.oldest.map(|(tx, id)| format!("transaction {tx} of container {id}")),
        oldest_age_ms: age.map(|age| u64::try_from(age.at_least.as_millis()).unwrap_or(u64::MAX)),
        oldest_since_start: age.is_some_and(|age| age.since_start),
        waits_for,
    })
}
