//! Appending records to segments.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use container::segment::{RecordHeader, SegmentHeader, SegmentInfo, record_len};
use metastore::Batch;
use types::LocalId;

use crate::containers::{Container, PendingRecord, Segments};
use crate::error::Result;
use crate::tables::{self, Packed, SEGMENTS};

impl Segments {
    /// Returns the segment that takes records, created if there is none or the last one is full.
    fn active(&mut self, id: types::ContainerId, size: u64) -> (u32, &mut SegmentInfo) {
        let last = self.infos.last_key_value().map(|(number, info)| (*number, *info));
        let number = match last {
            Some((number, info)) if !info.sealed && info.end < size => number,
            Some((number, _)) => {
                if let Some(info) = self.infos.get_mut(&number) {
                    info.sealed = true;
                }
                self.begin(id)
            }
            None => self.begin(id),
        };
        (number, self.infos.entry(number).or_insert_with(SegmentInfo::empty))
    }

    /// Begins a segment: its header is queued like a record.
    fn begin(&mut self, container: types::ContainerId) -> u32 {
        self.highest += 1;
        let number = self.highest;
        self.infos.insert(number, SegmentInfo::empty());
        self.queue_header(container, number);
        number
    }

    pub(super) fn queue_header(&mut self, container: types::ContainerId, number: u32) {
        let header = Bytes::copy_from_slice(&SegmentHeader { container, number }.encode());
        self.pending.insert((number, 0), PendingRecord { header, data: Bytes::new() });
        self.queue.push((number, 0));
    }
}

impl Container {
    /// Appends a block. Its bytes are readable from now on, once a row points to them.
    pub(crate) fn append_record(
        self: &Arc<Self>,
        local: LocalId,
        bcsid: u64,
        data: Bytes,
        segment_size: u64,
    ) -> Packed {
        let packed = self.append_dead_record(local, bcsid, data, segment_size);
        self.place(&packed);
        packed
    }

    /// Appends the bytes of a block whose row does not point to them yet: until
    /// [`place`](Self::place), the record counts as dead.
    pub(super) fn append_dead_record(
        self: &Arc<Self>,
        local: LocalId,
        bcsid: u64,
        data: Bytes,
        segment_size: u64,
    ) -> Packed {
        let header = RecordHeader::new(local, bcsid, &data);
        let len = record_len(header.len);
        let packed = {
            let mut segments = self.segments.lock();
            let (segment, info) = segments.active(self.id(), segment_size);
            let offset = info.end;
            info.end += len;
            let bytes = Bytes::copy_from_slice(&header.encode(self.id(), offset));
            segments.pending.insert((segment, offset), PendingRecord { header: bytes, data });
            segments.queue.push((segment, offset));
            Packed { segment, offset, len: header.len }
        };
        self.disk().pending.fetch_add(len as usize, Ordering::Relaxed);
        self.disk().mark_dirty(self);
        packed
    }

    /// Marks a block's record as live.
    pub(super) fn place(&self, packed: &Packed) {
        if let Some(info) = self.segments.lock().infos.get_mut(&packed.segment) {
            info.live_bytes += record_len(packed.len);
            info.live_records += 1;
        }
    }

    /// Marks a block's record as dead.
    pub(crate) fn unplace(&self, packed: &Packed) {
        let len = record_len(packed.len);
        if let Some(info) = self.segments.lock().infos.get_mut(&packed.segment) {
            info.live_bytes = info.live_bytes.saturating_sub(len);
            info.live_records = info.live_records.saturating_sub(1);
        }
    }

    /// Reverts an [`unplace`](Self::unplace).
    pub(crate) fn place_back(&self, packed: &Packed) {
        let len = record_len(packed.len);
        if let Some(info) = self.segments.lock().infos.get_mut(&packed.segment) {
            info.live_bytes = info.live_bytes.saturating_add(len);
            info.live_records = info.live_records.saturating_add(1);
        }
    }

    /// Restores bytes at the place of their row, whether or not they are there: the durable length
    /// of a segment proves nothing about a record that was lost in a crash before others were
    /// restored after it.
    pub(crate) fn put_back(
        self: &Arc<Self>,
        packed: &Packed,
        local: LocalId,
        bcsid: u64,
        data: Bytes,
    ) -> Result<()> {
        let header = RecordHeader::new(local, bcsid, &data);
        {
            let mut segments = self.segments.lock();
            let key = (packed.segment, packed.offset);
            let known = segments.infos.contains_key(&packed.segment);
            if !known || header.len != packed.len || segments.pending.contains_key(&key) {
                return Ok(());
            }
            let bytes = Bytes::copy_from_slice(&header.encode(self.id(), packed.offset));
            segments.pending.insert(key, PendingRecord { header: bytes, data });
            segments.queue.push(key);
        }
        self.disk().pending.fetch_add(record_len(header.len) as usize, Ordering::Relaxed);
        self.disk().mark_dirty(self);
        Ok(())
    }

    /// Returns `true` if a record of a row may have been lost in a crash and not been restored: it
    /// is not known to be durable, and does not wait to be written.
    pub(crate) fn lacks(&self, packed: &Packed) -> bool {
        let segments = self.segments.lock();
        let number = packed.segment;
        let end = packed.offset + record_len(packed.len);
        let durable = segments.infos.get(&number).map_or(0, |info| info.durable);
        end > durable && !segments.pending.contains_key(&(number, packed.offset))
    }

    /// Puts the rows of segments whose sums changed. The caller holds the commit lock.
    pub(crate) fn put_segment_rows(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        batch: &mut Batch,
    ) {
        let segments = self.segments.lock();
        for number in numbers {
            if let Some(info) = segments.infos.get(&number) {
                batch.put(SEGMENTS, tables::segment_key(self.id(), number), info.encode());
                // The segment before it may have been sealed by the same round.
                if let Some((before, sealed)) = segments.infos.range(..number).next_back() {
                    batch.put(SEGMENTS, tables::segment_key(self.id(), *before), sealed.encode());
                }
            }
        }
    }
}
