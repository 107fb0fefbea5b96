//! OM hands over blocks of deleted keys; they become transactions, one per container.

use std::collections::BTreeMap;

use types::{ContainerId, LocalId};

use super::Transaction;
use crate::state::sequence::{Sequence, Sequences};

/// Blocks in one transaction at most: what a DataNode deletes, and confirms, as one.
const MAX_BLOCKS: usize = 1_000;

/// A block that no key refers to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedBlock {
    /// Its container.
    pub container: ContainerId,
    /// Its number.
    pub local: LocalId,
    /// Bytes of user data in it, 0 when OM does not send it.
    pub size: u64,
    /// Bytes over all replicas, 0 when OM does not send it.
    pub replicated_size: u64,
}

/// A transaction without a number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft(Transaction);

impl Draft {
    /// Groups blocks by container.
    pub fn group(blocks: &[DeletedBlock]) -> Vec<Self> {
        let mut open: BTreeMap<ContainerId, Transaction> = BTreeMap::new();
        let mut drafts = Vec::new();
        for block in blocks {
            let container = block.container;
            let t = open
                .entry(container)
                .or_insert_with(|| Transaction { container, ..Transaction::default() });
            t.blocks.push(block.local);
            t.size = t.size.saturating_add(block.size);
            t.replicated_size = t.replicated_size.saturating_add(block.replicated_size);
            if t.blocks.len() >= MAX_BLOCKS {
                drafts.extend(open.remove(&container).map(Draft));
            }
        }
        drafts.extend(open.into_values().map(Draft));
        drafts
    }
}

/// Numbers the drafts; `None` when the leader has not reserved enough numbers.
pub(crate) fn number(sequences: &mut Sequences, drafts: &[Draft]) -> Option<Vec<Transaction>> {
    let ids = sequences.allocate(Sequence::DelTxnId, drafts.len() as u64)?;
    Some(drafts.iter().zip(ids).map(|(d, id)| Transaction { id, ..d.0.clone() }).collect())
}
