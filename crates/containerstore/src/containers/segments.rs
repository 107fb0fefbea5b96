//! The segments of a container, and the records that wait to be written to them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use container::segment::SegmentInfo;
use rustc_hash::FxHashMap;
use types::LocalId;

/// Name of a segment's file.
pub(crate) fn segment_file_name(number: u32) -> String {
    format!("{number:08}.segment")
}

/// A container's segments.
#[derive(Default)]
pub(crate) struct Segments {
    /// All segments, by number.
    pub(crate) infos: BTreeMap<u32, SegmentInfo>,
    /// Highest number ever used: the number of a dropped segment is not reused, since readers of
    /// the old file could confuse the two.
    pub(crate) highest: u32,
    /// Records (and segment headers) not written yet, in the order in which they came.
    pub(crate) queue: Vec<(u32, u64)>,
    /// Their bytes, for readers; a record leaves when it is in the file.
    pub(crate) pending: FxHashMap<(u32, u64), PendingRecord>,
    /// Written but not synced: where the written bytes of each segment end.
    pub(crate) written: BTreeMap<u32, u64>,
    /// Block files written by applying and not synced.
    pub(crate) files: BTreeSet<LocalId>,
}

/// Bytes on their way into a segment.
#[derive(Clone)]
pub(crate) struct PendingRecord {
    /// The segment's or the record's header.
    pub(crate) header: Bytes,
    /// The block's bytes.
    pub(crate) data: Bytes,
}

impl PendingRecord {
    /// Bytes in the file, padding included.
    pub(crate) fn len(&self) -> u64 {
        (self.header.len() + self.data.len() + self.padding().len()) as u64
    }

    pub(crate) fn padding(&self) -> &'static [u8] {
        container::segment::padding(u32::try_from(self.data.len()).unwrap_or(u32::MAX))
    }
}
