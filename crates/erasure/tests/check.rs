//! A verifying decode finds every wrong byte in its input.

use erasure::{BlockGroup, CellLengths, Codec, Error, ErrorKind, ReplicaIndex};
use proptest::prelude::*;

use crate::{muts, noise, pick, refs, scheme, stripe};

fn decode(
    codec: &Codec,
    cells: &[Vec<u8>],
    lengths: &CellLengths,
    available: &[ReplicaIndex],
    lost: &[ReplicaIndex],
) -> Result<(), Error> {
    let mut decoded: Vec<Vec<u8>> =
        lost.iter().map(|replica| vec![0; lengths.of(*replica) as usize]).collect();
    let decoder = codec.decoder(available, lost)?;
    decoder.decode_checked(lengths, &refs(&pick(cells, available)), &mut muts(&mut decoded))
}

#[test]
fn one_flipped_bit_in_any_survivor_is_found() {
    for (name, losses) in [("rs-3-2-1k", 1), ("rs-6-3-1k", 2), ("rs-10-4-1k", 3), ("rs-2-5-1k", 4)]
    {
        let scheme = scheme(name);
        let codec = Codec::new(scheme);
        let cells = stripe(&codec, &vec![300; scheme.data()]);
        let lengths = CellLengths::equal(300);
        for first in 0..=scheme.total() - losses {
            let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
            let lost = &replicas[first..first + losses];
            let available: Vec<ReplicaIndex> =
                replicas.iter().copied().filter(|replica| !lost.contains(replica)).collect();
            assert_eq!(decode(&codec, &cells, &lengths, &available, lost), Ok(()));
            for (number, wrong) in available.iter().enumerate() {
                let (at, mut cells) = (number * 17 % 300, cells.clone());
                cells[wrong.position()][at] ^= 1 << (number % 8);
                let found = decode(&codec, &cells, &lengths, &available, lost).unwrap_err();
                assert_eq!(found.kind(), ErrorKind::Corrupt);
                let Error::Mismatch { survivor, offset, sources } = found else {
                    panic!("{found}")
                };
                assert_eq!(offset, at as u64, "{name}: {wrong} is wrong, {lost:?} are lost");
                assert_eq!(sources, available[..scheme.data()]);
                // A wrong source contradicts the first survivor, a wrong survivor is named.
                let named = if number < scheme.data() { available[scheme.data()] } else { *wrong };
                assert_eq!(survivor, named);
            }
        }
    }
}

#[test]
fn a_flipped_byte_is_found_wherever_a_long_cell_has_it() {
    let scheme = scheme("rs-6-3-1024k");
    let codec = Codec::new(scheme);
    let length = 400_001;
    let mut cells = stripe(&codec, &[length; 6]);
    let lengths = CellLengths::equal(length as u64);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    for at in [0, 63, 64, 28_671, 28_672, 200_000, length - 1] {
        cells[4][at] ^= 0x10;
        let found = decode(&codec, &cells, &lengths, &replicas[2..], &replicas[..2]);
        let sources = replicas[2..8].to_vec();
        let expected = Error::Mismatch { survivor: replicas[8], offset: at as u64, sources };
        assert_eq!(found, Err(expected));
        cells[4][at] ^= 0x10;
    }
}

#[test]
fn a_decoder_that_wants_nothing_checks_a_stripe() {
    let scheme = scheme("xor-2-1-1k");
    let codec = Codec::new(scheme);
    let mut cells = stripe(&codec, &[100, 40]);
    let group = BlockGroup::new(scheme, 1024 + 40);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    // The first 100 bytes of each replica.
    let lengths = group.lengths(0..100).unwrap();
    assert_eq!(replicas.iter().map(|r| lengths.of(*r)).collect::<Vec<_>>(), [100, 40, 100]);
    assert_eq!(decode(&codec, &cells, &lengths, &replicas, &[]), Ok(()));
    // After the end of replica 2 the parity is that of replica 1.
    cells[2][77] ^= 1;
    let found = decode(&codec, &cells, &lengths, &replicas, &[]).unwrap_err();
    assert!(matches!(found, Error::Mismatch { offset: 77, .. }), "{found}");
}

#[test]
fn bytes_that_should_be_padding_are_found() {
    // A writer that encoded data after the end of replica 3: the decoded cell is shorter, and the
    // remaining parity reveals it.
    let scheme = scheme("rs-3-2-1k");
    let codec = Codec::new(scheme);
    let mut cells = stripe(&codec, &[1024, 1024, 600]);
    let lengths = BlockGroup::new(scheme, 2048 + 500).stripe(0).unwrap();
    cells[2].truncate(500);
    let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
    let available = [replicas[0], replicas[1], replicas[3], replicas[4]];
    let found = decode(&codec, &cells, &lengths, &available, &[replicas[2]]).unwrap_err();
    assert!(matches!(found, Error::Mismatch { offset: 500, .. }), "{found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_wrong_byte_of_a_partial_stripe_is_found(
        bytes in 1_u64..6 * 1024,
        lost in 0_usize..9,
        wrong in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        flip in 1_u8..,
    ) {
        let scheme = scheme("rs-6-3-1k");
        let codec = Codec::new(scheme);
        let lengths = BlockGroup::new(scheme, bytes).stripe(0).unwrap();
        let data: Vec<usize> = scheme.data_replicas().map(|r| lengths.of(r) as usize).collect();
        let mut cells = stripe(&codec, &data);
        let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
        let available: Vec<ReplicaIndex> =
            replicas.iter().copied().filter(|r| r.position() != lost).collect();
        let with_bytes: Vec<ReplicaIndex> =
            available.iter().copied().filter(|r| !lengths.is_padding(*r)).collect();
        let cell = &mut cells[wrong.get(&with_bytes).position()];
        let at = at.index(cell.len());
        cell[at] ^= flip;
        let found = decode(&codec, &cells, &lengths, &available, &[replicas[lost]]);
        let is_there =
            matches!(found, Err(Error::Mismatch { offset, .. }) if offset == at as u64);
        prop_assert!(is_there, "{:?}", found);
    }

    #[test]
    fn cells_of_two_writes_do_not_pass(seed in any::<u64>(), mixed in 1_usize..8) {
        // The same block written twice, with replicas of both left: a mixed generation.
        let scheme = scheme("rs-6-3-1k");
        let codec = Codec::new(scheme);
        let first = stripe(&codec, &[64; 6]);
        let mut second: Vec<Vec<u8>> = (0..6).map(|n| noise(seed ^ (n + 77), 64)).collect();
        let mut parity = vec![vec![0; 64]; 3];
        codec.encode(&refs(&second), &mut muts(&mut parity)).unwrap();
        second.extend(parity);
        let mut cells = first.clone();
        cells[mixed..].clone_from_slice(&second[mixed..]);
        let replicas: Vec<ReplicaIndex> = scheme.replicas().collect();
        let found = decode(&codec, &cells, &CellLengths::equal(64), &replicas[1..], &replicas[..1]);
        // With replica 1 lost, all remaining ones are of the second write from 1 on.
        prop_assert_eq!(found.is_ok(), mixed == 1);
    }
}
