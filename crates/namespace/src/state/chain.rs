//! The snapshots: for each bucket a chain of layers, the oldest first. Rows of the
//! trioxideSnapshotTable, which views cache decoded.

use std::collections::BTreeMap;

/// A snapshot as its bucket's changes see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Index of the log entry that made the snapshot.
    pub index: u64,
    /// True if clients can read it: false for a deleted snapshot.
    pub active: bool,
    /// The snapshot's UUID.
    pub id: [u8; 16],
    /// Key of its row in the snapshotInfoTable.
    pub info_key: Vec<u8>,
}

const ACTIVE: u8 = 1;
const DELETED: u8 = 2;

impl Layer {
    /// Row key of its bucket.
    pub(crate) fn bucket_key(&self) -> Option<&[u8]> {
        let last = self.info_key.iter().rposition(|byte| *byte == b'/')?;
        self.info_key.get(..last)
    }

    pub(crate) fn value(&self) -> Vec<u8> {
        let state = if self.active { ACTIVE } else { DELETED };
        [&[state], self.id.as_slice(), &self.info_key].concat()
    }

    /// Never fails: a damaged row is an active snapshot without a name, which keeps the versions it
    /// may show and is never found by a request.
    fn decode(index: u64, value: &[u8]) -> Self {
        let state = value.first().copied().unwrap_or(ACTIVE);
        let id = value.get(1..17).and_then(|id| id.try_into().ok()).unwrap_or_default();
        let info_key = value.get(17..).unwrap_or_default().to_vec();
        Self { index, active: state != DELETED, id, info_key }
    }
}

/// The snapshots of all buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chains {
    scopes: BTreeMap<Vec<u8>, Vec<Layer>>,
    count: usize,
}

impl Chains {
    /// Returns `true` if no bucket has a snapshot.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Snapshots of all buckets, deleted ones that are not taken apart yet included.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The newest snapshot of all buckets.
    pub(crate) fn newest(&self) -> Option<&Layer> {
        self.scopes.values().filter_map(|layers| layers.last()).max_by_key(|layer| layer.index)
    }

    /// The snapshots of a bucket, the oldest first.
    pub fn of(&self, scope: &[u8]) -> &[Layer] {
        self.scopes.get(scope).map_or(&[], Vec::as_slice)
    }

    /// All snapshots, by bucket.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &Layer)> {
        self.scopes
            .iter()
            .flat_map(|(scope, layers)| layers.iter().map(move |layer| (scope.as_slice(), layer)))
    }

    /// The newest snapshot of a bucket that is not deleted.
    pub(crate) fn newest_active(&self, scope: &[u8]) -> Option<&Layer> {
        self.of(scope).iter().rev().find(|layer| layer.active)
    }

    /// The newest snapshot of a bucket before entry `index` that is not deleted.
    pub(crate) fn active_before(&self, scope: &[u8], index: u64) -> Option<&Layer> {
        self.of(scope).iter().rev().find(|layer| layer.active && layer.index < index)
    }

    /// A row of the trioxideSnapshotTable has this value from now on. A key without an index is no
    /// snapshot's.
    pub fn change(&mut self, key: &[u8], value: Option<&[u8]>) {
        let Some((scope, index)) = split(key) else { return };
        let layers = self.scopes.entry(scope.to_vec()).or_default();
        match (layers.binary_search_by_key(&index, |layer| layer.index), value) {
            (Ok(at), Some(value)) => {
                if let Some(layer) = layers.get_mut(at) {
                    *layer = Layer::decode(index, value);
                }
            }
            (Ok(at), None) => {
                layers.remove(at);
                self.count = self.count.saturating_sub(1);
            }
            (Err(at), Some(value)) => {
                layers.insert(at, Layer::decode(index, value));
                self.count = self.count.saturating_add(1);
            }
            (Err(_), None) => {}
        }
        if layers.is_empty() {
            self.scopes.remove(scope);
        }
    }
}

/// Key of a layer's row.
pub(crate) fn key(scope: &[u8], index: u64) -> Vec<u8> {
    [scope, &index.to_be_bytes()].concat()
}

fn split(key: &[u8]) -> Option<(&[u8], u64)> {
    let (scope, index) = key.split_last_chunk::<8>()?;
    Some((scope, u64::from_be_bytes(*index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(index: u64, active: bool) -> Layer {
        Layer { index, active, id: [7; 16], info_key: b"/vol/bucket/s".to_vec() }
    }

    #[test]
    fn chains_follow_their_rows() {
        let mut chains = Chains::default();
        for index in [9, 5, 12] {
            chains.change(&key(b"k/v/b/", index), Some(&layer(index, true).value()));
        }
        chains.change(&key(b"k/v/c/", 20), Some(&layer(20, true).value()));
        assert_eq!(chains.len(), 4);
        assert_eq!(chains.of(b"k/v/b/"), [layer(5, true), layer(9, true), layer(12, true)]);
        assert_eq!(chains.newest().map(|l| l.index), Some(20));
        chains.change(&key(b"k/v/b/", 12), Some(&layer(12, false).value()));
        assert_eq!(chains.newest_active(b"k/v/b/").map(|l| l.index), Some(9));
        assert_eq!(chains.active_before(b"k/v/b/", 9).map(|l| l.index), Some(5));
        for index in [5, 9, 12, 12] {
            chains.change(&key(b"k/v/b/", index), None);
        }
        assert_eq!((chains.len(), chains.of(b"k/v/b/")), (1, [].as_slice()));
    }

    #[test]
    fn a_damaged_row_is_an_active_snapshot() {
        let mut chains = Chains::default();
        chains.change(b"short", Some(b""));
        assert!(chains.is_empty());
        chains.change(&key(b"k/v/b/", 5), Some(b""));
        assert!(chains.newest_active(b"k/v/b/").is_some());
    }
}
