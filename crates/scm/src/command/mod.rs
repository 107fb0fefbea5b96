//! Commands for DataNodes, queued until a heartbeat of the node fetches them.
//!
//! A node keeps one heartbeat waiting here; a command that is queued answers it at once. Commands
//! are repeated by the rules as long as they show no effect, so a queue that is lost, or an answer
//! that never arrives, costs time only.

mod copies;
mod wire;

pub use copies::Copies;
pub use wire::{CommandIds, reregister, to_wire};

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use placement::{Order, OrderKind};
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use types::DatanodeId;

/// Commands queued for one node at most. Beyond it new ones are dropped, to be decided again later.
const QUEUE_LIMIT: usize = 10_000;

/// Commands in one answer at most.
const ANSWER_LIMIT: usize = 1_000;

/// Transactions in one delete command at most, so that a node works and confirms in pieces.
const DELETIONS_PER_COMMAND: usize = 200;

/// Time for which a heartbeat without reports waits for commands.
pub const LONG_POLL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
struct NodeQueue {
    orders: Mutex<VecDeque<OrderKind>>,
    changed: Notify,
    /// Counts waiting heartbeats: only the newest one is served.
    waiting: AtomicU64,
}

/// The queues of all nodes.
#[derive(Default)]
pub struct Commands {
    queues: RwLock<FxHashMap<DatanodeId, Arc<NodeQueue>>>,
    dropped: AtomicU64,
}

impl Commands {
    /// Queues orders; one that is queued already is not queued twice.
    pub fn push(&self, orders: Vec<Order>) {
        for order in orders {
            let queue = self.queue(order.node);
            for kind in split(order.kind) {
                let mut orders = queue.orders.lock();
                if orders.len() >= QUEUE_LIMIT {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(node = %order.node, ?kind, "command queue is full, command dropped");
                } else if !orders.contains(&kind) {
                    tracing::debug!(node = %order.node, ?kind, "command queued");
                    orders.push_back(kind);
                }
            }
            queue.changed.notify_waiters();
        }
    }

    /// Removes what is queued for a node, and returns it.
    pub fn drain(&self, node: DatanodeId) -> Vec<OrderKind> {
        let Some(queue) = self.queues.read().get(&node).cloned() else { return Vec::new() };
        drain_queue(&queue)
    }

    /// Waits until something is queued for the node, the hold time is over, or a newer waiting
    /// heartbeat of the node arrives.
    pub async fn wait(&self, node: DatanodeId, hold: Duration) -> Vec<OrderKind> {
        let queue = self.queue(node);
        let mine = queue.waiting.fetch_add(1, Ordering::SeqCst) + 1;
        queue.changed.notify_waiters();
        let deadline = tokio::time::sleep(hold);
        tokio::pin!(deadline);
        loop {
            let changed = queue.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no command queued in between is missed.
            changed.as_mut().enable();
            if queue.waiting.load(Ordering::SeqCst) != mine {
                return Vec::new();
            }
            let orders = drain_queue(&queue);
            if !orders.is_empty() {
                return orders;
            }
            tokio::select! {
                () = changed => {}
                () = &mut deadline => return Vec::new(),
            }
        }
    }

    /// Drops the queued commands of a node that restarts. A waiting heartbeat belongs to its
    /// previous process or session, which executes nothing any more: it gets no orders.
    pub fn clear(&self, node: DatanodeId) {
        let queue = self.queue(node);
        queue.orders.lock().clear();
        queue.waiting.fetch_add(1, Ordering::SeqCst);
        queue.changed.notify_waiters();
    }

    /// Forgets what is queued for all nodes.
    pub fn clear_all(&self) {
        self.queues.read().values().for_each(|queue| queue.orders.lock().clear());
    }

    /// Commands queued over all nodes.
    pub fn len(&self) -> usize {
        self.queues.read().values().map(|q| q.orders.lock().len()).sum()
    }

    /// Commands dropped because a queue was full.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn queue(&self, node: DatanodeId) -> Arc<NodeQueue> {
        if let Some(queue) = self.queues.read().get(&node) {
            return queue.clone();
        }
        self.queues.write().entry(node).or_default().clone()
    }
}

fn drain_queue(queue: &NodeQueue) -> Vec<OrderKind> {
    let mut orders = queue.orders.lock();
    let count = orders.len().min(ANSWER_LIMIT);
    orders.drain(..count).collect()
}

fn split(kind: OrderKind) -> Vec<OrderKind> {
    match kind {
        OrderKind::DeleteBlocks(ids) if ids.len() > DELETIONS_PER_COMMAND => {
            ids.chunks(DELETIONS_PER_COMMAND).map(|c| OrderKind::DeleteBlocks(c.to_vec())).collect()
        }
        kind => vec![kind],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::PipelineId;

    fn order(node: DatanodeId, id: PipelineId) -> Vec<Order> {
        vec![Order { node, kind: OrderKind::CreatePipeline(id) }]
    }

    #[tokio::test]
    async fn a_waiting_heartbeat_is_answered_by_the_next_command() {
        let commands = Arc::new(Commands::default());
        let (node, id) = (DatanodeId::random(), PipelineId::random());
        let waiting = tokio::spawn({
            let commands = commands.clone();
            async move { commands.wait(node, Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        commands.push(order(node, id));
        assert_eq!(waiting.await.unwrap(), [OrderKind::CreatePipeline(id)]);
        assert_eq!(commands.len(), 0);
    }

    #[tokio::test]
    async fn a_newer_waiting_heartbeat_takes_the_place_of_the_older() {
        let commands = Arc::new(Commands::default());
        let node = DatanodeId::random();
        let wait = |commands: Arc<Commands>| {
            tokio::spawn(async move { commands.wait(node, Duration::from_secs(60)).await })
        };
        let older = wait(commands.clone());
        tokio::task::yield_now().await;
        let newer = wait(commands.clone());
        assert_eq!(older.await.unwrap(), []);
        let id = PipelineId::random();
        commands.push(order(node, id));
        assert_eq!(newer.await.unwrap(), [OrderKind::CreatePipeline(id)]);
    }

    #[tokio::test]
    async fn a_heartbeat_of_before_a_registration_takes_no_commands_of_behind_it() {
        let commands = Arc::new(Commands::default());
        let (node, id) = (DatanodeId::random(), PipelineId::random());
        let wait = |commands: Arc<Commands>| {
            tokio::spawn(async move { commands.wait(node, Duration::from_secs(60)).await })
        };
        let older = wait(commands.clone());
        tokio::task::yield_now().await;
        commands.clear(node);
        commands.push(order(node, id));
        assert_eq!(older.await.unwrap(), []);
        assert_eq!(wait(commands.clone()).await.unwrap(), [OrderKind::CreatePipeline(id)]);
    }

    #[test]
    fn a_command_is_queued_once_and_long_deletions_in_pieces() {
        let commands = Commands::default();
        let (node, id) = (DatanodeId::random(), PipelineId::random());
        commands.push(order(node, id));
        commands.push(order(node, id));
        assert_eq!(commands.drain(node).len(), 1);
        let ids: Vec<u64> = (0..DELETIONS_PER_COMMAND as u64 * 2 + 1).collect();
        commands.push(vec![Order { node, kind: OrderKind::DeleteBlocks(ids) }]);
        assert_eq!(commands.drain(node).len(), 3);
    }
}
