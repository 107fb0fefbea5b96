//! Small blocks, packed.
//!
//! A block gets its place in the container's active segment when it is applied; the bytes wait in
//! memory, readable, and are written in long runs: when enough wait on the disk, or at a flush.
//! Until then the Raft log is what makes them durable.

mod append;
mod compact;
mod first_look;
mod read;
mod recover;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use container::segment::SegmentInfo;
use rustc_hash::FxHashMap;
use types::LocalId;

pub(crate) use recover::{Recovered, file_name, recover};

/// A container's segments.
#[derive(Default)]
pub(crate) struct Segments {
    /// All segments, by number.
    pub(crate) infos: BTreeMap<u32, SegmentInfo>,
    /// Highest number ever used: a segment that is dropped does not give its number to another
    /// file, which readers of the old one could take for it.
    pub(crate) highest: u32,
    /// Records (and segment headers) not written yet, in the order in which they came.
    pub(crate) queue: Vec<(u32, u64)>,
    /// Their bytes, for readers; a record leaves when it is in the file.
    pub(crate) pending: FxHashMap<(u32, u64), Pending>,
    /// Written but not synced: where the written bytes of each segment end.
    pub(crate) written: BTreeMap<u32, u64>,
    /// Block files written by applying and not synced.
    pub(crate) files: BTreeSet<LocalId>,
}

/// Bytes on their way into a segment.
#[derive(Clone)]
pub(crate) struct Pending {
    /// The segment's or the record's header.
    pub(crate) header: Bytes,
    /// The block's bytes.
    pub(crate) data: Bytes,
}

impl Pending {
    /// Bytes in the file, padding included.
    pub(crate) fn len(&self) -> u64 {
        (self.header.len() + self.data.len() + self.padding().len()) as u64
    }

    pub(crate) fn padding(&self) -> &'static [u8] {
        container::segment::padding(u32::try_from(self.data.len()).unwrap_or(u32::MAX))
    }
}
