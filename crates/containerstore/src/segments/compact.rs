//! Copying live records out of mostly dead segments, so that their files can be deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use blockio::block_on;
use container::ContainerState;
use container::segment::SegmentInfo;
use metastore::{Batch, Durability, IterRange};
use scheduling::Rests;
use types::LocalId;

use crate::containers::Container;
use crate::error::{Result, StorageError};
use crate::read_timeout::ReadTimeout;
use crate::tables::{self, BLOCK_DATA, Packed, SEGMENTS, StoredBlock};

/// Blocks moved under one lock.
const PORTION: usize = 128;

/// Places of records that are in memory at once; those of one segment may be more.
const FOUND: u64 = 100_000;

impl Container {
    /// Moves the live records of segments to the active one. The rows that point to them are
    /// visible at once and durable with the next flush; only then may the files be deleted. Blocks.
    ///
    /// # Errors
    /// Damaged records among them, or a disk that fails: then no segment may be dropped.
    pub(crate) fn move_out_of(
        self: &Arc<Self>,
        segments: &BTreeMap<u32, SegmentInfo>,
        segment_size: u64,
        rests: &mut Rests,
    ) -> Result<()> {
        // Copies that an earlier try could not write are written first: on a disk that stays full,
        // each try would add its own to those that wait in memory.
        self.disk().flush_replica(self)?;
        // All rows of the container are read for each group of segments.
        let (mut group, mut records) = (BTreeSet::new(), 0u64);
        for (number, info) in segments {
            let sum = records.saturating_add(info.live_records);
            if sum > FOUND && !group.is_empty() {
                self.move_group(&group, segment_size, rests)?;
                group.clear();
                records = 0;
            }
            group.insert(*number);
            records = records.saturating_add(info.live_records);
        }
        self.move_group(&group, segment_size, rests)
    }

    fn move_group(
        self: &Arc<Self>,
        segments: &BTreeSet<u32>,
        segment_size: u64,
        rests: &mut Rests,
    ) -> Result<()> {
        let live = self.live_in(segments, rests)?;
        for portion in live.chunks(PORTION) {
            self.move_portion(portion, segment_size, rests)?;
        }
        Ok(())
    }

    /// Blocks whose records lie in one of these segments.
    pub(crate) fn live_in(
        &self,
        segments: &BTreeSet<u32>,
        rests: &mut Rests,
    ) -> Result<Vec<(LocalId, Packed)>> {
        let mut live = Vec::new();
        let mut failed = None;
        let range = IterRange::prefix(tables::prefix(self.id())).background(1 << 20);
        let mut cursor = self.disk().db.iter(BLOCK_DATA, range)?;
        cursor.first();
        cursor.for_each(|key, value| match StoredBlock::read(self.id(), value) {
            Ok(row) => {
                if let (Some(packed), Some(local)) = (row.packed, tables::block_of(key))
                    && segments.contains(&packed.segment)
                {
                    live.push((local, packed));
                }
                rests.rest();
                true
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(live),
        }
    }

    /// The copies are durable before a row points to one: the log, which has the bytes of recently
    /// written blocks, may have been trimmed after these.
    fn move_portion(
        self: &Arc<Self>,
        portion: &[(LocalId, Packed)],
        size: u64,
        rests: &mut Rests,
    ) -> Result<()> {
        let mut read = Vec::with_capacity(portion.len());
        for (local, from) in portion {
            let Some(row) = self.block_row(*local)? else { continue };
            // Deleted meanwhile: its bytes may be punched already.
            if row.packed == Some(*from) {
                let data = block_on(self.read_packed(*local, *from, ReadTimeout::Unlimited))?;
                read.push((*local, row.bcsid(), *from, data));
            }
            rests.rest();
        }
        let append = |(local, bcsid, from, data)| {
            (local, from, self.append_dead_record(local, bcsid, data, size))
        };
        let copies: Vec<_> = read.into_iter().map(append).collect();
        self.disk().flush_replica(self)?;
        let _commit = self.commit.lock();
        if self.state() == ContainerState::Deleted {
            return Ok(());
        }
        let mut batch = Batch::new();
        let mut touched = Vec::new();
        for (local, from, to) in copies {
            let Some(row) = self.block_row(local)? else { continue };
            if row.packed != Some(from) {
                continue;
            }
            self.place(&to);
            self.unplace(&from);
            touched.extend([from.segment, to.segment]);
            let (bcsid, length) = (row.bcsid(), row.length());
            let value = tables::encode_block(&row.into_wire(), bcsid, length, Some(&to));
            batch.put(BLOCK_DATA, tables::block_key(self.id(), local), value);
        }
        self.put_segment_rows(touched, &mut batch);
        Ok(self.disk().db.write(batch, Durability::NoWal)?)
    }

    /// Removes the file and the row of a segment without live records.
    pub(crate) fn drop_segment(&self, number: u32) -> Result<u64> {
        let _commit = self.commit.lock();
        if self.state() == ContainerState::Deleted {
            return Ok(0);
        }
        let info = {
            let mut segments = self.segments.lock();
            let Some(info) = segments.infos.get(&number).copied() else { return Ok(0) };
            if !info.sealed || info.live_records > 0 {
                return Ok(0);
            }
            let queued = |key: &(u32, u64)| key.0 == number;
            let records = segments.pending.iter().filter(|(key, _)| queued(key) && key.1 > 0);
            let bytes: u64 = records.map(|(_, record)| record.len()).sum();
            self.disk().pending.fetch_sub(bytes as usize, Ordering::Relaxed);
            segments.pending.retain(|key, _| !queued(key));
            segments.queue.retain(|key| !queued(key));
            segments.written.remove(&number);
            segments.infos.remove(&number);
            info
        };
        let mut batch = Batch::new();
        batch.delete(SEGMENTS, tables::segment_key(self.id(), number));
        self.disk().db.write(batch, Durability::NoWal)?;
        let path = self.segment_path(number).to_path_buf();
        block_on(self.disk().io.unlink(vec![path])).map_err(StorageError::io(self.id()))?;
        Ok(info.end)
    }
}
