//! Reads of a part of one stripe of a block group.
//!
//! The data replicas that have the bytes are read. Bytes of a replica that failed or is late are
//! decoded from any d replicas; received bytes are never read again.
//!
//! **Invariants.** Bytes of a replica are used, and decoded from, only once their checksums are
//! verified. Decoded bytes are compared with the stripe checksum that their writer stored on the
//! other replicas, if it stored one.

use std::ops::Range;

use bytes::Bytes;
use erasure::layout::CellPart;
use erasure::{CellLengths, Codec, ReplicaIndex};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use proto::datanode::ChecksumData;
use tokio::time::Instant;

use super::block::BlockReader;
use super::extents::{self, Extents};
use super::group::GroupRef;
use super::plan::slice_of;
use crate::{Error, Result};

/// Maximum number of bytes that are decoded in place; more are decoded on another core.
const DECODED_INLINE: u64 = 64 << 10;

/// A read of a part of a stripe. Received bytes are kept for the next attempt after a failure.
pub(super) struct StripeRead<'g> {
    group: &'g GroupRef,
    /// The requested parts, in order, within one stripe.
    parts: Vec<CellPart>,
    /// Start of the stripe, and its maximum end, in every replica.
    cell: Range<u64>,
    /// Bytes covered by one checksum, once a replica has returned it.
    slice: u64,
    /// In the order of replica indexes.
    replicas: Vec<Replica>,
}

/// State of one replica.
#[derive(Default)]
struct Replica {
    there: Extents,
    /// Requested parts without a response.
    asked: Vec<Range<u64>>,
    /// It is late.
    late: bool,
    error: Option<Error>,
}

impl<'g> StripeRead<'g> {
    /// Starts a read of `range` of the group, which is within one stripe.
    pub(super) fn new(group: &'g GroupRef, range: Range<u64>) -> Result<Self> {
        let layout = group.layout;
        let invalid = |e: erasure::Error| Error::Usage(format!("block {}: {e}", group.id));
        let stripe = layout.scheme().locate(range.start).stripe;
        let chunk = u64::from(layout.scheme().chunk_size());
        let start = stripe.saturating_mul(chunk);
        let cell = start..start.saturating_add(chunk).min(layout.longest_replica());
        Ok(Self {
            group,
            parts: layout.cells(range).map_err(invalid)?.collect(),
            cell,
            slice: 1,
            replicas: layout.scheme().replicas().map(|_| Replica::default()).collect(),
        })
    }

    /// Returns the bytes, in pieces.
    pub(super) async fn read(&mut self, reader: &BlockReader) -> Result<Vec<Bytes>> {
        for replica in &mut self.replicas {
            replica.asked.clear();
            replica.late = false;
            replica.error = None;
        }
        let outcome = self.gather(reader).await;
        for (position, replica) in self.replicas.iter().enumerate() {
            if replica.error.is_some() || replica.late {
                self.group.avoid(position);
            }
        }
        outcome?;
        self.parts
            .iter()
            .map(|part| {
                let (position, range) = place(part);
                let bytes = self.replicas.get(position).and_then(|r| r.there.get(range));
                bytes.ok_or_else(|| Error::Usage("a part of a stripe was not read".to_owned()))
            })
            .collect()
    }

    /// Reads until everything requested has arrived.
    async fn gather(&mut self, reader: &BlockReader) -> Result<()> {
        let group = self.group;
        let mut fetches = FuturesUnordered::new();
        let mut late_at = None;
        loop {
            let missing = self.missing();
            if missing.is_empty() {
                return Ok(());
            }
            let lost = self.lost(&missing);
            if !lost.is_empty()
                && let Some(sources) = self.sources(self.span(&missing, &lost))
            {
                self.decode(self.span(&missing, &lost), sources, &lost, reader.verify).await?;
                continue;
            }
            let mut longest = 0;
            for (position, range) in self.plan(&missing, &lost) {
                longest = longest.max(range.end - range.start);
                if let Some(replica) = self.replicas.get_mut(position) {
                    replica.asked.push(range.clone());
                }
                fetches.push(async move {
                    let outcome = group.fetch(reader, position, range.clone()).await;
                    (position, range, outcome)
                });
            }
            if longest > 0 && late_at.is_none() {
                late_at = Some(Instant::now() + reader.late_after(longest));
            }
            let answer = match late_at {
                Some(at) => tokio::time::timeout_at(at, fetches.next()).await,
                None => Ok(fetches.next().await),
            };
            match answer {
                Ok(Some((position, range, outcome))) => self.accept(position, &range, outcome),
                Ok(None) => return Err(self.too_few(&missing, &lost)),
                Err(_) => {
                    late_at = None;
                    for replica in self.replicas.iter_mut().filter(|r| !r.asked.is_empty()) {
                        replica.late = true;
                    }
                }
            }
        }
    }

    fn accept(&mut self, position: usize, range: &Range<u64>, outcome: Result<Vec<(u64, Bytes)>>) {
        let chunk = self.group.chunk_at(position, self.cell.start);
        self.slice = chunk.map_or(self.slice, slice_of);
        let Some(replica) = self.replicas.get_mut(position) else { return };
        replica.asked.retain(|asked| asked != range);
        replica.late &= !replica.asked.is_empty();
        match outcome {
            Ok(pieces) => {
                pieces.into_iter().for_each(|(start, bytes)| replica.there.insert(start, bytes));
            }
            Err(error) => {
                let (block, index) = (self.group.id, position + 1);
                tracing::debug!(%block, index, %error, "replica failed");
                replica.error = Some(error);
            }
        }
    }

    /// The missing parts: positions of replicas and parts of their blocks.
    fn missing(&self) -> Vec<(usize, Range<u64>)> {
        let wanted = self.parts.iter().map(place);
        wanted
            .filter(|(position, range)| {
                self.replicas.get(*position).is_none_or(|r| !r.there.cover(range.clone()))
            })
            .collect()
    }

    /// The replicas among the `missing` ones that are not waited for.
    fn lost(&self, missing: &[(usize, Range<u64>)]) -> Vec<usize> {
        let is_lost = |position: &usize| !self.is_good(*position);
        missing.iter().map(|(position, _)| *position).filter(is_lost).collect()
    }

    /// Returns `true` if a replica is expected to answer in time.
    fn is_good(&self, position: usize) -> bool {
        let replica = self.replicas.get(position);
        replica.is_some_and(|r| r.error.is_none() && !r.late) && !self.group.avoids(position)
    }

    /// The offsets to decode for the missing parts of the `lost` replicas: whole checksum slices.
    fn span(&self, missing: &[(usize, Range<u64>)], lost: &[usize]) -> Range<u64> {
        let of_lost = || missing.iter().filter(|(position, _)| lost.contains(position));
        let start = of_lost().map(|(_, range)| range.start).min().unwrap_or(self.cell.start);
        let end = of_lost().map(|(_, range)| range.end).max().unwrap_or(self.cell.start);
        let slice = self.slice.max(1);
        let start = (start - self.cell.start) / slice * slice;
        let end = (end - self.cell.start).div_ceil(slice).saturating_mul(slice);
        self.cell.start + start..self.cell.start.saturating_add(end).min(self.cell.end)
    }

    /// The part of a range of offsets within a replica; empty if it ends before.
    fn part_of(&self, position: usize, range: &Range<u64>) -> Range<u64> {
        let index = self.group.layout.scheme().replicas().nth(position);
        let length = index.map_or(0, |index| self.group.layout.replica_length(index));
        range.start.min(length)..range.end.min(length)
    }

    /// d replicas with `span`, preferably those with only padding there.
    fn sources(&self, span: Range<u64>) -> Option<Vec<usize>> {
        let mut there: Vec<usize> =
            (0..self.replicas.len()).filter(|position| self.has(*position, &span)).collect();
        there.sort_by_key(|position| !self.part_of(*position, &span).is_empty());
        let needed = self.group.layout.scheme().data();
        there.truncate(needed);
        (there.len() == needed).then_some(there)
    }

    fn has(&self, position: usize, span: &Range<u64>) -> bool {
        let part = self.part_of(position, span);
        self.replicas.get(position).is_some_and(|replica| replica.there.cover(part))
    }

    /// The next requests, by replica.
    fn plan(&self, missing: &[(usize, Range<u64>)], lost: &[usize]) -> Vec<(usize, Range<u64>)> {
        let mut plan = Vec::new();
        for (position, range) in missing {
            if self.is_good(*position) {
                self.plan_missing(*position, range.clone(), &mut plan);
            }
        }
        if lost.is_empty() {
            return plan;
        }
        let span = self.span(missing, lost);
        // Replicas that are read anyway first, those that failed recently last.
        let mut candidates: Vec<usize> = (0..self.replicas.len()).collect();
        let is_wanted = |position: usize| self.parts.iter().any(|p| place(p).0 == position);
        candidates.sort_by_key(|position| {
            let there = self.has(*position, &span);
            (!there, self.group.avoids(*position), !is_wanted(*position))
        });
        let mut needed = self.group.layout.scheme().data();
        for position in candidates {
            if needed == 0 {
                break;
            }
            let Some(replica) = self.replicas.get(position) else { continue };
            if !self.has(position, &span) {
                if replica.error.is_some() || replica.late {
                    continue;
                }
                self.plan_missing(position, self.part_of(position, &span), &mut plan);
            }
            needed -= 1;
        }
        plan
    }

    /// Adds the parts of `range` that have neither arrived nor been requested.
    fn plan_missing(
        &self,
        position: usize,
        range: Range<u64>,
        plan: &mut Vec<(usize, Range<u64>)>,
    ) {
        let Some(replica) = self.replicas.get(position) else { return };
        let mut on_its_way: Vec<Range<u64>> = replica.asked.clone();
        let planned = plan.iter().filter(|(other, _)| *other == position);
        on_its_way.extend(planned.map(|(_, range)| range.clone()));
        on_its_way.sort_by_key(|range| range.start);
        for part in replica.there.missing(range) {
            for part in extents::missing(part, on_its_way.iter().cloned()) {
                plan.push((position, part));
            }
        }
    }

    /// Decodes `span` of the `lost` replicas from the data of the `sources`.
    async fn decode(
        &mut self,
        span: Range<u64>,
        sources: Vec<usize>,
        lost: &[usize],
        verify: bool,
    ) -> Result<()> {
        let scheme = self.group.layout.scheme();
        let undecodable =
            |e: erasure::Error| Error::Undecodable { block: self.group.id, message: e.to_string() };
        let index = |position: usize| {
            let number = u32::try_from(position + 1).unwrap_or(u32::MAX);
            scheme.replica(number).map_err(undecodable)
        };
        let lengths = self.group.layout.lengths(span.clone()).map_err(undecodable)?;
        let mut cells = Vec::with_capacity(sources.len());
        for position in &sources {
            let part = self.part_of(*position, &span);
            let bytes = self.replicas.get(*position).and_then(|r| r.there.get(part));
            let bytes = bytes.ok_or_else(|| Error::Usage("a source was not read".to_owned()))?;
            cells.push((index(*position)?, bytes));
        }
        let wanted: Vec<ReplicaIndex> =
            lost.iter().map(|position| index(*position)).collect::<Result<_>>()?;
        let codec = self.group.codec.clone();
        let work = move || decode(&codec, &lengths, &cells, &wanted);
        let decoded = match span.end - span.start {
            small if small <= DECODED_INLINE => work(),
            _ => tokio::task::spawn_blocking(work)
                .await
                .map_err(|e| Error::Usage(format!("a stripe was not decoded: {e}")))?,
        };
        let decoded = decoded.map_err(undecodable)?;
        for (position, bytes) in lost.iter().zip(&decoded) {
            if verify {
                self.verify(*position, span.start, bytes)?;
            }
        }
        for (position, bytes) in lost.iter().zip(decoded) {
            if let Some(replica) = self.replicas.get_mut(*position) {
                replica.there.insert(span.start, bytes);
            }
        }
        Ok(())
    }

    /// Compares decoded bytes with the checksums of the whole stripe on the first replica and those
    /// with parity.
    fn verify(&self, position: usize, start: u64, bytes: &Bytes) -> Result<()> {
        let Some((sums, first)) = self.checksums_of(position) else { return Ok(()) };
        let skip = first + usize::try_from((start - self.cell.start) / self.slice).unwrap_or(0);
        container::checksum::verify_part(&sums, skip, bytes).map_err(|e| Error::Undecodable {
            block: self.group.id,
            message: format!("replica {} at {start} is not what its writer had: {e}", position + 1),
        })
    }

    /// The checksums of the stripe, and the position of one replica's among them; `None` if no
    /// replica that was read has them in Ozone's form.
    fn checksums_of(&self, position: usize) -> Option<(ChecksumData, usize)> {
        let of_stripe = |position| {
            let chunk = self.group.chunk_at(position, self.cell.start)?;
            Some((chunk, chunk.stripe_checksum.clone()?))
        };
        let (chunk, mut all) = (0..self.replicas.len()).find_map(of_stripe)?;
        let width = chunk.checksum_data.checksums.first().map(Bytes::len).filter(|w| *w > 0)?;
        let slices = |position| {
            let cell = self.part_of(position, &self.cell);
            usize::try_from((cell.end - cell.start).div_ceil(self.slice)).unwrap_or(usize::MAX)
        };
        let total: usize = (0..self.replicas.len()).map(slices).sum();
        if slice_of(chunk) != self.slice || Some(all.len()) != total.checked_mul(width) {
            return None;
        }
        let checksums = (0..total).map(|_| all.split_to(width)).collect();
        let sums = ChecksumData { checksums, ..chunk.checksum_data };
        Some((sums, (0..position).map(slices).sum()))
    }

    /// The error with the missing replicas.
    fn too_few(&self, missing: &[(usize, Range<u64>)], lost: &[usize]) -> Error {
        let span = self.span(missing, lost);
        let available = (0..self.replicas.len()).filter(|p| self.has(*p, &span)).count();
        let failed = self.replicas.iter().zip(1..);
        Error::TooFewReplicas {
            block: self.group.id,
            needed: self.group.layout.scheme().data(),
            available,
            missing: failed.filter_map(|(r, index)| Some((index, r.error.clone()?))).collect(),
        }
    }
}

/// The replica of a part of a cell, and its position there.
fn place(part: &CellPart) -> (usize, Range<u64>) {
    let start = part.position.replica_offset;
    (part.position.replica.position(), start..start.saturating_add(part.length))
}

fn decode(
    codec: &Codec,
    lengths: &CellLengths,
    cells: &[(ReplicaIndex, Bytes)],
    wanted: &[ReplicaIndex],
) -> Result<Vec<Bytes>, erasure::Error> {
    let sources: Vec<ReplicaIndex> = cells.iter().map(|(index, _)| *index).collect();
    let decoder = codec.decoder(&sources, wanted)?;
    let bytes: Vec<&[u8]> = cells.iter().map(|(_, bytes)| &bytes[..]).collect();
    let length = |index: &ReplicaIndex| usize::try_from(lengths.of(*index)).unwrap_or(0);
    let mut decoded: Vec<Vec<u8>> = wanted.iter().map(|index| vec![0; length(index)]).collect();
    let mut out: Vec<&mut [u8]> = decoded.iter_mut().map(Vec::as_mut_slice).collect();
    decoder.decode(lengths, &bytes, &mut out)?;
    Ok(decoded.into_iter().map(Bytes::from).collect())
}
