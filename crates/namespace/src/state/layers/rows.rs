//! Keys and values of the tables that layers are in.

use bytes::Bytes;

use crate::tables::Table;

/// Kinds of a scope: rows named by names, or by ids.
pub(crate) const FLAT: u8 = b'k';
pub(crate) const TREE: u8 = b't';

/// The number of a table whose rows snapshots show, in the keys of layers.
pub(crate) const fn tag(table: Table) -> Option<u8> {
    match table {
        Table::KeyTable => Some(1),
        Table::FileTable => Some(2),
        Table::DirectoryTable => Some(3),
        _ => None,
    }
}

/// The table of a [`tag`].
pub(crate) const fn table(tag: u8) -> Option<Table> {
    match tag {
        1 => Some(Table::KeyTable),
        2 => Some(Table::FileTable),
        3 => Some(Table::DirectoryTable),
        _ => None,
    }
}

/// The scope of a row: its key up to the third slash.
pub(crate) fn scope_of(table: Table, key: &[u8]) -> Option<Vec<u8>> {
    let kind = match table {
        Table::KeyTable => FLAT,
        Table::FileTable | Table::DirectoryTable => TREE,
        _ => return None,
    };
    let mut slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let (third, _) = slashes.nth(2)?;
    Some([&[kind], key.get(..=third)?].concat())
}

/// Key of a layer's row: the table, the row's key so that order and ends stay, the index.
pub(crate) fn row_key(tag: u8, key: &[u8], index: u64) -> Vec<u8> {
    let mut row = row_prefix(tag, key);
    row.extend_from_slice(&index.to_be_bytes());
    row
}

/// Prefix of the keys of all layers' rows for one row.
pub(crate) fn row_prefix(tag: u8, key: &[u8]) -> Vec<u8> {
    let mut row = row_bound(tag, key);
    row.extend_from_slice(&[0, 1]);
    row
}

/// After the keys of all layers' rows for one row.
pub(crate) fn row_end(tag: u8, key: &[u8]) -> Vec<u8> {
    let mut row = row_bound(tag, key);
    row.extend_from_slice(&[0, 2]);
    row
}

/// Before the layers' rows of `key` and of all later keys, after those of all earlier keys.
pub(crate) fn row_bound(tag: u8, key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(key.len().saturating_add(12));
    row.push(tag);
    for byte in key {
        row.push(*byte);
        if *byte == 0 {
            row.push(u8::MAX);
        }
    }
    row
}

/// The row's key and the layer's index out of a [`row_key`] of that table.
pub(crate) fn split_row_key(row: &[u8]) -> Option<(Vec<u8>, u64)> {
    let (rest, index) = row.split_last_chunk::<8>()?;
    let (_, escaped) = rest.strip_suffix(&[0, 1])?.split_first()?;
    let mut key = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(byte) = bytes.next() {
        key.push(*byte);
        if *byte == 0 && bytes.next() != Some(&u8::MAX) {
            return None;
        }
    }
    Some((key, u64::from_be_bytes(*index)))
}

/// The value of a layer's row.
pub(crate) fn row_value(old: Option<&Bytes>) -> Bytes {
    match old {
        Some(old) => [&[1], old.as_ref()].concat().into(),
        None => Bytes::from_static(&[0]),
    }
}

/// Decodes a layer's row: the previous row, or its absence; `None` if it is neither.
pub(crate) fn split_row_value(value: &[u8]) -> Option<Option<&[u8]>> {
    match value.split_first()? {
        (0, []) => Some(None),
        (1, old) => Some(Some(old)),
        _ => None,
    }
}

/// The row of a key or file in a row of the snapshotRowTable, for tools: `None` if the row was a
/// directory's or none of ours, `Some(None)` if it did not exist.
pub fn kept_row<'a>(row: &[u8], value: &'a [u8]) -> Option<Option<&'a [u8]>> {
    match table(*row.first()?)? {
        Table::KeyTable | Table::FileTable => split_row_value(value),
        _ => None,
    }
}

/// A row that a layer has something of.
pub(crate) fn change_key(index: u64, tag: u8, key: &[u8]) -> Vec<u8> {
    [index.to_be_bytes().as_slice(), &[tag], key].concat()
}

/// Index, tag and row out of a [`change_key`].
pub(crate) fn split_change_key(change: &[u8]) -> Option<(u64, u8, &[u8])> {
    let (index, rest) = change.split_first_chunk::<8>()?;
    let (tag, key) = rest.split_first()?;
    Some((u64::from_be_bytes(*index), *tag, key))
}

/// A version of a key that is kept for a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GarbageKey<'a> {
    /// Index of the snapshot that it is kept for.
    pub layer: u64,
    /// The entry since which it has been the key's.
    pub since: u64,
    /// The entry that discarded it, and its number among the versions discarded by that entry at
    /// `row`.
    pub entry: u64,
    pub number: u32,
    /// Its row in the deletedTable, if it moves there.
    pub row: &'a [u8],
}

impl<'a> GarbageKey<'a> {
    pub fn encode(&self) -> Vec<u8> {
        [
            self.layer.to_be_bytes().as_slice(),
            &self.since.to_be_bytes(),
            &self.entry.to_be_bytes(),
            &self.number.to_be_bytes(),
            self.row,
        ]
        .concat()
    }

    pub fn decode(key: &'a [u8]) -> Option<Self> {
        let (layer, key) = key.split_first_chunk::<8>()?;
        let (since, key) = key.split_first_chunk::<8>()?;
        let (entry, key) = key.split_first_chunk::<8>()?;
        let (number, row) = key.split_first_chunk::<4>()?;
        Some(Self {
            layer: u64::from_be_bytes(*layer),
            since: u64::from_be_bytes(*since),
            entry: u64::from_be_bytes(*entry),
            number: u32::from_be_bytes(*number),
            row,
        })
    }
}

/// From where to where the rows of a layer are, in the tables that begin with its index.
pub(crate) fn layer_range(index: u64) -> (Vec<u8>, Option<Vec<u8>>) {
    let end = index.checked_add(1).map(|end| end.to_be_bytes().to_vec());
    (index.to_be_bytes().to_vec(), end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_of_layers_are_in_the_order_of_rows(
            a in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..6),
            b in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..6),
            i: u64, j: u64,
        ) {
            let (x, y) = (row_key(1, &a, i), row_key(1, &b, j));
            prop_assert_eq!((a.as_slice(), i).cmp(&(b.as_slice(), j)), x.cmp(&y));
            prop_assert_eq!(split_row_key(&x), Some((a.clone(), i)));
            prop_assert_eq!(a >= b, x >= row_bound(1, &b));
            prop_assert!(x < row_end(1, &a) && x >= row_prefix(1, &a));
        }

        #[test]
        fn other_keys_round_trip(row: Vec<u8>, layer: u64, since: u64, entry: u64, number: u32) {
            let key = GarbageKey { layer, since, entry, number, row: &row };
            let encoded = key.encode();
            prop_assert_eq!(GarbageKey::decode(&encoded), Some(key));
            let change = change_key(layer, 2, &row);
            prop_assert_eq!(split_change_key(&change), Some((layer, 2, &*row)));
        }
    }

    #[test]
    fn a_scope_is_what_the_rows_of_a_bucket_begin_with() {
        let flat = scope_of(Table::KeyTable, b"/vol/bucket/a/b").unwrap();
        assert_eq!(flat, b"k/vol/bucket/");
        assert_eq!(scope_of(Table::FileTable, b"/-1/2/3/f").unwrap(), b"t/-1/2/");
        assert_eq!(scope_of(Table::KeyTable, b"/vol/bucket"), None);
        assert_eq!(scope_of(Table::VolumeTable, b"/vol/bucket/a"), None);
    }
}
