//! A ReplicateContainerCommand whose target is this node: the replica belongs on a disk of another
//! storage type, and moves there.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use tokio::time::Instant;
use types::{ContainerId, StorageType};

use super::{CommandError, Order};
use crate::node::Node;
use crate::repair::pace::{RepairPace, Schedule};
use containerstore::Passage;

/// Moves a replica to a disk of that type with space. It is there, durable, when this returns; the
/// disk balancer's service removes its source.
///
/// # Errors
/// When no disk of the type has space, or the replica cannot be moved now.
pub(super) async fn relocate(
    node: &Node,
    id: ContainerId,
    storage_type: StorageType,
    order: &Order,
) -> Result<(), CommandError> {
    let container = node.store.container(id)?;
    if container.disk().storage_type() == storage_type {
        return Ok(());
    }
    let _slot = node.pusher.slot().await?;
    let bytes = container.info().used;
    let to = node.store.choose_disk(&[storage_type], bytes)?;
    let schedule = Schedule::new(Instant::now(), order.left(), bytes);
    let passage = Paced { pace: &node.pace, schedule, passed: AtomicU64::default() };
    let moved = node.store.relocate(id, &to, &passage).await?;
    tracing::info!(
        container = %id, disk = to.id(), %storage_type, blocks = moved.blocks, bytes = moved.bytes,
        "container moved to a disk of its storage type"
    );
    Ok(())
}

/// Throttles the bytes of a move to the pace of repairs.
struct Paced<'a> {
    pace: &'a RepairPace,
    schedule: Schedule,
    passed: AtomicU64,
}

#[async_trait]
impl Passage for Paced<'_> {
    async fn pass(&self, bytes: u64) -> bool {
        let passed = self.passed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.pace.send(bytes, self.schedule.patience(passed, Instant::now())).await;
        true
    }
}
