//! Fuzz targets for segments and their rows.

use types::{ContainerId, LocalId};

use crate::segment::{RecordHeader, SegmentHeader, SegmentInfo};

const CONTAINER: ContainerId = ContainerId(7);
const OFFSET: u64 = 4096;

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let record = RecordHeader::new(LocalId(3), 9, b"content");
    let record = [&record.encode(CONTAINER, OFFSET)[..], b"content"].concat();
    let header = SegmentHeader { container: CONTAINER, number: 1 }.encode().to_vec();
    vec![
        ("segment-header", header_of_segment, vec![header]),
        ("segment-record", record_of_block, vec![record]),
        ("segment-info", info, vec![SegmentInfo::empty().encode().to_vec()]),
    ]
}

fn header_of_segment(data: &[u8]) {
    if let Ok(header) = SegmentHeader::decode(data) {
        assert!(header.expect(&header.encode()).is_ok());
    }
}

fn record_of_block(data: &[u8]) {
    if let Ok(record) = RecordHeader::expect(data, CONTAINER, OFFSET, LocalId(3)) {
        // A decoded record equals the written one: its bytes are there, and no others.
        let content = &data[record.encode(CONTAINER, OFFSET).len()..][..record.len as usize];
        assert!(record.check(content).is_ok());
    }
}

fn info(data: &[u8]) {
    if let Ok(info) = SegmentInfo::decode(data) {
        assert_eq!(SegmentInfo::decode(&info.encode()).ok(), Some(info));
    }
}

#[cfg(test)]
#[test]
fn any_bytes_are_a_segment_or_refused() {
    testkit::fuzz(targets());
}
