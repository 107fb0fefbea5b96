//! Values that clients put into the lists of a Raft group: each value once, so that lost, duplicate
//! and late ones are detected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use anyhow::ensure;

/// Values that were sent, and those that were acknowledged. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<Sent>>);

#[derive(Debug, Default)]
struct Sent {
    /// The number of the last value.
    last: u64,
    /// By list, in the order in which they were acknowledged.
    acknowledged: BTreeMap<u64, Vec<String>>,
    /// Values without an answer: each may be there once, or not.
    open: BTreeSet<String>,
}

impl Ledger {
    /// A new value, which is to be sent now.
    pub fn next(&self) -> String {
        let mut sent = self.0.lock();
        sent.last += 1;
        let value = sent.last.to_string();
        sent.open.insert(value.clone());
        value
    }

    /// A value of a list was acknowledged. A list has one writing client at a time, or its
    /// acknowledgements have no order.
    pub fn acknowledge(&self, list: u64, value: String) {
        let mut sent = self.0.lock();
        sent.open.remove(&value);
        sent.acknowledged.entry(list).or_default().push(value);
    }

    /// The value of a list that was acknowledged last.
    pub fn newest(&self, list: u64) -> Option<String> {
        self.0.lock().acknowledged.get(&list).and_then(|of| of.last().cloned())
    }

    /// Number of acknowledged values of a list.
    pub fn count(&self, list: u64) -> usize {
        self.0.lock().acknowledged.get(&list).map_or(0, Vec::len)
    }

    /// Checks that lists, as a replica holds them, have all acknowledged values in their order, and
    /// none twice.
    ///
    /// # Errors
    /// Values that are lost, duplicate, out of order or were never sent.
    pub fn judge(&self, lists: &BTreeMap<u64, Vec<String>>) -> anyhow::Result<()> {
        let sent = self.0.lock();
        let none = Vec::new();
        for list in lists.keys().chain(sent.acknowledged.keys()) {
            let held = lists.get(list).unwrap_or(&none);
            let acknowledged = sent.acknowledged.get(list).unwrap_or(&none);
            let mut seen = BTreeSet::new();
            for value in held {
                ensure!(seen.insert(value), "list {list} has {value} twice: {held:?}");
                let is_known = acknowledged.contains(value) || sent.open.contains(value);
                ensure!(is_known, "list {list} has {value}, which is none of it: {held:?}");
            }
            let there: Vec<_> = held.iter().filter(|value| acknowledged.contains(value)).collect();
            ensure!(
                there.iter().copied().eq(acknowledged),
                "list {list} has {there:?}, acknowledged numbers are {acknowledged:?}"
            );
        }
        Ok(())
    }
}

/// The lists in a replica's dump: the position, then a line for each list.
pub fn lists(dump: &str) -> BTreeMap<u64, Vec<String>> {
    let line = |line: &str| {
        let (list, values) = line.split_once(' ')?;
        Some((list.parse().ok()?, values.split(',').map(str::to_owned).collect()))
    };
    dump.lines().skip(1).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let ledger = Ledger::default();
        for _ in 0..3 {
            let value = ledger.next();
            ledger.acknowledge(7, value);
        }
        ledger.next();
        ledger
    }

    #[test]
    fn what_was_acknowledged_must_be_there_once_and_in_order() {
        let ledger = ledger();
        assert_eq!((ledger.newest(7).as_deref(), ledger.count(7)), (Some("3"), 3));
        for good in ["7 1,2,3", "7 1,2,3,4", "7 1,4,2,3"] {
            ledger.judge(&lists(&format!("1 1\n{good}\n"))).unwrap();
        }
        for (bad, why) in [
            ("7 1,3", "acknowledged numbers are"),
            ("7 1,2", "acknowledged numbers are"),
            ("", "acknowledged numbers are"),
            ("7 2,1,3", "acknowledged numbers are"),
            ("7 1,2,3,1", "1 twice"),
            ("7 1,2,3,4,4", "4 twice"),
            ("7 1,2,3,5", "none of it"),
            ("7 1,2,3\n8 3", "none of it"),
        ] {
            let error = ledger.judge(&lists(&format!("1 1\n{bad}\n"))).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
