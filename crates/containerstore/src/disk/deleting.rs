//! Containers with deletion transactions to carry out.

use std::collections::BTreeMap;

use types::ContainerId;

/// Containers of a disk that have such transactions, each with the number of the first one that may
/// exist. Transactions are deleted from the front: without it each search for the remaining ones
/// would pass RocksDB's tombstones of all earlier rows.
#[derive(Debug, Default)]
pub(crate) struct Deleting(BTreeMap<ContainerId, u64>);

/// The first one is unknown. Rows are in the order of their numbers without a sign.
pub(crate) const ANY_TRANSACTION: i64 = 0;

impl Deleting {
    /// A container has transactions from this number on.
    pub(crate) fn add(&mut self, id: ContainerId, first: i64) {
        let first = first.cast_unsigned();
        let known = self.0.entry(id).or_insert(first);
        *known = first.min(*known);
    }

    /// The first transaction that may be there.
    pub(crate) fn first_of(&self, id: ContainerId) -> i64 {
        self.0.get(&id).map_or(ANY_TRANSACTION, |first| first.cast_signed())
    }

    /// There is none in front of this one.
    pub(crate) fn begins_at(&mut self, id: ContainerId, first: i64) {
        self.0.insert(id, first.cast_unsigned());
    }

    /// A container has none.
    pub(crate) fn remove(&mut self, id: ContainerId) {
        self.0.remove(&id);
    }

    /// The containers.
    pub(crate) fn containers(&self) -> Vec<ContainerId> {
        self.0.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_comes_late_is_not_passed_over() {
        let (mut deleting, id) = (Deleting::default(), ContainerId(7));
        assert_eq!(deleting.first_of(id), ANY_TRANSACTION);
        deleting.add(id, 5);
        deleting.begins_at(id, 9);
        assert_eq!(deleting.first_of(id), 9);
        deleting.add(id, 12);
        assert_eq!(deleting.first_of(id), 9);
        deleting.add(id, 3);
        assert_eq!(deleting.first_of(id), 3, "SCM sent it once more");
        deleting.add(id, -1);
        assert_eq!(deleting.first_of(id), 3, "its row is behind all others");
        deleting.remove(id);
        assert!(deleting.containers().is_empty());
    }
}
