//! A block group from end to end: written stripe by stripe, replicas lost, ranges read.

use erasure::{BlockGroup, Codec, ReplicaIndex, Scheme};
use proptest::prelude::*;

use crate::{muts, noise, refs, scheme};

/// The blocks of all replicas, as a writer creates them.
fn write(codec: &Codec, content: &[u8]) -> Vec<Vec<u8>> {
    let scheme = codec.scheme();
    let mut blocks = vec![Vec::new(); scheme.total()];
    for stripe in content.chunks(scheme.stripe_size() as usize) {
        let mut cells: Vec<&[u8]> = stripe.chunks(scheme.chunk_size() as usize).collect();
        cells.resize(scheme.data(), &[]);
        let mut parity = vec![vec![0; cells[0].len()]; scheme.parity()];
        codec.encode(&cells, &mut muts(&mut parity)).unwrap();
        let all = cells.into_iter().chain(parity.iter().map(Vec::as_slice));
        blocks.iter_mut().zip(all).for_each(|(block, cell)| block.extend_from_slice(cell));
    }
    blocks
}

/// One range, as a reader gets it with some replicas lost.
fn read(
    codec: &Codec,
    blocks: &[Vec<u8>],
    group: BlockGroup,
    lost: &[ReplicaIndex],
    range: std::ops::Range<u64>,
) -> Vec<u8> {
    let scheme = codec.scheme();
    let left: Vec<ReplicaIndex> = scheme.replicas().filter(|r| !lost.contains(r)).collect();
    let mut content = Vec::new();
    for part in group.cells(range).unwrap() {
        let at = part.position;
        let offsets = at.replica_offset..at.replica_offset + part.length;
        let lengths = group.lengths(offsets.clone()).unwrap();
        let cell = |replica: ReplicaIndex| {
            let start = (offsets.start as usize).min(blocks[replica.position()].len());
            blocks[replica.position()][start..][..lengths.of(replica) as usize].to_vec()
        };
        if lost.contains(&at.replica) {
            let decoder = codec.decoder(&left, &[at.replica]).unwrap();
            let sources: Vec<Vec<u8>> = decoder.sources().iter().map(|r| cell(*r)).collect();
            let mut decoded = vec![vec![0; part.length as usize]];
            decoder.decode(&lengths, &refs(&sources), &mut muts(&mut decoded)).unwrap();
            content.append(&mut decoded[0]);
        } else {
            content.extend(cell(at.replica));
        }
    }
    content
}

fn small(name: usize) -> Scheme {
    scheme(["rs-3-2-100", "rs-6-3-64", "rs-10-4-33", "xor-2-1-50"][name])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ranges_read_the_same_with_replicas_lost(
        name in 0_usize..4,
        length in 0_usize..3000,
        losses in prop::collection::btree_set(1_u32..=14, 0..=4),
        a in 0.0..=1.0,
        b in 0.0..=1.0,
    ) {
        let scheme = small(name);
        let codec = Codec::new(scheme);
        let content = noise(length as u64, length);
        let blocks = write(&codec, &content);
        let group = BlockGroup::new(scheme, length as u64);
        for (replica, block) in scheme.replicas().zip(&blocks) {
            prop_assert_eq!(group.replica_length(replica), block.len() as u64);
        }
        let lost: Vec<ReplicaIndex> = losses
            .into_iter()
            .filter_map(|index| scheme.replica(index).ok())
            .take(scheme.parity())
            .collect();
        let (a, b) = ((length as f64 * a) as usize, (length as f64 * b) as usize);
        let range = a.min(b)..a.max(b);
        let found = read(&codec, &blocks, group, &lost, range.start as u64..range.end as u64);
        prop_assert!(found == content[range]);
    }

    #[test]
    fn whole_replicas_are_rebuilt_in_one_pass(
        name in 0_usize..4,
        length in 1_usize..3000,
        losses in prop::collection::btree_set(1_u32..=14, 1..=4),
    ) {
        let scheme = small(name);
        let codec = Codec::new(scheme);
        let blocks = write(&codec, &noise(7, length));
        let group = BlockGroup::new(scheme, length as u64);
        let lost: Vec<ReplicaIndex> = losses
            .into_iter()
            .filter_map(|index| scheme.replica(index).ok())
            .take(scheme.parity())
            .collect();
        let left: Vec<ReplicaIndex> = scheme.replicas().filter(|r| !lost.contains(r)).collect();
        // All stripes at once: replicas have the same offsets.
        let lengths = group.lengths(0..group.longest_replica()).unwrap();
        let decoder = codec.decoder(&left, &lost).unwrap();
        let block = |r: &ReplicaIndex| blocks[r.position()].clone();
        let expected: Vec<Vec<u8>> = lost.iter().map(block).collect();
        let mut decoded: Vec<Vec<u8>> = expected.iter().map(|b| vec![1; b.len()]).collect();
        let available: Vec<Vec<u8>> = left.iter().map(block).collect();
        if decoder.survivors().is_empty() {
            decoder.decode(&lengths, &refs(&available), &mut muts(&mut decoded)).unwrap();
        } else {
            decoder.decode_checked(&lengths, &refs(&available), &mut muts(&mut decoded)).unwrap();
        }
        prop_assert!(decoded == expected);
    }
}
