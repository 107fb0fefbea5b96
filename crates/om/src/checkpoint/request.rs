//! Contents of a request for a copy.

use std::collections::BTreeSet;

/// Names of files that the reader has already.
const EXCLUDED: [&str; 3] = ["toExcludeSST", "toExcludeSST[]", "toExcludeList[]"];

/// Contents of a request for a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CheckpointRequest {
    /// Files that are not to be sent: the reader has them from an earlier copy.
    pub(super) excluded: BTreeSet<String>,
}

impl CheckpointRequest {
    /// Adds a parameter of a query or a form. Ozone's other parameters change nothing here: tables
    /// are always flushed before a copy (`flushBeforeCheckpoint`), and snapshots have no files of
    /// their own (`includeSnapshotData`).
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if EXCLUDED.contains(&name) {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
            self.excluded.extend(names.map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_left_out_under_every_name_of_the_parameter() {
        let mut wish = CheckpointRequest::default();
        wish.add("flushBeforeCheckpoint", "true");
        wish.add("toExcludeSST", "1.sst, 2.sst");
        wish.add("toExcludeSST[]", "3.sst");
        wish.add("toExcludeList[]", "4.sst");
        let expected = ["1.sst", "2.sst", "3.sst", "4.sst"].map(str::to_owned);
        assert_eq!(wish.excluded, BTreeSet::from(expected));
    }
}
