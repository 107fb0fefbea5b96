//! How much would be free if a snapshot went: what only that one shows.
//!
//! A version that is kept for snapshot S is shown by the snapshots of its bucket from its beginning
//! up to S. Sizes are added up by S and by the newest snapshot that does not show the version: S
//! alone shows what is added up with the snapshot before S, or with one between the two that has
//! gone meanwhile. So a sum need not change when a snapshot before S is deleted, as in ZFS's dead
//! lists.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, RepeatedKeyInfo, SnapshotInfo};

use super::rows::{self, GarbageKey};
use super::scope;
use crate::chain::Layer;
use crate::effect::Effect;
use crate::error::{OmError, ViewError};
use crate::row::Bucket;
use crate::tables::Table;
use crate::usage::replicated_size;
use crate::view::View;

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

    fn plus(self, other: Self) -> Self {
        Self {
            plain: self.plain.saturating_add(other.plain),
            replicated: self.replicated.saturating_add(other.replicated),
        }
    }

    fn encode(self) -> Vec<u8> {
        [self.plain.to_be_bytes(), self.replicated.to_be_bytes()].concat()
    }

    /// A damaged sum counts as none: it is for people to read.
    fn decode(value: &[u8]) -> Self {
        let number = |from: usize| {
            let bytes = value.get(from..from.saturating_add(8))?;
            bytes.try_into().ok().map(u64::from_be_bytes)
        };
        Self { plain: number(0).unwrap_or(0), replicated: number(8).unwrap_or(0) }
    }
}

/// What an entry adds to the sums: by the snapshot that a version is kept for, and the newest one
/// that does not show it, 0 where all do.
#[derive(Debug, Default)]
pub(crate) struct Added(BTreeMap<(u64, u64), Size>);

impl Added {
    /// A version is kept for snapshot `layer` of a bucket; `since` as in [`GarbageKey`].
    pub(crate) fn version(&mut self, layers: &[Layer], layer: u64, since: u64, of: &KeyInfo) {
        let older = layers.iter().rev().map(|layer| layer.index).find(|index| *index < since);
        let sum = self.0.entry((layer, older.unwrap_or(0))).or_default();
        *sum = sum.plus(Size::of(of));
    }

    /// A version has moved to snapshot `layer`.
    pub(crate) fn moved(
        &mut self,
        layers: &[Layer],
        key: &GarbageKey<'_>,
        value: &RepeatedKeyInfo,
    ) {
        for version in &value.key_info {
            self.version(layers, key.layer, key.since, version);
        }
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

/// The snapshots of a bucket: what each alone shows.
pub(crate) struct Alone {
    /// By the key of the snapshotInfoTable: the layer, and the active one before it.
    places: BTreeMap<Vec<u8>, (u64, u64)>,
}

impl Alone {
    /// Those of `bucket`.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn of(view: &dyn View, bucket: &Bucket) -> Result<Self, OmError> {
        let (chains, scope) = (view.snapshots()?, scope(view, bucket)?);
        let place = |layer: &Layer| {
            let before = chains.active_before(&scope, layer.index).map_or(0, |layer| layer.index);
            (layer.info_key.clone(), (layer.index, before))
        };
        Ok(Self { places: chains.of(&scope).iter().map(place).collect() })
    }

    /// Writes the sizes into what a client is told of the snapshot with that key.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn tell(
        &self,
        view: &dyn View,
        key: &[u8],
        info: &mut SnapshotInfo,
    ) -> Result<(), OmError> {
        let Some((layer, before)) = self.places.get(key) else { return Ok(()) };
        let start = [layer.to_be_bytes(), before.to_be_bytes()].concat();
        let (_, end) = rows::layer_range(*layer);
        let mut sum = Size::default();
        view.scan(Table::SnapshotUsageTable, &start, end.as_deref(), &mut |_, value| {
            sum = sum.plus(Size::decode(value));
            ControlFlow::Continue(())
        })?;
        info.exclusive_size = Some(sum.plain);
        info.exclusive_replicated_size = Some(sum.replicated);
        Ok(())
    }
}
