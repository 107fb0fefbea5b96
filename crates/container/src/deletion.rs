//! Pending work of a deletion transaction.
//!
//! SCM sends blocks to delete in transactions, each at least once and in any order. A replica keeps
//! a transaction until its blocks are deleted, works in batches, and must tolerate duplicates and
//! crashes.

use proto::scm_datanode::DeletedBlocksTransaction;
use types::{ContainerId, LocalId};

/// An invalid transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeletionError {
    /// SCM numbers transactions from 1.
    #[error("deletion transaction has number {0}")]
    BadNumber(i64),
    /// Container ids are positive.
    #[error("deletion transaction {tx} names container {container}")]
    BadContainer {
        /// Transaction number.
        tx: i64,
        /// The container in the transaction.
        container: i64,
    },
}

/// One batch of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    /// Transactions that this batch completes, by their position in the given list.
    pub finished: Vec<usize>,
    /// Blocks to delete, each once, in ascending order.
    pub blocks: Vec<LocalId>,
    /// Number of blocks of the first transaction that are done after this batch, if it does not
    /// complete it.
    pub part: Option<usize>,
}

/// Checks a transaction from SCM.
///
/// # Errors
/// If a number is invalid.
pub fn check(tx: &DeletedBlocksTransaction) -> Result<ContainerId, DeletionError> {
    if tx.tx_id <= 0 {
        return Err(DeletionError::BadNumber(tx.tx_id));
    }
    if tx.container_id <= 0 {
        return Err(DeletionError::BadContainer { tx: tx.tx_id, container: tx.container_id });
    }
    Ok(ContainerId::from_wire(tx.container_id))
}

/// The complete transactions, in order, that fit into `limit` blocks; of a first one that is
/// larger, that number of blocks. Earlier batches contain the first `done` blocks of the first one.
pub fn next_portion(pending: &[DeletedBlocksTransaction], done: usize, limit: usize) -> Portion {
    let mut portion = Portion { finished: Vec::new(), blocks: Vec::new(), part: None };
    let block = |id: &i64| LocalId::from_wire(*id);
    for (i, tx) in pending.iter().enumerate() {
        let before = if i == 0 { done } else { 0 };
        let left = tx.local_id.get(before..).unwrap_or_default();
        let room = limit.max(1).saturating_sub(portion.blocks.len());
        if left.len() > room {
            if i == 0 {
                portion.blocks.extend(left.iter().take(room).map(block));
                portion.part = Some(before.saturating_add(room));
            }
            break;
        }
        portion.finished.push(i);
        portion.blocks.extend(left.iter().map(block));
    }
    portion.blocks.sort_unstable();
    portion.blocks.dedup();
    portion
}

/// The highest transaction up to which the container has received all, after receiving `tx`: the
/// number reported to SCM. A container that missed a transaction which SCM has removed stays below
/// it.
pub fn highest(so_far: u64, tx: &DeletedBlocksTransaction) -> u64 {
    if tx.forgotten() > so_far {
        return so_far;
    }
    so_far.max(u64::try_from(tx.tx_id).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tx(id: i64, blocks: &[i64]) -> DeletedBlocksTransaction {
        DeletedBlocksTransaction {
            tx_id: id,
            container_id: 1,
            local_id: blocks.to_vec(),
            ..Default::default()
        }
    }

    #[test]
    fn portions_are_whole_transactions_within_the_limit() {
        let pending = [tx(1, &[5, 3]), tx(2, &[3, 4]), tx(3, &[9])];
        let portion = next_portion(&pending, 0, 4);
        assert_eq!(portion.finished, [0, 1]);
        assert_eq!(
            (portion.blocks, portion.part),
            (vec![LocalId(3), LocalId(4), LocalId(5)], None)
        );
    }

    #[test]
    fn a_transaction_larger_than_the_limit_is_done_in_parts() {
        let pending = [tx(1, &[5, 4, 3, 2, 1]), tx(2, &[6]), tx(3, &[7])];
        let (mut done, mut parts) = (0, Vec::new());
        loop {
            let portion = next_portion(&pending, done, 2);
            parts.push((portion.blocks, portion.finished));
            let Some(part) = portion.part else { break };
            done = part;
        }
        let ids = |ids: &[u64]| ids.iter().map(|id| LocalId(*id)).collect::<Vec<_>>();
        let nothing = Vec::new;
        assert_eq!(
            parts,
            [(ids(&[4, 5]), nothing()), (ids(&[2, 3]), nothing()), (ids(&[1, 6]), vec![0, 1])]
        );
        // Positions beyond the end, or an absurd limit, cause no long loop.
        assert_eq!(next_portion(&pending, 99, 0).finished, [0, 1]);
        assert_eq!(next_portion(&pending, 0, 0).part, Some(1));
    }

    #[test]
    fn the_highest_transaction_never_falls() {
        assert_eq!(highest(7, &tx(3, &[])), 7);
        assert_eq!(highest(7, &tx(9, &[])), 9);
    }

    #[test]
    fn one_that_missed_a_transaction_that_is_forgotten_stays_behind_it() {
        let after = |forgotten| DeletedBlocksTransaction { forgotten, ..tx(9, &[]) };
        assert_eq!(highest(7, &after(Some(7))), 9);
        assert_eq!(highest(7, &after(Some(8))), 7);
        assert_eq!(highest(0, &after(Some(u64::MAX))), 0);
        assert_eq!(highest(0, &after(None)), 9);
    }

    #[test]
    fn transactions_that_cannot_be_are_refused() {
        assert_eq!(check(&tx(0, &[])), Err(DeletionError::BadNumber(0)));
        let mut bad = tx(1, &[]);
        bad.container_id = -4;
        assert_eq!(check(&bad), Err(DeletionError::BadContainer { tx: 1, container: -4 }));
    }
}
