//! Detection of replicas of a block group from different writes.
//!
//! The writer of a stripe stores the checksums of all its cells on the first replica and on those
//! with parity. A replica of another write, or one that was rebuilt from wrong bytes, has checksums
//! that match its own bytes, but not those that the writer stored on the others.

use erasure::BlockGroup;
use proto::datanode::{BlockData, ChunkInfo};

/// Checksums of the cells of a stripe, as recorded by one replica.
struct Noted<'a> {
    chunk: &'a ChunkInfo,
    all: &'a [u8],
}

/// The differences between the checksums of the replica with this number and those that most of the
/// others, each with its replica index, record of it, stripe by stripe. Stripes of which no other
/// replica has checksums, or only in another form than Ozone's, are skipped.
pub(super) fn differences(
    group: BlockGroup,
    number: usize,
    replicas: &[(u32, &BlockData)],
) -> impl Iterator<Item = String> {
    let stripes = 0..group.stripes();
    stripes.filter_map(move |stripe| difference(group, stripe, number, replicas))
}

fn difference(
    group: BlockGroup,
    stripe: u64,
    number: usize,
    replicas: &[(u32, &BlockData)],
) -> Option<String> {
    let offset = stripe.checked_mul(u64::from(group.scheme().chunk_size()))?;
    let (index, own) = replicas.get(number)?;
    let own = chunk_at(own, offset)?;
    let width = own.checksum_data.checksums.first()?.len();
    let bytes_per_checksum = own.checksum_data.bytes_per_checksum;
    let place = place(group, stripe, *index, bytes_per_checksum, width)?;
    if own.len != place.cell {
        return None;
    }
    let own = own.checksum_data.checksums.concat();
    let (mut same, mut others) = (0_usize, Vec::new());
    let others_of_group = replicas.iter().enumerate().filter(|(other, _)| *other != number);
    for (_, (other, data)) in others_of_group {
        let Some(noted) = noted(data, offset) else { continue };
        let in_same_form = noted.chunk.checksum_data.bytes_per_checksum == bytes_per_checksum;
        if !in_same_form || noted.all.len() != place.total {
            continue;
        }
        match noted.all.get(place.from..place.to) == Some(&own[..]) {
            true => same += 1,
            false => others.push(other.to_string()),
        }
    }
    (others.len() > same).then(|| {
        format!(
            "chunk at offset {offset}: its checksums are not those that its writer left on \
             replicas {}",
            others.join(", ")
        )
    })
}

fn chunk_at(data: &BlockData, offset: u64) -> Option<&ChunkInfo> {
    data.chunks.iter().find(|chunk| chunk.offset == offset)
}

fn noted(data: &BlockData, offset: u64) -> Option<Noted<'_>> {
    let chunk = chunk_at(data, offset)?;
    Some(Noted { chunk, all: chunk.stripe_checksum.as_deref()? })
}

/// Position of the checksums of one cell among those of its stripe, in bytes.
struct CellRange {
    cell: u64,
    from: usize,
    to: usize,
    total: usize,
}

fn place(
    group: BlockGroup,
    stripe: u64,
    index: u32,
    bytes_per_checksum: u32,
    width: usize,
) -> Option<CellRange> {
    let lengths = group.stripe(stripe).ok()?;
    let slice = u64::from(bytes_per_checksum).max(1);
    let mut place = CellRange { cell: 0, from: 0, to: 0, total: 0 };
    for replica in group.scheme().replicas() {
        let cell = lengths.of(replica);
        let sums = usize::try_from(cell.div_ceil(slice)).ok()?.checked_mul(width)?;
        let end = place.total.checked_add(sums)?;
        if replica.get() == index {
            place = CellRange { cell, from: place.total, to: end, ..place };
        }
        place.total = end;
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use erasure::Scheme;
    use proto::datanode::{ChecksumData, ChecksumType, DatanodeBlockId};
    use types::replication::{EcCodec, EcConfig};

    use super::*;

    const CELL: u32 = 16;
    const SLICE: u32 = 8;

    /// A group of rs-3-2 whose second stripe has a cell and a half.
    fn group() -> BlockGroup {
        let config = EcConfig { data: 3, parity: 2, codec: EcCodec::Rs, chunk_size: CELL };
        let scheme = Scheme::new(config).unwrap();
        BlockGroup::new(scheme, u64::from(3 * CELL + CELL + CELL / 2))
    }

    /// The checksums of a cell of write `write`.
    fn sums(write: u8, stripe: u64, index: u32, count: u64) -> Vec<Bytes> {
        let one = |n| Bytes::from(vec![write, stripe as u8, index as u8, n as u8]);
        (0..count).map(one).collect()
    }

    fn replica(write: u8, index: u32, keeps_stripe_sums: bool) -> BlockData {
        let group = group();
        let mut chunks = Vec::new();
        for stripe in 0..group.stripes() {
            let lengths = group.stripe(stripe).unwrap();
            let count = |r| lengths.of(r).div_ceil(u64::from(SLICE));
            let of_stripe = group.scheme().replicas();
            let of_stripe = of_stripe.flat_map(|r| sums(write, stripe, r.get(), count(r)));
            let all = Bytes::from(of_stripe.collect::<Vec<_>>().concat());
            let this = group.scheme().replica(index).unwrap();
            if lengths.of(this) == 0 {
                continue;
            }
            chunks.push(ChunkInfo {
                chunk_name: String::new(),
                offset: stripe * u64::from(CELL),
                len: lengths.of(this),
                metadata: Vec::new(),
                checksum_data: ChecksumData {
                    r#type: ChecksumType::Crc32 as i32,
                    bytes_per_checksum: SLICE,
                    checksums: sums(write, stripe, index, count(this)),
                },
                stripe_checksum: keeps_stripe_sums.then_some(all),
            });
        }
        let block_id = DatanodeBlockId::default();
        BlockData { block_id, flags: None, metadata: Vec::new(), chunks, size: None }
    }

    fn found(writes: [u8; 5]) -> Vec<usize> {
        let replicas: Vec<_> = (1..=5)
            .zip(writes)
            .map(|(index, write)| (index, replica(write, index, ![2, 3].contains(&index))))
            .collect();
        let replicas: Vec<_> = replicas.iter().map(|(index, data)| (*index, data)).collect();
        (0..5).map(|number| differences(group(), number, &replicas).count()).collect()
    }

    #[test]
    fn a_replica_of_another_write_is_found_by_what_the_others_keep_of_it() {
        assert_eq!(found([7; 5]), [0; 5]);
        // The third has no cell in the second stripe.
        assert_eq!(found([7, 8, 7, 7, 7]), [0, 2, 0, 0, 0]);
        assert_eq!(found([7, 7, 8, 7, 7]), [0, 0, 1, 0, 0]);
        assert_eq!(found([8, 7, 7, 7, 7]), [2, 0, 0, 0, 0]);
        assert_eq!(found([7, 7, 7, 7, 8]), [0, 0, 0, 0, 2]);
    }

    #[test]
    fn nothing_is_said_where_nothing_is_kept() {
        let replicas: Vec<_> = (1..=5).map(|index| (index, replica(7, index, false))).collect();
        let replicas: Vec<_> = replicas.iter().map(|(index, data)| (*index, data)).collect();
        assert_eq!(differences(group(), 0, &replicas).count(), 0);
        assert_eq!(differences(group(), 6, &replicas).count(), 0);
    }
}
