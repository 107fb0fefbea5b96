//! Obstacles of the deletion log.

use std::collections::BTreeMap;

use types::{ContainerId, DatanodeId};

use super::Summary;
use crate::container::Holders;
use crate::settings::DeletionSettings;
use crate::state::deletion::DeletionLog;

/// Transactions that a node has not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unconfirmed {
    /// Transactions.
    pub transactions: u64,
    /// Blocks in them.
    pub blocks: u64,
}

/// The transaction that waits longest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oldest {
    /// Its number.
    pub id: u64,
    /// Its container.
    pub container: ContainerId,
    /// Rounds in which it was sent.
    pub retries: u32,
    /// True if it is not sent any more, after too many retries.
    pub put_aside: bool,
    /// Nodes with a replica that have not confirmed it.
    pub waits_for: Vec<DatanodeId>,
    /// Nodes that have.
    pub confirmed: usize,
    /// Nodes that must.
    pub required: usize,
}

/// Progress of the deletion log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogStatus {
    /// All of it.
    pub summary: Summary,
    /// The transaction that waits longest.
    pub oldest: Option<Oldest>,
    /// Unconfirmed transactions of each node, among those that were checked.
    pub nodes: BTreeMap<DatanodeId, Unconfirmed>,
    /// True if not all transactions were checked.
    pub more: bool,
}

/// Progress of the deletion log; at most `limit` transactions are checked, the oldest first.
pub(crate) fn status(
    log: &DeletionLog,
    holders: Holders<'_>,
    settings: &DeletionSettings,
    limit: usize,
) -> LogStatus {
    let mut nodes: BTreeMap<DatanodeId, Unconfirmed> = BTreeMap::new();
    for t in log.from(0).take(limit) {
        let blocks = u64::try_from(t.blocks.len()).unwrap_or(u64::MAX);
        for node in unconfirmed(log, holders, t.id, t.container) {
            let sum = nodes.entry(node).or_default();
            sum.transactions = sum.transactions.saturating_add(1);
            sum.blocks = sum.blocks.saturating_add(blocks);
        }
    }
    let oldest = log.from(0).next().map(|t| {
        let retries = log.retries(t.id);
        let required = holders.containers.get(t.container).map_or(0, |c| c.config.required_nodes());
        Oldest {
            id: t.id,
            container: t.container,
            retries,
            put_aside: retries > settings.max_retries,
            waits_for: unconfirmed(log, holders, t.id, t.container),
            confirmed: log.acknowledged(t.id).len(),
            required: required as usize,
        }
    });
    let more = log.len() > limit;
    LogStatus { summary: log.summary(), oldest, nodes, more }
}

/// Nodes with a replica of the container that have not confirmed the transaction.
fn unconfirmed(
    log: &DeletionLog,
    holders: Holders<'_>,
    id: u64,
    container: ContainerId,
) -> Vec<DatanodeId> {
    let mut nodes = holders.of(container);
    let acknowledged = log.acknowledged(id);
    nodes.retain(|node| !acknowledged.contains(node));
    nodes
}
