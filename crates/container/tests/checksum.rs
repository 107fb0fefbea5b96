//! Checksums: stream equals whole, parts verify with cut checksums, every flipped bit is found.

use container::checksum::{ChecksumError, ChecksumStream, compute, cut, verify, verify_part};
use proptest::prelude::*;
use proto::datanode::{ChecksumData, ChecksumType};

fn kinds() -> impl Strategy<Value = ChecksumType> {
    prop_oneof![
        Just(ChecksumType::None),
        Just(ChecksumType::Crc32),
        Just(ChecksumType::Crc32c),
        Just(ChecksumType::Sha256),
        Just(ChecksumType::Md5),
    ]
}

proptest! {
    #[test]
    fn a_stream_of_pieces_gives_the_checksums_of_the_whole(
        kind in kinds(),
        slice in 1u32..300,
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..12),
    ) {
        let whole: Vec<u8> = pieces.concat();
        let mut stream = ChecksumStream::new(kind, slice);
        for piece in &pieces {
            stream.update(piece);
        }
        let sums = stream.finish();
        prop_assert_eq!(&sums, &compute(kind, slice, &whole));
        prop_assert_eq!(verify(&sums, &whole), Ok(()));
        // The stream restarts: slices do not continue into the next chunk.
        stream.update(&whole);
        prop_assert_eq!(stream.finish(), sums);
    }

    #[test]
    fn any_flipped_bit_is_found(
        kind in kinds().prop_filter("NONE finds nothing", |k| *k != ChecksumType::None),
        slice in 1u32..100,
        mut data in prop::collection::vec(any::<u8>(), 1..400),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let sums = compute(kind, slice, &data);
        let at = at.index(data.len());
        data[at] ^= 1 << bit;
        let hit = at / slice as usize;
        prop_assert_eq!(
            verify(&sums, &data),
            Err(ChecksumError::Mismatch { slice: hit, offset: hit as u64 * u64::from(slice) })
        );
    }

    #[test]
    fn a_part_on_slices_verifies_with_its_cut_checksums(
        kind in kinds(),
        slice in 1u64..50,
        data in prop::collection::vec(any::<u8>(), 1..600),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let len = data.len() as u64;
        let slices = len.div_ceil(slice);
        let (a, b) = (from.index(slices as usize) as u64, to.index(slices as usize) as u64 + 1);
        prop_assume!(a < b);
        let (start, end) = (a * slice, (b * slice).min(len));
        let sums = compute(kind, slice as u32, &data);
        let part = &data[start as usize..end as usize];
        let cut_sums = cut(&sums, len, start, end - start).unwrap();
        prop_assert_eq!(&cut_sums.checksums, &compute(kind, slice as u32, part).checksums);
        prop_assert_eq!(verify(&cut_sums, part), Ok(()));
        prop_assert_eq!(verify_part(&sums, a as usize, part), Ok(()));
    }

    #[test]
    fn junk_checksum_data_never_panics(
        kind in any::<i32>().prop_map(|n| n % 8),
        bytes_per_checksum in any::<u32>(),
        sums in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        data in prop::collection::vec(any::<u8>(), 0..100),
        (chunk_len, offset, len) in (any::<u64>(), any::<u64>(), any::<u64>()),
    ) {
        let sums = ChecksumData {
            r#type: kind,
            bytes_per_checksum,
            checksums: sums.into_iter().map(Into::into).collect(),
        };
        let _ = verify(&sums, &data);
        let _ = verify_part(&sums, offset as usize % 9, &data);
        let _ = cut(&sums, chunk_len, offset, len);
        let _ = cut(&sums, 100, offset % 120, len % 120);
    }
}

#[test]
fn parts_off_the_slices_are_refused() {
    let sums = compute(ChecksumType::Crc32, 16, &[1; 50]);
    assert!(cut(&sums, 50, 16, 34).is_ok());
    for (offset, len) in [(1, 16), (16, 10), (0, 51), (48, 1)] {
        let refused = cut(&sums, 50, offset, len);
        assert!(matches!(refused, Err(ChecksumError::Unaligned { .. })), "{offset}+{len}");
    }
}

#[test]
fn too_few_or_too_many_checksums_are_refused() {
    let mut sums = compute(ChecksumType::Crc32c, 16, &[1; 50]);
    sums.checksums.push(sums.checksums[0].clone());
    assert_eq!(verify(&sums, &[1; 50]), Err(ChecksumError::Count { got: 5, expected: 4 }));
    sums.checksums.truncate(3);
    assert_eq!(verify(&sums, &[1; 50]), Err(ChecksumError::Count { got: 3, expected: 4 }));
}

#[test]
fn unknown_types_and_missing_slice_lengths_are_named() {
    let mut sums = compute(ChecksumType::Crc32, 16, b"x");
    sums.bytes_per_checksum = 0;
    assert_eq!(verify(&sums, b"x"), Err(ChecksumError::NoSliceLength));
    sums.r#type = 9;
    assert_eq!(verify(&sums, b"x"), Err(ChecksumError::UnknownType(9)));
}
