//! Sizes of versions that are kept for snapshots, added up by the snapshots that show them
//! (`layers/usage.rs` says what for).

use std::collections::BTreeMap;

use proto::ozone::KeyInfo;

use crate::error::ViewError;
use crate::state::chain::Layer;
use crate::state::effect::Effect;
use crate::state::usage::replicated_size;
use crate::state::view::View;
use crate::tables::Table;

/// Bytes of versions, plain and with all copies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub plain: u64,
    pub replicated: u64,
}

impl Size {
    fn of(version: &KeyInfo) -> Self {
        Self { plain: version.data_size, replicated: replicated_size(version) }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            plain: self.plain.saturating_add(other.plain),
            replicated: self.replicated.saturating_add(other.replicated),
        }
    }

    fn encode(self) -> Vec<u8> {
        [self.plain.to_be_bytes(), self.replicated.to_be_bytes()].concat()
    }

    /// A damaged sum counts as none: it is for people to read.
    pub(crate) fn decode(value: &[u8]) -> Self {
        let number = |from: usize| {
            let bytes = value.get(from..from.saturating_add(8))?;
            bytes.try_into().ok().map(u64::from_be_bytes)
        };
        Self { plain: number(0).unwrap_or(0), replicated: number(8).unwrap_or(0) }
    }
}

/// Sizes that an entry adds to the sums: by the snapshot for which a version is kept, and the
/// newest one that does not show it, 0 where all do.
#[derive(Debug, Default)]
pub(crate) struct Added(BTreeMap<(u64, u64), Size>);

impl Added {
    /// A version is kept for snapshot `layer` of a bucket with these snapshots; it has been the
    /// key's since entry `since`.
    pub(crate) fn version(&mut self, layers: &[Layer], layer: u64, since: u64, of: &KeyInfo) {
        let older = layers.iter().rev().map(|layer| layer.index).find(|index| *index < since);
        let sum = self.0.entry((layer, older.unwrap_or(0))).or_default();
        *sum = sum.plus(Size::of(of));
    }

    /// The rows to write.
    pub(crate) fn effects(self, view: &dyn View) -> Result<Vec<Effect>, ViewError> {
        let table = Table::SnapshotUsageTable;
        let mut effects = Vec::new();
        for ((layer, older), size) in self.0 {
            let key = [layer.to_be_bytes(), older.to_be_bytes()].concat();
            let before = view.get(table, &key)?.map(|value| Size::decode(&value));
            let value = before.unwrap_or_default().plus(size).encode().into();
            effects.push(Effect::Put { table, key, value });
        }
        Ok(effects)
    }
}
