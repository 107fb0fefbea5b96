//! The deletion log: blocks to be deleted, until every replica has confirmed.

use std::collections::BTreeMap;

use proto::scm_datanode::DeletedBlocksTransaction;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use types::{ContainerId, DatanodeId, LocalId};

use crate::settings::DeletionSettings;
use crate::time::Millis;

/// Blocks of one container to be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// Its number.
    pub id: u64,
    /// The container.
    pub container: ContainerId,
    /// The blocks.
    pub blocks: Vec<LocalId>,
    /// Bytes of user data in the blocks, as reported by OM.
    pub size: u64,
    /// Bytes over all replicas.
    pub replicated_size: u64,
}

impl Transaction {
    /// The row of the `deletedBlocks` table, which is also what DataNodes are sent.
    pub fn to_wire(&self) -> DeletedBlocksTransaction {
        DeletedBlocksTransaction {
            tx_id: self.id.cast_signed(),
            container_id: self.container.to_wire(),
            local_id: self.blocks.iter().map(|b| b.to_wire()).collect(),
            count: Some(0),
            total_block_size: Some(self.size),
            total_block_replicated_size: Some(self.replicated_size),
            total_size_per_replica: Some(self.size),
            forgotten: None,
        }
    }

    /// From the row.
    pub fn from_wire(wire: &DeletedBlocksTransaction) -> Self {
        Self {
            id: wire.tx_id.cast_unsigned(),
            container: ContainerId::from_wire(wire.container_id),
            blocks: wire.local_id.iter().map(|b| LocalId::from_wire(*b)).collect(),
            size: wire.total_block_size(),
            replicated_size: wire.total_block_replicated_size(),
        }
    }
}

/// State of a transaction since the start.
#[derive(Debug, Clone, Default)]
struct Progress {
    acknowledged: SmallVec<[DatanodeId; 3]>,
    sent: SmallVec<[(DatanodeId, Millis); 3]>,
    retries: u32,
}

/// All transactions that wait for a replica.
#[derive(Debug, Default)]
pub struct DeletionLog {
    transactions: BTreeMap<u64, Transaction>,
    /// Number of transactions of each container that has any.
    by_container: FxHashMap<ContainerId, u64>,
    progress: FxHashMap<u64, Progress>,
    /// Start of the next round.
    cursor: u64,
    /// Sums over all transactions. The sizes come from OM's clients, each up to `u64::MAX`: the sum
    /// of the maximum number of them fits 128 bits, so that subtraction is exact.
    blocks: u128,
    size: u128,
    replicated_size: u128,
}

/// Size of the deletion backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Transactions.
    pub transactions: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of user data.
    pub size: u64,
    /// Bytes over all replicas.
    pub replicated_size: u64,
}

impl DeletionLog {
    /// The transaction of that number.
    pub fn get(&self, id: u64) -> Option<&Transaction> {
        self.transactions.get(&id)
    }

    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// The highest number of a transaction.
    pub fn newest(&self) -> Option<u64> {
        self.transactions.last_key_value().map(|(id, _)| *id)
    }

    /// Transactions from `start` on.
    pub fn from(&self, start: u64) -> impl Iterator<Item = &Transaction> {
        self.transactions.range(start..).map(|(_, t)| t)
    }

    /// Number of transactions of a container that wait for a replica.
    pub fn transactions_of(&self, container: ContainerId) -> u64 {
        self.by_container.get(&container).copied().unwrap_or(0)
    }

    /// Size of the deletion backlog.
    pub fn summary(&self) -> Summary {
        Summary {
            transactions: self.transactions.len() as u64,
            blocks: clamped(self.blocks),
            size: clamped(self.size),
            replicated_size: clamped(self.replicated_size),
        }
    }

    /// Up to `most` transactions from where the last round ended, the oldest after the newest; and
    /// whether these are all.
    pub(crate) fn portion(&self, most: usize) -> (Vec<u64>, bool) {
        let start = self.cursor;
        let order = self.transactions.range(start..).chain(self.transactions.range(..start));
        let ids: Vec<u64> = order.map(|(id, _)| *id).take(most).collect();
        let are_all = ids.len() == self.transactions.len();
        (ids, are_all)
    }

    /// The next round begins after this transaction.
    pub(crate) fn go_on_after(&mut self, id: u64) {
        self.cursor = id.saturating_add(1);
    }

    /// The nodes that have confirmed a transaction.
    pub(crate) fn acknowledged(&self, id: u64) -> &[DatanodeId] {
        self.progress.get(&id).map(|p| p.acknowledged.as_slice()).unwrap_or_default()
    }

    /// Nodes that need a transaction: those that have not confirmed it, and were not sent it within
    /// the resend time. `None` when it was put aside.
    pub(crate) fn due(
        &self,
        id: u64,
        settings: &DeletionSettings,
        now: Millis,
    ) -> Option<impl Fn(DatanodeId) -> bool> {
        let progress = self.progress.get(&id);
        if progress.is_some_and(|p| p.retries > settings.max_retries) {
            return None;
        }
        let resend_after = settings.resend_after;
        Some(move |node| {
            progress.is_none_or(|p| {
                let is_due = |at: Millis| now.saturating_sub(at) >= resend_after;
                !p.acknowledged.contains(&node)
                    && p.sent.iter().all(|(n, at)| *n != node || is_due(*at))
            })
        })
    }

    /// A node has confirmed a transaction.
    pub(crate) fn note_acknowledged(&mut self, id: u64, node: DatanodeId) {
        let acknowledged = &mut self.progress.entry(id).or_default().acknowledged;
        if !acknowledged.contains(&node) {
            acknowledged.push(node);
        }
    }

    /// A transaction is sent to these nodes in a round.
    pub(crate) fn note_sent(&mut self, id: u64, nodes: &[DatanodeId], now: Millis) {
        let progress = self.progress.entry(id).or_default();
        progress.retries = progress.retries.saturating_add(1);
        progress.sent.retain(|(n, _)| !nodes.contains(n));
        progress.sent.extend(nodes.iter().map(|node| (*node, now)));
    }

    /// Rounds in which a transaction was sent without being finished.
    pub fn retries(&self, id: u64) -> u32 {
        self.progress.get(&id).map_or(0, |p| p.retries)
    }

    /// Resets the retries of these transactions for an operator (all that were put aside if the
    /// list is empty); returns the number of those reset.
    pub fn reset_retries(&mut self, ids: &[u64], max_retries: u32) -> usize {
        let named = |id: &u64| ids.is_empty() || ids.contains(id);
        let failed =
            self.progress.iter_mut().filter(|(id, p)| named(id) && p.retries > max_retries);
        failed.map(|(_, p)| *p = Progress::default()).count()
    }

    /// A node may have restarted, and have lost the transactions sent to it: the next round sends
    /// them again without waiting for the response. That does no harm if they were applied.
    pub(crate) fn forget_sent_to(&mut self, node: DatanodeId) {
        self.progress.values_mut().for_each(|p| p.sent.retain(|(n, _)| *n != node));
    }

    /// Adds a transaction, new or loaded.
    pub fn insert(&mut self, t: Transaction) {
        let count = self.by_container.entry(t.container).or_default();
        *count = count.saturating_add(1);
        self.blocks = self.blocks.saturating_add(t.blocks.len() as u128);
        self.size = self.size.saturating_add(u128::from(t.size));
        self.replicated_size = self.replicated_size.saturating_add(u128::from(t.replicated_size));
        if let Some(old) = self.transactions.insert(t.id, t) {
            self.discount(&old);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) -> bool {
        self.progress.remove(&id);
        let Some(old) = self.transactions.remove(&id) else { return false };
        self.discount(&old);
        true
    }

    fn discount(&mut self, t: &Transaction) {
        if let Some(count) = self.by_container.get_mut(&t.container) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_container.remove(&t.container);
            }
        }
        self.blocks = self.blocks.saturating_sub(t.blocks.len() as u128);
        self.size = self.size.saturating_sub(u128::from(t.size));
        self.replicated_size = self.replicated_size.saturating_sub(u128::from(t.replicated_size));
    }
}

/// A sum as it is shown.
fn clamped(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}
