//! One block: its length, the sources that agree on it, and its rows for the targets.
//!
//! **Length.** Each replica stores the number of data bytes of its block group (`blockGroupLen`).
//! An interrupted writer leaves replicas with different lengths; all of them have its acknowledged
//! bytes. The block is rebuilt to the length that d sources have: that covers at least the
//! acknowledged bytes, also if a single replica lost its tail, which the smallest of all lengths
//! would spread. Chunks and checksums are compared over just that length.
//!
//! **Agreement.** Replica 1 and those of parity store the checksums of all cells of each stripe. A
//! source whose own checksums are not among them is of another generation, and is not used.

use std::collections::BTreeMap;

use bytes::Bytes;
use erasure::layout::Chunk;
use erasure::{BlockGroup, ReplicaIndex, Scheme};
use prost::Message;
use proto::datanode as dn;
use proto::datanode::{ChecksumType, ChunkInfo};
use types::{BlockId, ContainerId, LocalId};

use super::odd::{Odd, OtherChecksums};

/// Metadata of a block with the number of data bytes of its group.
const GROUP_LENGTH: &str = "blockGroupLen";

/// One source's row of a block.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Index of the source.
    pub place: usize,
    /// Its replica index.
    pub index: ReplicaIndex,
    /// Its chunks, one a stripe.
    pub chunks: Vec<ChunkInfo>,
}

/// Plan of a block's reconstruction.
#[derive(Debug)]
pub(super) struct Plan {
    /// The block.
    pub local: LocalId,
    /// Its length and how it is encoded.
    pub group: BlockGroup,
    /// The sources that agree, in the order of their indexes.
    pub rows: Vec<Row>,
    /// Form of its bytes' checksums.
    form: Form,
    /// The checksums of each stripe's cells, one after the other; none when no source has them.
    stripe_sums: Vec<Bytes>,
    flags: Option<i64>,
    metadata: Vec<dn::KeyValue>,
}

/// A block that is planned, or why it is not, and the sources that are not used for it.
#[derive(Debug)]
pub(super) struct Planned {
    pub plan: Result<Plan, Unplanned>,
    /// Sources that are not used, with the reasons.
    pub odd: Vec<(ReplicaIndex, Odd)>,
}

/// Errors of planning a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unplanned {
    /// Fewer sources list it than it takes to read it.
    TooFew(usize),
    /// Enough sources list it, but their rows contradict each other.
    Disagree(String),
}

/// Kind of the checksums, and bytes that each is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    kind: ChecksumType,
    bytes: u32,
}

/// Plans a block from the rows that sources list.
pub(super) fn plan(
    scheme: Scheme,
    local: LocalId,
    listed: Vec<(usize, ReplicaIndex, dn::BlockData)>,
) -> Planned {
    let mut odd = Vec::new();
    let plan = plan_with(scheme, local, listed, &mut odd);
    Planned { plan, odd }
}

fn plan_with(
    scheme: Scheme,
    local: LocalId,
    listed: Vec<(usize, ReplicaIndex, dn::BlockData)>,
    odd: &mut Vec<(ReplicaIndex, Odd)>,
) -> Result<Plan, Unplanned> {
    let (needed, count) = (scheme.data(), listed.len());
    if count < needed {
        return Err(Unplanned::TooFew(count));
    }
    let mut known = Vec::with_capacity(count);
    for (place, index, row) in listed {
        match group_length(index, &row) {
            Ok(length) => known.push((length, place, index, row)),
            Err(why) => odd.push((index, why)),
        }
    }
    known.sort_by_key(|(_, _, index, _)| *index);
    let mut lengths: Vec<u64> = known.iter().map(|(length, ..)| *length).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let disagree = |what: &str, left: usize, odd: &[(ReplicaIndex, Odd)]| {
        let reasons: Vec<_> = odd.iter().map(|(index, why)| format!("{index}: {why}")).collect();
        Unplanned::Disagree(format!("{left} of {count} {what} ({})", reasons.join("; ")))
    };
    let Some(length) = needed.checked_sub(1).and_then(|at| lengths.get(at)).copied() else {
        return Err(disagree("say how long it is", lengths.len(), odd));
    };
    let group = BlockGroup::new(scheme, length);
    let (mut rows, mut form, mut first) = (Vec::new(), None, None);
    for (its_length, place, index, mut row) in known {
        let outcome = match its_length < length {
            true => Err(Odd::Behind { own: its_length, group: length }),
            false => check_chunks(group, index, &mut row.chunks, &mut form),
        };
        match outcome {
            Ok(()) => {
                let chunks = std::mem::take(&mut row.chunks);
                first.get_or_insert(row);
                rows.push(Row { place, index, chunks });
            }
            Err(why) => odd.push((index, why)),
        }
    }
    if rows.len() < needed {
        return Err(disagree("have its chunks", rows.len(), odd));
    }
    let form = form.unwrap_or(Form { kind: ChecksumType::None, bytes: 0 });
    let stripe_sums = agreed(group, form, &rows);
    if let Some(sums) = &stripe_sums {
        rows.retain(|row| {
            let agrees = agrees(group, form, row, sums);
            if !agrees {
                odd.push((row.index, Odd::Generation));
            }
            agrees
        });
        if rows.len() < needed {
            return Err(disagree("agree on its checksums", rows.len(), odd));
        }
    }
    let row = first.unwrap_or_default();
    let mut metadata = row.metadata;
    metadata.retain(|pair| pair.key != GROUP_LENGTH);
    metadata.push(dn::KeyValue { key: GROUP_LENGTH.to_owned(), value: Some(length.to_string()) });
    Ok(Plan {
        local,
        group,
        rows,
        form,
        stripe_sums: stripe_sums.unwrap_or_default(),
        flags: row.flags,
        metadata,
    })
}

/// Returns the length of the group in a replica's row.
fn group_length(index: ReplicaIndex, row: &dn::BlockData) -> Result<u64, Odd> {
    match row.block_id.replica_index() {
        0 => {}
        other if u32::try_from(other) == Ok(index.get()) => {}
        other => return Err(Odd::Index(other)),
    }
    let said = row.metadata.iter().find(|pair| pair.key == GROUP_LENGTH);
    let said = said.and_then(|pair| pair.value.as_deref());
    let said = said.ok_or(Odd::NoLength)?;
    said.parse().map_err(|_| Odd::Length(said.to_owned()))
}

/// Checks that a replica has the chunks of its index in a group of that length, all with checksums
/// of one form, and drops the chunks after those.
fn check_chunks(
    group: BlockGroup,
    index: ReplicaIndex,
    chunks: &mut Vec<ChunkInfo>,
    form: &mut Option<Form>,
) -> Result<(), Odd> {
    let mut count = 0usize;
    for expected in group.chunks(index) {
        let Some(chunk) = chunks.get(count) else {
            return Err(Odd::NoChunk { count, offset: expected.offset });
        };
        if (chunk.offset, chunk.len) != (expected.offset, expected.length) {
            let Chunk { offset, length, .. } = expected;
            let (at, len) = (chunk.offset, chunk.len);
            return Err(Odd::Chunk { at, len, offset, length });
        }
        let sums = &chunk.checksum_data;
        container::checksum::check_form(sums, chunk.len)?;
        let kind = ChecksumType::try_from(sums.r#type).unwrap_or(ChecksumType::None);
        let found = Form { kind, bytes: sums.bytes_per_checksum };
        if *form.get_or_insert(found) != found {
            return Err(Odd::Form);
        }
        count = count.saturating_add(1);
    }
    chunks.truncate(count);
    Ok(())
}

/// Bytes of the checksums of a cell of `length` bytes, whose first has `width` of them.
fn sums_length(form: Form, length: u64, width: usize) -> usize {
    let slices = length.div_ceil(u64::from(form.bytes).max(1));
    usize::try_from(slices).unwrap_or(usize::MAX).saturating_mul(width)
}

/// Bytes of one checksum.
fn width(form: Form) -> usize {
    container::checksum::compute_slice(form.kind, &[]).len()
}

/// Returns the range of a replica's cell checksums among those of a stripe, and their length
/// together.
fn part_of(
    group: BlockGroup,
    form: Form,
    stripe: u64,
    index: ReplicaIndex,
) -> Option<(std::ops::Range<usize>, usize)> {
    let lengths = group.stripe(stripe).ok()?;
    let width = width(form);
    let (mut part, mut all) = (0..0, 0usize);
    for replica in group.scheme().replicas() {
        let length = sums_length(form, lengths.of(replica), width);
        let end = all.checked_add(length)?;
        if replica == index {
            part = all..end;
        }
        all = end;
    }
    Some((part, all))
}

/// The checksums of all stripes that most sources agree with; `None` when no source has any.
fn agreed(group: BlockGroup, form: Form, rows: &[Row]) -> Option<Vec<Bytes>> {
    if form.kind == ChecksumType::None || group.stripes() == 0 {
        return None;
    }
    let mut candidates: BTreeMap<usize, Vec<Bytes>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        let sums = row.chunks.iter().map(|chunk| chunk.stripe_checksum.clone());
        let Some(sums) = sums.collect::<Option<Vec<Bytes>>>() else { continue };
        let fits = |(stripe, sums): (u64, &Bytes)| {
            let all = part_of(group, form, stripe, row.index).map(|(_, all)| all);
            all == Some(sums.len())
        };
        let is_whole = sums.len() as u64 == group.stripes() && (0..).zip(&sums).all(fits);
        if is_whole && !candidates.values().any(|known| *known == sums) {
            candidates.insert(place, sums);
        }
    }
    // The first of those that most agree with.
    candidates
        .into_values()
        .rev()
        .max_by_key(|sums| rows.iter().filter(|row| agrees(group, form, row, sums)).count())
}

/// Returns `true` if a source's row belongs to the stripes that have these checksums.
fn agrees(group: BlockGroup, form: Form, row: &Row, sums: &[Bytes]) -> bool {
    (0..).zip(sums).all(|(stripe, sums)| {
        let chunk = usize::try_from(stripe).ok().and_then(|at| row.chunks.get(at));
        // It has nothing in the last stripe.
        let Some(chunk) = chunk else { return true };
        let Some((part, _)) = part_of(group, form, stripe, row.index) else { return false };
        let own = chunk.checksum_data.checksums.iter().flatten();
        let same = sums.get(part).is_some_and(|part| part.iter().eq(own));
        same && chunk.stripe_checksum.as_ref().is_none_or(|all| all == sums)
    })
}

impl Plan {
    /// Computes the checksums of a rebuilt cell, and compares them with those that the writer had.
    ///
    /// # Errors
    /// When they differ.
    pub fn check(
        &self,
        stripe: u64,
        index: ReplicaIndex,
        cell: &[u8],
    ) -> Result<dn::ChecksumData, OtherChecksums> {
        let Form { kind, bytes } = self.form;
        let sums = container::checksum::compute(kind, bytes, cell);
        let of_stripe = usize::try_from(stripe).ok().and_then(|at| self.stripe_sums.get(at));
        let Some(of_stripe) = of_stripe else { return Ok(sums) };
        let part = part_of(self.group, self.form, stripe, index).map(|(part, _)| part);
        let expected = part.and_then(|part| of_stripe.get(part)).unwrap_or_default();
        match sums.checksums.iter().flatten().eq(expected) {
            true => Ok(sums),
            false => Err(OtherChecksums(index)),
        }
    }

    /// Returns `true` if the writer stored checksums to compare with.
    pub fn has_stripe_sums(&self) -> bool {
        !self.stripe_sums.is_empty()
    }

    /// Returns the chunk of a rebuilt cell, as its target stores it.
    pub fn chunk(&self, index: ReplicaIndex, at: Chunk, sums: dn::ChecksumData) -> ChunkInfo {
        let keeps = index == ReplicaIndex::FIRST || !self.group.scheme().is_data(index);
        let stripe = at.number.checked_sub(1).and_then(|stripe| usize::try_from(stripe).ok());
        let of_stripe = stripe.and_then(|stripe| self.stripe_sums.get(stripe));
        ChunkInfo {
            chunk_name: format!("{}_chunk_{}", self.local, at.number),
            offset: at.offset,
            len: at.length,
            metadata: Vec::new(),
            checksum_data: sums,
            stripe_checksum: of_stripe.filter(|_| keeps).cloned(),
        }
    }

    /// Returns the block as its target stores it, and its bytes there.
    pub fn row(
        &self,
        container: ContainerId,
        index: ReplicaIndex,
        chunks: Vec<ChunkInfo>,
    ) -> (Bytes, u64) {
        let length = self.group.replica_length(index);
        // No Raft log orders them.
        let id = BlockId { container, local: self.local, bcsid: 0 };
        let row = dn::BlockData {
            block_id: id.to_datanode(index.get().cast_signed()),
            flags: self.flags,
            metadata: self.metadata.clone(),
            chunks,
            size: i64::try_from(length).ok(),
        };
        (row.encode_to_vec().into(), length)
    }
}
