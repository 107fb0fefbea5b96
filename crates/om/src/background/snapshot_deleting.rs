//! Takes deleted snapshots apart: rows they kept move to the snapshot before them, or are removed
//! permanently.
//!
//! The work is done in small batches, each a write like any other. The service stores its position
//! in a layer: passed rows are tombstones in the store for a while, and no new row enters the layer
//! of a deleted snapshot. At the end a last batch without a position ensures that nothing is left.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use namespace::{Layer, Table, View};
use parking_lot::Mutex;
use prost::Message;
use proto::ozone::{OmRequest, SnapshotInfo, SnapshotPurgeRequest, Type};
use service::Progress;

use super::submit::submit;
use super::while_leading::LeaderWork;
use super::{BackgroundError, DeletedRows, DeletingOptions};
use crate::dispatch::Dispatcher;
use crate::state::Tables;

/// Name in lists and metrics, Ozone's.
pub(crate) const NAME: &str = "SnapshotDeletingService";
/// Rows in one batch; clients' writes may have to wait for it.
const PORTION: u32 = 500;

/// Takes deleted snapshots apart.
pub(crate) struct SnapshotDeletingService {
    dispatcher: Arc<Dispatcher>,
    options: DeletingOptions,
    /// Time for which a deleted snapshot is kept for its readers.
    keep: Duration,
    deleted_rows: DeletedRows,
    at: Mutex<Option<Position>>,
    /// Time since which this leader has each deleted snapshot in its list.
    known: Mutex<BTreeMap<u64, Instant>>,
}

/// Position in a layer.
#[derive(Debug, Default, Clone)]
struct Position {
    layer: u64,
    /// In the trioxideSnapshotChangeTable; empty at the start.
    change: Vec<u8>,
    /// In the trioxideSnapshotGarbageTable; empty at the start.
    garbage: Vec<u8>,
}

impl SnapshotDeletingService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: DeletingOptions,
        deleted_rows: DeletedRows,
    ) -> Arc<Self> {
        let keep = dispatcher.parts().keep_deleted;
        let (at, known) = (Mutex::default(), Mutex::default());
        Arc::new(Self { dispatcher, options, keep, deleted_rows, at, known })
    }

    /// The oldest deleted snapshot, if its deletion is long enough ago. No newer one before it: the
    /// older one may show the same purged rows, and its readers are to have their time, too.
    fn next(&self) -> Result<Option<Layer>, BackgroundError> {
        let snapshots = self.dispatcher.tables()?.snapshots()?;
        let deleted = snapshots.all().map(|(_, layer)| layer).filter(|layer| !layer.active);
        let deleted: Vec<_> = deleted.cloned().collect();
        let due = due(&mut self.known.lock(), &deleted, self.keep, Instant::now());
        Ok(first(deleted, &due))
    }

    async fn purge(&self, layer: &Layer, at: &Position) -> Result<(), BackgroundError> {
        let place = |place: &[u8]| (!place.is_empty()).then(|| place.to_vec().into());
        let purge = SnapshotPurgeRequest {
            snapshot_db_keys: vec![String::from_utf8_lossy(&layer.info_key).into_owned()],
            rows: Some(PORTION),
            from_change: place(&at.change),
            from_garbage: place(&at.garbage),
            ..SnapshotPurgeRequest::default()
        };
        let request = OmRequest {
            cmd_type: Type::SnapshotPurge as i32,
            client_id: NAME.to_owned(),
            snapshot_purge_request: Some(Box::new(purge)),
            ..OmRequest::default()
        };
        let _deleted_rows = self.deleted_rows.lock().await;
        submit(&self.dispatcher, request).await
    }

    async fn take_apart(&self) -> Result<Progress, BackgroundError> {
        // Taken, so that a failed run makes the next one start from the beginning.
        let kept = self.at.lock().take();
        let mut at = kept.unwrap_or_default();
        let mut items = 0;
        while items < self.options.limit {
            let Some(layer) = self.next()? else { return Ok(Progress::done(items as u64)) };
            if at.layer != layer.index {
                at = Position { layer: layer.index, ..Position::default() };
            }
            let (found, next) = portion(&*self.dispatcher.tables()?, &at)?;
            if found == 0 {
                at = Position { layer: layer.index, ..Position::default() };
            }
            self.purge(&layer, &at).await?;
            items += found.max(1);
            if found > 0 {
                at = next;
            }
        }
        *self.at.lock() = Some(at);
        Ok(Progress::more(items as u64))
    }
}

/// The deleted snapshots that have been in the list for at least `keep`.
fn due(
    known: &mut BTreeMap<u64, Instant>,
    deleted: &[Layer],
    keep: Duration,
    now: Instant,
) -> Vec<u64> {
    let since = |layer: &Layer| (layer.index, known.get(&layer.index).copied().unwrap_or(now));
    *known = deleted.iter().map(since).collect();
    let old = |since: &Instant| now.saturating_duration_since(*since) >= keep;
    known.iter().filter(|(_, since)| old(since)).map(|(index, _)| *index).collect()
}

/// The oldest of these layers, if it is due.
fn first(deleted: Vec<Layer>, due: &[u64]) -> Option<Layer> {
    let oldest = deleted.into_iter().min_by_key(|layer| layer.index);
    oldest.filter(|layer| due.contains(&layer.index))
}

/// Number of rows in the next batch, and the start of the one after it.
fn portion(tables: &Tables, at: &Position) -> Result<(usize, Position), BackgroundError> {
    let mut next = at.clone();
    let most = PORTION as usize;
    let changes =
        rows(tables, Table::SnapshotChangeTable, at.layer, &at.change, most, &mut next.change)?;
    let most = most.saturating_sub(changes);
    let garbage =
        rows(tables, Table::SnapshotGarbageTable, at.layer, &at.garbage, most, &mut next.garbage)?;
    Ok((changes + garbage, next))
}

fn rows(
    tables: &Tables,
    table: Table,
    layer: u64,
    from: &[u8],
    most: usize,
    next: &mut Vec<u8>,
) -> Result<usize, BackgroundError> {
    let first = layer.to_be_bytes();
    let start = if from.is_empty() { first.as_slice() } else { from };
    let end = layer.checked_add(1).map(u64::to_be_bytes);
    let mut found = 0;
    tables.scan(table, start, end.as_ref().map(<[u8; 8]>::as_slice), &mut |key, _| {
        if found == most {
            return ControlFlow::Break(());
        }
        found += 1;
        // Directly after the row.
        *next = [key, b"\0"].concat();
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Number of rows of the snapshotInfoTable that do not decode. Their snapshots are in no list, and
/// can be neither read nor deleted by name; they affect no other one.
fn damaged(tables: &Tables) -> Result<u64, BackgroundError> {
    let mut damaged = 0;
    tables.scan(Table::SnapshotInfoTable, b"", None, &mut |key, value| {
        if let Err(e) = SnapshotInfo::decode(value) {
            let row = String::from_utf8_lossy(key);
            tracing::warn!("skipping damaged row of the snapshotInfoTable: row {row}: {e}");
            damaged += 1;
        }
        ControlFlow::Continue(())
    })?;
    Ok(damaged)
}

#[async_trait::async_trait]
impl LeaderWork for SnapshotDeletingService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        let skipped = damaged(&*self.dispatcher.tables()?)?;
        Ok(self.take_apart().await?.and_skipped(skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_snapshot_is_taken_apart_before_an_older_one() {
        let layer = |index| Layer { index, active: false, id: [0; 16], info_key: Vec::new() };
        let next = |due: &[u64]| first(vec![layer(7), layer(3)], due).map(|layer| layer.index);
        assert_eq!([next(&[7]), next(&[3]), next(&[3, 7])], [None, Some(3), Some(3)]);
        assert!(first(Vec::new(), &[]).is_none());
    }

    #[test]
    fn a_deleted_snapshot_is_left_alone_for_a_while() {
        let layer = |index| Layer { index, active: false, id: [0; 16], info_key: Vec::new() };
        let (mut known, began) = (BTreeMap::new(), Instant::now());
        let mut due = |deleted: &[u64], seconds| {
            let deleted: Vec<_> = deleted.iter().map(|index| layer(*index)).collect();
            let now = began + Duration::from_secs(seconds);
            due(&mut known, &deleted, Duration::from_secs(30), now)
        };
        assert!(due(&[7], 0).is_empty() && due(&[3, 7], 10).is_empty());
        assert!(due(&[3, 7], 29).is_empty());
        assert_eq!(due(&[3, 7], 30), [7]);
        assert_eq!(due(&[3, 7], 40), [3, 7]);
        assert_eq!(due(&[3], 41), [3]);
        assert!(due(&[3, 7], 42) == [3], "one that went and came was not known");
    }
}
