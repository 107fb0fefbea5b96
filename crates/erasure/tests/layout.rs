//! Offsets of a block group and of its replicas: each byte has one position, and every position has
//! its byte.

use std::collections::BTreeSet;

use erasure::layout::Chunk;
use erasure::{BlockGroup, Error, ReplicaIndex, Scheme};
use proptest::prelude::*;

use crate::{SCHEMES, scheme};

fn group(name: &str, length: u64) -> BlockGroup {
    BlockGroup::new(scheme(name), length)
}

fn lengths(group: BlockGroup) -> Vec<u64> {
    group.scheme().replicas().map(|replica| group.replica_length(replica)).collect()
}

#[test]
fn replicas_are_as_long_as_ozones() {
    // Recorded from Ozone's client.
    let k = 1024;
    assert_eq!(lengths(group("rs-3-2-1024k", 50_000)), [50_000, 0, 0, 50_000, 50_000]);
    let nine = group("rs-3-2-1024k", 9_000_000);
    assert_eq!(nine.stripes(), 3);
    let third: Vec<Chunk> = nine.chunks(nine.scheme().replica(3).unwrap()).collect();
    assert_eq!(third.last(), Some(&Chunk { number: 3, offset: 2048 * k, length: 611_392 }));
    let parity: Vec<Chunk> = nine.chunks(nine.scheme().replica(4).unwrap()).collect();
    assert_eq!(parity.last(), Some(&Chunk { number: 3, offset: 2048 * k, length: 1024 * k }));
    // Full stripes, one byte more, and nothing.
    assert_eq!(lengths(group("rs-3-2-1k", 6 * k)), [2 * k; 5]);
    let one_more = [2 * k + 1, 2 * k, 2 * k, 2 * k + 1, 2 * k + 1];
    assert_eq!(lengths(group("rs-3-2-1k", 6 * k + 1)), one_more);
    assert_eq!(lengths(group("xor-2-1-512k", 0)), [0; 3]);
    assert_eq!(group("xor-2-1-512k", 0).stripes(), 0);
    // The second cell is short.
    let second = [3 * k, 2 * k + 5, 2 * k, 2 * k, 2 * k, 2 * k, 3 * k, 3 * k, 3 * k];
    assert_eq!(lengths(group("rs-6-3-1k", 13 * k + 5)), second);
}

#[test]
fn a_range_is_cut_into_cells() {
    let group = group("rs-3-2-1k", 5000);
    let cells: Vec<(u32, u64, u64, u64)> = group
        .cells(1000..4200)
        .unwrap()
        .map(|part| {
            let at = part.position;
            (at.replica.get(), at.stripe, at.replica_offset, part.length)
        })
        .collect();
    let expected =
        [(1, 0, 1000, 24), (2, 0, 0, 1024), (3, 0, 0, 1024), (1, 1, 1024, 1024), (2, 1, 1024, 104)];
    assert_eq!(cells, expected);
    let ranges = group.replica_ranges(1000..4200).unwrap();
    let ranges: Vec<_> = ranges.into_iter().map(|(r, range)| (r.get(), range)).collect();
    assert_eq!(ranges, [(1, 1000..2048), (2, 0..1128), (3, 0..1024)]);
    // Only the replicas that contain the range.
    let ranges = group.replica_ranges(1024..2048).unwrap();
    assert_eq!(ranges, [(group.scheme().replica(2).unwrap(), 0..1024)]);
    assert_eq!(group.replica_ranges(5000..5000).unwrap(), []);
}

#[test]
fn what_is_outside_of_a_group_is_refused() {
    let group = group("rs-3-2-1k", 5000);
    let refused = |range: std::ops::Range<u64>, length| Error::OutOfRange {
        start: range.start,
        end: range.end,
        length,
    };
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 4..3;
    for range in [0..5001, u64::MAX..u64::MAX, 0..u64::MAX, reversed] {
        assert_eq!(group.cells(range.clone()).err(), Some(refused(range.clone(), 5000)));
        assert_eq!(group.replica_ranges(range.clone()), Err(refused(range.clone(), 5000)));
        assert_eq!(group.lengths(range.clone()), Err(refused(range, 2048)));
    }
    assert_eq!(group.lengths(0..2049), Err(refused(0..2049, 2048)));
    assert!(group.stripe(1).is_ok());
    assert_eq!(group.stripe(2), Err(refused(2048..3072, 2048)));
    assert!(group.stripe(u64::MAX).is_err());
    assert!(BlockGroup::new(group.scheme(), 0).stripe(0).is_err());
}

#[test]
fn the_longest_groups_that_a_number_can_say() {
    for name in SCHEMES {
        let scheme = scheme(name);
        let group = BlockGroup::new(scheme, u64::MAX);
        let data: u128 = scheme.data_replicas().map(|r| u128::from(group.replica_length(r))).sum();
        assert_eq!(data, u128::from(u64::MAX), "{name}");
        let last = scheme.locate(u64::MAX - 1);
        assert_eq!(scheme.group_offset(last.replica, last.replica_offset), Some(u64::MAX - 1));
        let parts: Vec<_> = group.cells(u64::MAX - 10..u64::MAX).unwrap().collect();
        assert_eq!(parts.iter().map(|part| part.length).sum::<u64>(), 10);
        assert!(group.stripe(group.stripes() - 1).is_ok(), "{name}");
        assert_eq!(scheme.group_capacity(u64::MAX), u64::MAX);
        let beyond = scheme.replica(scheme.data() as u32).unwrap();
        if scheme.data() > 1 {
            assert_eq!(scheme.group_offset(beyond, u64::MAX), None);
        }
    }
}

#[test]
fn a_parity_byte_has_no_offset_in_the_group() {
    let scheme = scheme("rs-3-2-1k");
    assert_eq!(scheme.group_offset(scheme.replica(4).unwrap(), 0), None);
    let foreign = crate::scheme("rs-6-3-1k").replica(6).unwrap();
    assert_eq!(scheme.group_offset(foreign, 0), None);
}

fn schemes() -> impl Strategy<Value = Scheme> {
    (1_u32..=20, 1_u32..=5, 1_u32..=40)
        .prop_map(|(d, p, chunk)| scheme(&format!("rs-{d}-{p}-{chunk}")))
}

proptest! {
    #[test]
    fn every_byte_is_in_one_place_and_every_place_has_its_byte(
        scheme in schemes(),
        length in 0_u64..3000,
    ) {
        let group = BlockGroup::new(scheme, length);
        let mut places = BTreeSet::new();
        for offset in 0..length {
            let at = scheme.locate(offset);
            let chunk = u64::from(scheme.chunk_size());
            prop_assert!(scheme.is_data(at.replica));
            prop_assert!(at.replica_offset < group.replica_length(at.replica));
            prop_assert_eq!(at.replica_offset, at.stripe * chunk + at.cell_offset);
            prop_assert!(at.cell_offset < chunk && at.stripe < group.stripes());
            prop_assert_eq!(scheme.group_offset(at.replica, at.replica_offset), Some(offset));
            prop_assert!(places.insert((at.replica, at.replica_offset)), "twice");
        }
        // As many positions as bytes, all of them different.
        let all: u64 = scheme.data_replicas().map(|r| group.replica_length(r)).sum();
        prop_assert_eq!(all, length);
        for parity in scheme.parity_replicas() {
            prop_assert_eq!(group.replica_length(parity), group.longest_replica());
        }
        prop_assert_eq!(group.replica_length(ReplicaIndex::FIRST), group.longest_replica());
    }

    #[test]
    fn cells_and_replica_ranges_have_the_bytes_of_a_range(
        scheme in schemes(),
        length in 1_u64..3000,
        a in 0.0..=1.0,
        b in 0.0..=1.0,
    ) {
        let group = BlockGroup::new(scheme, length);
        let (a, b) = ((length as f64 * a) as u64, (length as f64 * b) as u64);
        let range = a.min(b)..a.max(b);
        let expected: BTreeSet<(ReplicaIndex, u64)> = range
            .clone()
            .map(|offset| scheme.locate(offset))
            .map(|at| (at.replica, at.replica_offset))
            .collect();
        let mut of_cells = BTreeSet::new();
        let mut next = range.start;
        for part in group.cells(range.clone()).unwrap() {
            prop_assert_eq!(part.group_offset, next);
            prop_assert!(part.length > 0);
            next += part.length;
            let from = part.position.replica_offset;
            of_cells.extend((from..from + part.length).map(|at| (part.position.replica, at)));
        }
        prop_assert_eq!(next, range.end);
        prop_assert_eq!(&of_cells, &expected);
        let ranges = group.replica_ranges(range).unwrap();
        let of_ranges: BTreeSet<_> =
            ranges.into_iter().flat_map(|(replica, r)| r.map(move |at| (replica, at))).collect();
        prop_assert_eq!(of_ranges, expected);
    }

    #[test]
    fn chunks_and_stripes_are_the_whole_of_every_replica(
        scheme in schemes(),
        length in 0_u64..3000,
    ) {
        let group = BlockGroup::new(scheme, length);
        for replica in scheme.replicas() {
            let mut at = 0;
            for (number, chunk) in (1..).zip(group.chunks(replica)) {
                prop_assert_eq!((chunk.number, chunk.offset), (number, at));
                let stripe = group.stripe(number - 1).unwrap();
                prop_assert_eq!(stripe.of(replica), chunk.length);
                prop_assert!(!stripe.is_padding(replica));
                at += chunk.length;
            }
            prop_assert_eq!(at, group.replica_length(replica));
            prop_assert_eq!(group.is_padding(replica), at == 0);
            let all = (0..group.stripes()).map(|s| group.stripe(s).unwrap().of(replica));
            prop_assert_eq!(all.sum::<u64>(), at);
        }
    }
}
