//! One stripe: its cells are read, missing ones are decoded, and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use erasure::{Codec, ReplicaIndex};
use futures::future::join_all;
use parking_lot::Mutex;
use proto::datanode::ChecksumData;
use scheduling::in_background;
use types::ContainerId;

use super::error::ReconstructError;
use super::plan::{Plan, Row};
use super::source::Source;
use crate::repair::replica_source::{Size, SourceError};

/// Cells up to this size are decoded where they are needed; others on another core.
const DECODED_INLINE: u64 = 64 << 10;

/// Sources of stripes, and the wanted indexes.
pub(super) struct Sources {
    pub container: ContainerId,
    pub codec: Codec,
    /// By their places.
    pub all: Vec<Arc<Source>>,
    /// The indexes that are rebuilt, in the order of the targets.
    pub wanted: Vec<ReplicaIndex>,
    /// Places of those whose replicas are UNHEALTHY.
    damaged: BTreeSet<usize>,
    /// Reasons why sources failed, by their places.
    failed: Mutex<BTreeMap<usize, String>>,
    /// Longest wait of reads for clients, in ms.
    pub patience_ms: AtomicU64,
}

/// A cell that was rebuilt.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Its bytes; none when its replica ends before the stripe.
    pub bytes: Bytes,
    /// Their checksums.
    pub sums: ChecksumData,
}

/// The cells of a stripe that were rebuilt, in the order of the wanted indexes.
#[derive(Debug, Clone)]
pub(super) enum Stripe {
    /// All of them.
    Cells(Vec<Cell>),
    /// The block was deleted meanwhile.
    Gone,
}

impl Sources {
    /// Creates it of these sources, without wanted indexes.
    pub fn new(container: ContainerId, codec: Codec, all: Vec<Arc<Source>>) -> Self {
        let damaged = BTreeSet::new();
        let (wanted, failed) = (Vec::new(), Mutex::default());
        Self {
            container,
            codec,
            all,
            wanted,
            damaged,
            failed,
            patience_ms: AtomicU64::new(u64::MAX),
        }
    }

    /// Drops sources whose replicas are not CLOSED. UNHEALTHY ones stay if there are too few
    /// others: each byte that is read from one has its checksum, or is not used.
    ///
    /// # Errors
    /// When too few remain.
    pub fn admit(&mut self, sizes: &[(usize, Size)]) -> Result<(), ReconstructError> {
        let closed = sizes.iter().filter(|(_, size)| size.is_closed).count();
        let is_enough = closed >= self.codec.scheme().data();
        for (place, size) in sizes.iter().filter(|(_, size)| !size.is_closed) {
            match size.is_damaged && !is_enough {
                true => _ = self.damaged.insert(*place),
                false => self.fail(*place, &SourceError::NotClosed)?,
            }
        }
        Ok(())
    }

    /// Sources that may have a block which they do not list: those that failed, and those whose
    /// replicas are UNHEALTHY.
    pub fn doubtful(&self, listed: &[usize]) -> usize {
        let failed = self.failed.lock();
        let is_doubtful = |place: &usize| {
            failed.contains_key(place) || (self.damaged.contains(place) && !listed.contains(place))
        };
        (0..self.all.len()).filter(is_doubtful).count()
    }

    /// Drops a source that failed.
    ///
    /// # Errors
    /// When too few remain.
    pub fn fail(&self, place: usize, error: &SourceError) -> Result<(), ReconstructError> {
        let mut failed = self.failed.lock();
        if let Some(source) = self.all.get(place) {
            let reason = format!("index {} on {}: {error}", source.index, source.node());
            tracing::warn!(container = %self.container, reason, "a source of a reconstruction failed");
            failed.entry(place).or_insert(reason);
        }
        let (left, needed) = (self.all.len() - failed.len(), self.codec.scheme().data());
        if left >= needed {
            return Ok(());
        }
        let reasons = failed.values().cloned().collect::<Vec<_>>().join("; ");
        Err(ReconstructError::Sources { container: self.container, left, needed, reasons })
    }

    /// Those that have not failed, with their places.
    pub fn left(&self) -> Vec<(usize, Arc<Source>)> {
        let failed = self.failed.lock();
        let all = self.all.iter().cloned().enumerate();
        all.filter(|(place, _)| !failed.contains_key(place)).collect()
    }

    /// Returns `true` if a source has not failed.
    fn is_left(&self, place: usize) -> bool {
        !self.failed.lock().contains_key(&place)
    }

    /// Rebuilds the wanted cells of a stripe.
    ///
    /// # Errors
    /// When too few sources can be read, or decoded bytes differ from the writer's.
    pub async fn rebuild(&self, plan: &Plan, stripe: u64) -> Result<Stripe, ReconstructError> {
        let lengths = plan.group.stripe(stripe)?;
        let needed = self.codec.scheme().data();
        // First those that have nothing but padding; then each block begins with another source.
        let shift = usize::try_from(plan.local.0 % self.all.len().max(1) as u64).unwrap_or(0);
        let mut order: Vec<&Row> = plan.rows.iter().collect();
        let shift = shift.min(order.len());
        order.rotate_left(shift);
        order.sort_by_key(|row| !lengths.is_padding(row.index));
        let mut there: BTreeMap<usize, Bytes> = BTreeMap::new();
        let mut failed: BTreeMap<usize, SourceError> = BTreeMap::new();
        let chosen = loop {
            let usable = |row: &&&Row| !failed.contains_key(&row.place) && self.is_left(row.place);
            // One more than needed verifies the decoded bytes.
            let chosen: Vec<&Row> = order.iter().filter(usable).take(needed + 1).copied().collect();
            if chosen.len() < needed {
                return self.too_few(plan, chosen.len(), &failed);
            }
            let missing = chosen.iter().filter(|row| !there.contains_key(&row.place));
            let read = join_all(missing.map(|row| self.read(plan, stripe, row))).await;
            if read.is_empty() {
                break chosen;
            }
            for (place, outcome) in read {
                match outcome {
                    Ok(bytes) => {
                        there.insert(place, bytes);
                    }
                    Err(error) => {
                        if error.is_of_the_node() {
                            self.fail(place, &error)?;
                        }
                        failed.insert(place, error);
                    }
                }
            }
        };
        let available: Vec<ReplicaIndex> = chosen.iter().map(|row| row.index).collect();
        let cells: Vec<Bytes> =
            chosen.iter().map(|row| there.get(&row.place).cloned().unwrap_or_default()).collect();
        let decoder = self.codec.decoder(&available, &self.wanted)?;
        let longest = self.codec.scheme().replicas().map(|index| lengths.of(index)).max();
        let wanted = self.wanted.clone();
        let work = move || {
            let length = |index: &ReplicaIndex| usize::try_from(lengths.of(*index)).unwrap_or(0);
            let mut decoded: Vec<Vec<u8>> =
                wanted.iter().map(|index| vec![0; length(index)]).collect();
            let mut out: Vec<&mut [u8]> = decoded.iter_mut().map(Vec::as_mut_slice).collect();
            let cells: Vec<&[u8]> = cells.iter().map(AsRef::as_ref).collect();
            match decoder.survivors().is_empty() {
                true => decoder.decode(&lengths, &cells, &mut out)?,
                false => decoder.decode_checked(&lengths, &cells, &mut out)?,
            }
            Ok::<_, erasure::Error>(decoded)
        };
        let decoded = match longest.unwrap_or(0) {
            small if small <= DECODED_INLINE => work(),
            _ => tokio::task::spawn_blocking(|| in_background(work)).await?,
        };
        let wrong = |reason| ReconstructError::Wrong { local: plan.local, stripe, reason };
        let decoded = decoded.map_err(|error| wrong(error.to_string()))?;
        let cell = |(index, bytes): (&ReplicaIndex, Vec<u8>)| {
            let sums =
                plan.check(stripe, *index, &bytes).map_err(|error| wrong(error.to_string()))?;
            Ok::<_, ReconstructError>(Cell { bytes: bytes.into(), sums })
        };
        let cells = self.wanted.iter().zip(decoded).map(cell).collect::<Result<_, _>>()?;
        Ok(Stripe::Cells(cells))
    }

    /// Reads the cell of one source.
    async fn read(
        &self,
        plan: &Plan,
        stripe: u64,
        row: &Row,
    ) -> (usize, Result<Bytes, SourceError>) {
        let chunk = usize::try_from(stripe).ok().and_then(|at| row.chunks.get(at));
        let bytes = match (chunk, self.all.get(row.place)) {
            (Some(chunk), Some(source)) => {
                source.read(plan.local, chunk, self.patience_ms.load(Ordering::Relaxed)).await
            }
            // It ends before.
            _ => Ok(Bytes::new()),
        };
        (row.place, bytes)
    }

    fn too_few(
        &self,
        plan: &Plan,
        left: usize,
        failed: &BTreeMap<usize, SourceError>,
    ) -> Result<Stripe, ReconstructError> {
        if !failed.is_empty() && failed.values().all(SourceError::is_gone) {
            return Ok(Stripe::Gone);
        }
        let reasons: Vec<_> = failed
            .iter()
            .filter_map(|(place, error)| Some((self.all.get(*place)?, error)))
            .map(|(source, error)| format!("index {}: {error}", source.index))
            .collect();
        let needed = self.codec.scheme().data();
        let reason = format!("{left} of {needed} sources can be read: {}", reasons.join("; "));
        Err(ReconstructError::Block { local: plan.local, reason })
    }
}
