//! Any loss of up to p replicas is restored.

use erasure::kernel::supported;
use erasure::{BlockGroup, CellLengths, Codec, Error, ReplicaIndex};
use proptest::prelude::*;
use proptest::sample::subsequence;

use crate::{SCHEMES, muts, noise, pick, refs, scheme, stripe};

/// Decodes and compares with the original cells.
fn restore(codec: &Codec, cells: &[Vec<u8>], lengths: &CellLengths, lost: &[ReplicaIndex]) {
    let left: Vec<ReplicaIndex> =
        codec.scheme().replicas().filter(|replica| !lost.contains(replica)).collect();
    let decoder = codec.decoder(&left, lost).unwrap();
    assert_eq!([decoder.sources(), decoder.survivors()].concat(), left);
    let expected = pick(cells, lost);
    let mut decoded: Vec<Vec<u8>> = expected.iter().map(|cell| vec![0xcc; cell.len()]).collect();
    let sources = pick(cells, decoder.sources());
    decoder.decode(lengths, &refs(&sources), &mut muts(&mut decoded)).unwrap();
    assert!(decoded == expected, "{codec:?}: lost {lost:?}");

    decoded.iter_mut().for_each(|cell| cell.fill(0xdd));
    let checked =
        decoder.decode_checked(lengths, &refs(&pick(cells, &left)), &mut muts(&mut decoded));
    if lost.len() < codec.scheme().parity() {
        assert_eq!(checked, Ok(()), "{codec:?}: lost {lost:?}");
        assert!(decoded == expected, "{codec:?}: lost {lost:?}");
    } else {
        assert_eq!(checked, Err(Error::NothingToCheckWith { available: left.len() }));
    }
}

#[test]
fn every_pattern_of_losses_of_ozones_schemes_is_decoded() {
    for name in ["rs-3-2-1024k", "rs-6-3-1024k", "rs-10-4-1024k", "xor-2-1-1024k"] {
        let scheme = scheme(name);
        let codec = Codec::new(scheme);
        let cells = stripe(&codec, &vec![150; scheme.data()]);
        let patterns = 0_u32..1 << scheme.total();
        for set in patterns.filter(|set| set.count_ones() as usize <= scheme.parity()) {
            let lost: Vec<ReplicaIndex> =
                scheme.replicas().filter(|replica| set >> replica.position() & 1 == 1).collect();
            restore(&codec, &cells, &CellLengths::equal(150), &lost);
        }
    }
}

#[test]
fn every_pattern_of_losses_of_a_partial_stripe_is_decoded() {
    // The last stripe: full cells, one that is short, and padding.
    let scheme = scheme("rs-3-2-1k");
    for length in [1, 1000, 1024, 1025, 2047, 2048, 2500, 3071, 3072] {
        let group = BlockGroup::new(scheme, length);
        let lengths = group.stripe(0).unwrap();
        let data: Vec<usize> = scheme.data_replicas().map(|r| lengths.of(r) as usize).collect();
        let codec = Codec::new(scheme);
        let cells = stripe(&codec, &data);
        for set in (0_u32..32).filter(|set| set.count_ones() <= 2) {
            let lost: Vec<ReplicaIndex> =
                scheme.replicas().filter(|replica| set >> replica.position() & 1 == 1).collect();
            restore(&codec, &cells, &lengths, &lost);
        }
    }
}

#[test]
fn padding_replicas_are_available_without_their_nodes() {
    // One data cell, and all nodes except that of a parity replica are lost.
    let scheme = scheme("rs-6-3-1024k");
    let (codec, group) = (Codec::new(scheme), BlockGroup::new(scheme, 50_000));
    let lengths = group.stripe(0).unwrap();
    let cells = stripe(&codec, &[50_000, 0, 0, 0, 0, 0]);
    let mut available: Vec<ReplicaIndex> =
        scheme.replicas().filter(|replica| lengths.is_padding(*replica)).collect();
    assert_eq!(available.len(), 5);
    available.push(scheme.replica(8).unwrap());
    let first = scheme.replica(1).unwrap();
    let decoder = codec.decoder(&available, &[first]).unwrap();
    let mut decoded = vec![0; 50_000];
    decoder.decode(&lengths, &refs(&pick(&cells, &available)), &mut [&mut decoded]).unwrap();
    assert!(decoded == cells[0]);
}

#[test]
fn cells_far_longer_than_a_slice_are_decoded() {
    let scheme = scheme("rs-3-2-1024k");
    for kernel in supported() {
        let codec = Codec::with_kernel(scheme, kernel);
        let group = BlockGroup::new(scheme, 2 * scheme.stripe_size() + 1_700_003);
        // Three stripes of every replica at once.
        let lengths = group.lengths(0..group.longest_replica()).unwrap();
        let data: Vec<usize> = scheme.data_replicas().map(|r| lengths.of(r) as usize).collect();
        let cells = stripe(&codec, &data);
        restore(&codec, &cells, &lengths, &[scheme.replica(2).unwrap()]);
        restore(&codec, &cells, &lengths, &[2, 3].map(|n| scheme.replica(n).unwrap()));
    }
}

#[derive(Debug, Clone)]
struct Loss {
    name: &'static str,
    kernel: usize,
    lost: Vec<ReplicaIndex>,
    /// Data bytes of the stripe, as a fraction of its capacity.
    filled: f64,
    length: usize,
}

fn losses() -> impl Strategy<Value = Loss> {
    (0..SCHEMES.len(), 0..supported().len(), 0.0..=1.0, 1_usize..3000).prop_flat_map(
        |(name, kernel, filled, length)| {
            let name = SCHEMES[name];
            let scheme = scheme(name);
            let all: Vec<ReplicaIndex> = scheme.replicas().collect();
            subsequence(all, 0..=scheme.parity()).prop_shuffle().prop_map(move |lost| Loss {
                name,
                kernel,
                lost,
                filled,
                length,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_lost_comes_back(loss in losses()) {
        let is_wide = loss.name.starts_with("rs-128");
        let length = if is_wide { loss.length % 70 + 1 } else { loss.length };
        let name = loss.name.rsplit_once('-').unwrap().0;
        let scheme = scheme(&format!("{name}-{length}"));
        let codec = Codec::with_kernel(scheme, supported()[loss.kernel]);
        let bytes = (scheme.stripe_size() as f64 * loss.filled) as u64;
        let lengths = BlockGroup::new(scheme, bytes.max(1)).stripe(0).unwrap();
        let data: Vec<usize> = scheme.data_replicas().map(|r| lengths.of(r) as usize).collect();
        let cells = stripe(&codec, &data);
        restore(&codec, &cells, &lengths, &loss.lost);
    }

    #[test]
    fn cells_added_one_by_one_make_the_same_parity(
        name in 0..SCHEMES.len(),
        order in any::<u64>(),
        length in 1_usize..2000,
        cut in 0.0_f64..1.0,
    ) {
        let scheme = scheme(SCHEMES[name]);
        let codec = Codec::new(scheme);
        let mut lengths = vec![length; scheme.data()];
        *lengths.last_mut().unwrap() = (length as f64 * cut).ceil() as usize;
        let cells = stripe(&codec, &lengths);
        let (data, expected) = cells.split_at(scheme.data());
        let parity_length = data[0].len();
        let mut parity = vec![vec![0; parity_length]; scheme.parity()];
        let mut replicas: Vec<ReplicaIndex> = scheme.data_replicas().collect();
        replicas.sort_by_key(|replica| noise(order ^ u64::from(replica.get()), 8));
        for replica in replicas {
            // In two parts.
            let cell = &data[replica.position()];
            let middle = cell.len() / 3;
            codec.add(replica, &cell[..middle], &mut muts(&mut parity)).unwrap();
            let mut rest: Vec<&mut [u8]> =
                parity.iter_mut().map(|parity| &mut parity[middle..]).collect();
            codec.add(replica, &cell[middle..], &mut rest).unwrap();
        }
        prop_assert!(parity == expected);
    }

    #[test]
    fn stripes_encoded_in_parts_have_the_same_parity(
        name in 0..SCHEMES.len(),
        length in 1_usize..2000,
        part in 1_usize..700,
    ) {
        let scheme = scheme(SCHEMES[name]);
        let codec = Codec::new(scheme);
        let mut lengths = vec![length; scheme.data()];
        *lengths.last_mut().unwrap() = length / 2;
        let cells = stripe(&codec, &lengths);
        let (data, expected) = cells.split_at(scheme.data());
        let data_length = data[0].len();
        let mut parity = vec![vec![0; data_length]; scheme.parity()];
        for start in (0..data_length).step_by(part) {
            let within = |length: usize| start.min(length)..(start + part).min(length);
            let data: Vec<&[u8]> = data.iter().map(|cell| &cell[within(cell.len())]).collect();
            let range = within(data_length);
            let mut parity: Vec<&mut [u8]> =
                parity.iter_mut().map(|cell| &mut cell[range.clone()]).collect();
            codec.encode(&data, &mut parity).unwrap();
        }
        prop_assert!(parity == expected);
    }
}
