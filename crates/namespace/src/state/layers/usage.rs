//! Space that the deletion of a snapshot would free: versions that only that one shows.
//!
//! A version that is kept for snapshot S is shown by the snapshots of its bucket from its beginning
//! up to S. Sizes are added up by S and by the newest snapshot that does not show the version: only
//! S shows the versions added up with the snapshot before S, or with one between the two that was
//! deleted meanwhile. So a sum need not change when a snapshot before S is deleted, as in ZFS's
//! dead lists.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proto::ozone::SnapshotInfo;

use super::{rows, scope};
use crate::error::OmError;
use crate::state::chain::Layer;
use crate::state::row::Bucket;
use crate::state::snapshot_usage::Size;
use crate::state::view::View;
use crate::tables::Table;

/// The snapshots of a bucket, with the space that each alone shows.
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

    /// Writes the sizes into the description of the snapshot with that key for a client.
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
