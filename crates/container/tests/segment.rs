//! Segment format: golden bytes, round trips, torn tails, junk.

use container::segment::{
    RECORD_HEADER_LEN, RecordHeader, SEGMENT_HEADER_LEN, SegmentError, SegmentHeader, SegmentInfo,
    padding, record_len, space,
};
use proptest::prelude::*;
use types::{ContainerId, LocalId};

const CONTAINER: ContainerId = ContainerId(0x0102);

fn append(file: &mut Vec<u8>, local: u64, data: &[u8]) {
    let header = RecordHeader::new(LocalId(local), local * 10, data);
    let encoded = header.encode(CONTAINER, SEGMENT_HEADER_LEN + file.len() as u64);
    file.extend_from_slice(&encoded);
    file.extend_from_slice(data);
    file.extend_from_slice(padding(header.len));
}

#[test]
fn a_segment_header_has_these_bytes() {
    let header = SegmentHeader { container: CONTAINER, number: 7 };
    let bytes = header.encode();
    assert_eq!(
        hex::encode(&bytes[..24]),
        "4f335345474d4e54\
         0100\
         0000\
         07000000\
         0201000000000000"
            .replace(' ', "")
    );
    assert!(bytes[24..60].iter().all(|b| *b == 0));
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
}

#[test]
fn a_record_has_these_bytes() {
    let header = RecordHeader::new(LocalId(0x0a0b), 5, b"123456789");
    let bytes = header.encode(CONTAINER, 64);
    assert_eq!(
        hex::encode(&bytes[..28]),
        "4f335243\
         09000000\
         0b0a000000000000\
         0500000000000000\
         839206e3"
            .replace(' ', "")
    );
    assert_eq!(RecordHeader::decode(&bytes, CONTAINER, 64), Ok(header));
    assert_eq!(record_len(9), 48);
    assert_eq!(padding(9).len(), 7);
}

#[test]
fn table_values_have_these_bytes() {
    let info = SegmentInfo { end: 1, durable: 2, live_bytes: 3, live_records: 4, sealed: true };
    let golden = "0101000000000000000100000000000000020000000000000003000000000000 0004";
    assert_eq!(hex::encode(info.encode()), golden.replace(' ', ""));
    assert_eq!(SegmentInfo::decode(&info.encode()), Ok(info));
    assert!(SegmentInfo::decode(&[1; 33]).is_err());
}

#[test]
fn headers_in_the_wrong_place_are_refused() {
    let header = RecordHeader::new(LocalId(1), 1, b"abc");
    let bytes = header.encode(CONTAINER, 64);
    let moved = RecordHeader::decode(&bytes, CONTAINER, 72);
    assert_eq!(moved, Err(SegmentError::HeaderChecksum));
    let strange = RecordHeader::decode(&bytes, ContainerId(3), 64);
    assert_eq!(strange, Err(SegmentError::HeaderChecksum));
    let segment = SegmentHeader { container: CONTAINER, number: 7 };
    let other = SegmentHeader { container: CONTAINER, number: 8 };
    assert_eq!(
        other.expect(&segment.encode()),
        Err(SegmentError::Foreign { container: CONTAINER.0, number: 7 })
    );
}

#[test]
fn a_newer_version_is_refused_by_number() {
    let mut bytes = SegmentHeader { container: CONTAINER, number: 7 }.encode();
    bytes[8] = 2;
    let crc = crc_fast::crc32_iscsi(&bytes[..60]).to_le_bytes();
    bytes[60..].copy_from_slice(&crc);
    assert_eq!(SegmentHeader::decode(&bytes), Err(SegmentError::Version(2)));
}

#[test]
fn dead_neighbours_are_punched_together_and_live_pages_are_spared() {
    let one = 100..6000;
    assert_eq!(space::holes(vec![one]), [], "no whole page inside");
    assert_eq!(space::holes(vec![6000..20_000, 100..6000]), [4096..16_384]);
    assert_eq!(space::holes(vec![0..4096, 8192..12_288]), [0..4096, 8192..12_288]);
}

#[test]
fn only_sealed_half_empty_segments_are_compacted() {
    let mut info =
        SegmentInfo { end: 1064, durable: 0, live_bytes: 499, live_records: 3, sealed: true };
    assert!(space::worth_compacting(&info));
    info.live_bytes = 500;
    assert!(!space::worth_compacting(&info));
    info = SegmentInfo { live_bytes: 0, live_records: 0, ..info };
    assert!(!space::worth_compacting(&info) && space::worth_unlinking(&info));
    info.sealed = false;
    assert!(!space::worth_unlinking(&info));
}

proptest! {
    #[test]
    fn records_are_found_again(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut file = Vec::new();
        for (i, data) in blocks.iter().enumerate() {
            append(&mut file, i as u64, data);
        }
        let mut at = 0;
        for (i, data) in blocks.iter().enumerate() {
            let (offset, local) = (SEGMENT_HEADER_LEN + at as u64, LocalId(i as u64));
            let header = RecordHeader::expect(&file[at..], CONTAINER, offset, local).unwrap();
            let start = at + RECORD_HEADER_LEN as usize;
            prop_assert_eq!(&file[start..start + header.len as usize], &data[..]);
            at += record_len(header.len) as usize;
        }
        prop_assert_eq!(at, file.len());
    }

    #[test]
    fn a_torn_record_is_none(
        data in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = Vec::new();
        append(&mut file, 9, &data);
        let cut = cut.index(RECORD_HEADER_LEN as usize + data.len());
        let torn = RecordHeader::expect(&file[..cut], CONTAINER, SEGMENT_HEADER_LEN, LocalId(9));
        prop_assert!(torn.is_err());
    }

    #[test]
    fn any_flipped_bit_of_a_record_is_found(
        data in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut file = Vec::new();
        append(&mut file, 9, &data);
        let at = at.index(RECORD_HEADER_LEN as usize + data.len());
        file[at] ^= 1 << bit;
        let read = RecordHeader::expect(&file, CONTAINER, SEGMENT_HEADER_LEN, LocalId(9));
        prop_assert!(read.is_err());
    }

    #[test]
    fn junk_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), offset in any::<u64>()) {
        let _ = SegmentHeader::decode(&bytes);
        let _ = RecordHeader::decode(&bytes, CONTAINER, offset);
        let _ = SegmentInfo::decode(&bytes);
    }

    #[test]
    fn junk_behind_a_good_header_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), len in any::<u32>()) {
        let header = RecordHeader { local: LocalId(1), bcsid: 2, len, crc: 3 };
        let mut file = header.encode(CONTAINER, 64).to_vec();
        file.extend_from_slice(&bytes);
        prop_assert!(RecordHeader::expect(&file, CONTAINER, 64, LocalId(1)).is_err());
    }
}
