//! Writing packed bytes to their files, in long runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use blockio::{WriteMode, block_on};
use bytes::Bytes;
use container::ContainerState;
use metastore::{Batch, Durability};
use types::{ContainerId, LocalId};

use crate::containers::{Container, Segments};
use crate::disk::{DirtyReplica, Undurable};
use crate::error::{Result, StorageError};

/// Neighbouring records: one write.
struct Run {
    segment: u32,
    offset: u64,
    end: u64,
    /// Bytes of records, without the segment's header: what counts as pending.
    records: u64,
    parts: Vec<Bytes>,
    keys: Vec<(u32, u64)>,
}

impl Segments {
    /// Everything queued, as runs of neighbours.
    fn take_queued(&mut self) -> Vec<Run> {
        let mut keys = std::mem::take(&mut self.queue);
        keys.sort_unstable();
        keys.dedup();
        let mut runs: Vec<Run> = Vec::new();
        for key @ (segment, offset) in keys {
            let Some(record) = self.pending.get(&key) else { continue };
            let end = offset + record.len();
            let counted = if offset == 0 { 0 } else { record.len() };
            let parts = [record.header.clone(), record.data.clone()]
                .into_iter()
                .chain([Bytes::from_static(record.padding())])
                .filter(|part| !part.is_empty());
            match runs.last_mut() {
                Some(run) if run.segment == segment && run.end == offset => {
                    run.parts.extend(parts);
                    run.keys.push(key);
                    run.end = end;
                    run.records += counted;
                }
                _ => {
                    let (parts, keys) = (parts.collect(), vec![key]);
                    runs.push(Run { segment, offset, end, records: counted, parts, keys });
                }
            }
        }
        runs
    }
}

impl DirtyReplica for Container {
    fn id(&self) -> ContainerId {
        self.id()
    }

    fn write_before_sync(&self) -> Result<Undurable> {
        self.write_queued()?;
        let mut segments = self.segments.lock();
        let ends: Vec<_> = std::mem::take(&mut segments.written).into_iter().collect();
        let files: Vec<_> = std::mem::take(&mut segments.files).into_iter().collect();
        drop(segments);
        let of_segments = ends.iter().map(|(number, _)| self.segment_path(*number));
        let to_sync =
            of_segments.chain(files.iter().map(|local| self.block_path(*local))).collect();
        Ok(Undurable { to_sync, ends, files })
    }

    fn write_early(&self) -> Result<()> {
        for number in self.write_queued()? {
            self.disk().io.sync_soon(self.segment_path(number));
        }
        Ok(())
    }

    fn has_row(&self, local: LocalId) -> Result<bool> {
        Ok(self.block_row(local)?.is_some())
    }

    fn note_durable(self: Arc<Self>, ends: &[(u32, u64)]) -> Result<()> {
        if ends.is_empty() {
            return Ok(());
        }
        // Bytes in between may be missing while the pipeline replays: a later flush notes it.
        if self.is_replaying() {
            self.keep_undurable(Undurable { ends: ends.to_vec(), ..Undurable::default() });
            self.disk().mark_dirty(&self);
            return Ok(());
        }
        let _commit = self.commit.lock();
        if self.state() == ContainerState::Deleted {
            return Ok(());
        }
        let mut batch = Batch::new();
        {
            let mut segments = self.segments.lock();
            for (number, end) in ends {
                if let Some(info) = segments.infos.get_mut(number) {
                    info.durable = info.durable.max(*end);
                }
            }
        }
        self.put_segment_rows(ends.iter().map(|(number, _)| *number), &mut batch);
        Ok(self.disk().db.write(batch, Durability::NoWal)?)
    }

    fn keep_undurable(&self, undurable: Undurable) {
        let mut segments = self.segments.lock();
        for (number, end) in undurable.ends {
            let written = segments.written.entry(number).or_default();
            *written = end.max(*written);
        }
        segments.files.extend(undurable.files);
    }
}

impl Container {
    fn write_queued(&self) -> Result<Vec<u32>> {
        let _one = self.writing.lock();
        let runs = self.segments.lock().take_queued();
        let mut numbers: Vec<u32> = runs.iter().map(|run| run.segment).collect();
        numbers.dedup();
        let mut runs = runs.into_iter();
        while let Some(run) = runs.next() {
            let path = self.segment_path(run.segment);
            let write = self.disk().io.write_parts(path, run.offset, run.parts, WriteMode::Cached);
            let outcome = block_on(write).map_err(StorageError::io(self.id()));
            let mut segments = self.segments.lock();
            if let Err(error) = outcome {
                // The bytes are still pending; they are written by the next one.
                segments.queue.extend(run.keys);
                segments.queue.extend(runs.flat_map(|run| run.keys));
                return Err(error);
            }
            for key in &run.keys {
                segments.pending.remove(key);
            }
            let written = segments.written.entry(run.segment).or_default();
            *written = run.end.max(*written);
            drop(segments);
            self.disk().pending.fetch_sub(run.records as usize, Ordering::Relaxed);
        }
        Ok(numbers)
    }

    /// Records that an apply wrote a block's file, for the next flush to sync.
    pub(crate) fn needs_sync(self: &Arc<Self>, local: LocalId) {
        self.segments.lock().files.insert(local);
        self.disk().mark_dirty(self);
    }
}
