//! Storage driven the way a pipeline drives it, over real disks that are killed, filled and
//! damaged.
#![allow(clippy::unwrap_used)]

mod arrivals;
mod cached_chunks;
mod checks;
mod closed_rows;
mod commits;
mod damage;
mod deleted_before_write;
mod deletion;
mod deletion_portions;
mod duplicate_replicas;
mod histories;
mod large_blocks;
mod life;
mod lock_order;
mod reconcile;
mod relocation;
mod restart;
mod scan_beside;
mod scan_found;
mod scan_times;
mod transfer;
mod unreadable;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blockio::{Faults, FaultyBackend, block_on};
use bytes::Bytes;
use container::checksum;
use proto::datanode::{BlockData, ChecksumType, ChunkInfo, KeyValue};
use proto::scm_datanode::DeletedBlocksTransaction;
use scheduling::Rests;
use tempfile::TempDir;
use types::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};

use crate::containers::Container;
use crate::error::Result;
use crate::scan::Unpaced;
use crate::tables::Packed;
use crate::*;

pub(crate) const CONTAINER: ContainerId = ContainerId(1);

/// A DataNode's storage with one pipeline, and the log that pipeline would have.
pub(crate) struct Node {
    pub options: StorageOptions,
    pub faults: Faults,
    pub pipeline: PipelineId,
    pub store: Option<ContainerStore>,
    pub log: Vec<Entry>,
    /// Dropped last: a RocksDB that is closed after its files were deleted waits for a second.
    _dir: TempDir,
}

/// Entries that the log would replay.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    Small(LocalId, Bytes),
    Put(BlockData),
    Close,
}

impl Node {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut StorageOptions)) -> Self {
        // On a real file system: tmpfs has no direct I/O and nothing to sync.
        let package = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        let dir = TempDir::new_in(package.replace("crates/containerstore", "target"))
            .or_else(|_| TempDir::new())
            .unwrap();
        let data = DataDirectory::new(dir.path().join("disk"));
        let mut options = StorageOptions::new(vec![data], "CID-test", DatanodeId::random());
        options.closed_from_rows = true;
        change(&mut options);
        let pipeline = PipelineId::random();
        let (faults, log) = (Faults::default(), Vec::new());
        let mut node = Self { _dir: dir, options, faults, pipeline, store: None, log };
        node.open();
        node
    }

    /// Opens the disks, and checks all files as scans do.
    pub fn open(&mut self) {
        self.open_unseen();
        for container in self.store().all() {
            if let Some(Some(why)) = scan::damage_of_unseen(&container) {
                self.store().mark_unhealthy(container.id(), &why).unwrap();
            }
        }
    }

    /// Opens the disks.
    pub fn open_unseen(&mut self) {
        assert!(self.opens(), "no disk can be opened");
    }

    /// Opens the disks; false when none of them can be opened.
    pub fn opens(&mut self) -> bool {
        let mut backend = FaultyBackend::default();
        backend.faults = self.faults.clone();
        let make = move |_| -> Box<dyn blockio::Backend> { Box::new(backend.clone()) };
        self.store = ContainerStore::open_on(self.options.clone(), Some(&make)).ok();
        self.store.is_some()
    }

    pub fn store(&self) -> &ContainerStore {
        self.store.as_ref().unwrap()
    }

    pub fn pipe(&self) -> PipelineStore {
        let store = self.store();
        store.open_pipeline(self.pipeline, &store.disks()[0]).unwrap()
    }

    pub fn container(&self) -> Arc<Container> {
        self.store().container(CONTAINER).unwrap()
    }

    /// Stops without a flush: RocksDB still writes its tables when it closes, the segments lack
    /// what was not written.
    pub fn stop(&mut self) {
        self.store = None;
    }

    /// Kills the node: only the data on the disk at this moment remains.
    pub fn kill(&mut self) {
        let disks: Vec<_> = self.options.dirs.iter().map(|dir| dir.path.clone()).collect();
        let copies: Vec<_> = disks.iter().map(|disk| disk.with_extension("copy")).collect();
        disks.iter().zip(&copies).for_each(|(disk, copy)| copy_tree(disk, copy));
        self.store = None;
        for (disk, copy) in disks.iter().zip(&copies) {
            fs::remove_dir_all(disk).unwrap();
            fs::rename(copy, disk).unwrap();
        }
    }

    pub fn disk_dir(&self) -> PathBuf {
        self.options.dirs[0].path.clone()
    }

    pub fn chunks_dir(&self) -> PathBuf {
        self.container().path().join("chunks")
    }

    /// Appends to the log and applies, one round.
    pub fn apply(&mut self, entries: Vec<Entry>) -> Vec<Result<Committed>> {
        let first = self.log.len() as u64 + 1;
        self.log.extend(entries.iter().cloned());
        apply_from(&self.pipe(), first, &entries)
    }

    pub fn put_small(&mut self, local: u64, data: impl Into<Bytes>) -> Committed {
        let entry = Entry::Small(LocalId(local), data.into());
        self.apply(vec![entry]).pop().unwrap().unwrap()
    }

    /// Writes, syncs and commits a block of these chunks.
    pub fn put_large(&mut self, local: u64, chunks: &[Bytes]) -> Committed {
        self.ensure_container();
        let block = block_data(local, chunks);
        for (chunk, data) in block.chunks.iter().zip(chunks) {
            block_on(self.store().write_chunk(id(local), chunk, data.clone())).unwrap();
        }
        block_on(self.store().sync_block(id(local))).unwrap();
        self.apply(vec![Entry::Put(block)]).pop().unwrap().unwrap()
    }

    pub fn ensure_container(&self) {
        let new = NewContainer {
            id: CONTAINER,
            pipeline: Some(self.pipeline),
            ..NewContainer::default()
        };
        self.store().create_container(new).unwrap();
    }

    /// Replays the log as the Raft group does after a restart.
    pub fn replay(&self) {
        let pipe = self.pipe();
        let durable = pipe.durable().index;
        for outcome in apply_from(&pipe, durable + 1, &self.log[durable as usize..]) {
            outcome.unwrap();
        }
    }

    pub fn read(&self, local: u64) -> Result<Bytes> {
        let block = id(local);
        let data = self.store().get_block(block)?;
        let mut all = Vec::new();
        for chunk in &data.chunks {
            let bytes = block_on(self.store().read_chunk(block, chunk, ReadTimeout::Unlimited))?;
            checksum::verify(&chunk.checksum_data, &bytes).unwrap();
            all.extend_from_slice(&bytes);
        }
        Ok(all.into())
    }

    /// Looks the container through.
    pub async fn scan(&self, kind: ScanKind) -> Verdict {
        let (store, now) = (self.store(), SystemTime::now());
        match kind {
            ScanKind::Metadata => store.scan_metadata(CONTAINER, now).await,
            kind => store.scan_data(CONTAINER, kind, &Unpaced, now).await,
        }
        .unwrap()
    }

    pub fn close(&mut self) {
        self.apply(vec![Entry::Close]).pop().unwrap().unwrap();
    }

    pub fn delete(&self, tx: i64, locals: &[u64]) {
        let results = self.store().delete_blocks(&[transaction(tx, locals)]);
        results.into_iter().for_each(|result| result.outcome.unwrap());
    }

    /// Bytes that files of the container take on the disk.
    pub fn space_used(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let files = fs::read_dir(self.chunks_dir()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
    }
}

pub(super) fn apply_from(
    pipe: &PipelineStore,
    first: u64,
    entries: &[Entry],
) -> Vec<Result<Committed>> {
    let mut batch = pipe.begin();
    let mut outcomes = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let at = Position { term: 1, index: first + i as u64 };
        batch.create_container(at, CONTAINER, 0).unwrap();
        outcomes.push(match entry {
            Entry::Small(local, data) => {
                let block = block_data(local.0, std::slice::from_ref(data));
                batch.put_small_file(at, &block, &block.chunks[0], data.clone())
            }
            Entry::Put(block) => batch.put_block(at, block),
            Entry::Close => batch.close_container(at, CONTAINER).map(|()| Committed {
                block: BlockId::default(),
                length: 0,
                replica_index: 0,
            }),
        });
    }
    batch.commit().unwrap();
    outcomes
}

pub(super) fn id(local: u64) -> BlockId {
    BlockId::new(CONTAINER, LocalId(local))
}

pub(super) fn block_data(local: u64, chunks: &[Bytes]) -> BlockData {
    let mut offset = 0;
    let chunks = chunks.iter().enumerate().map(|(i, data)| {
        offset += data.len() as u64;
        ChunkInfo {
            chunk_name: format!("{local}_chunk_{}", i + 1),
            offset: offset - data.len() as u64,
            len: data.len() as u64,
            checksum_data: checksum::compute(ChecksumType::Crc32, 16 << 10, data),
            ..ChunkInfo::default()
        }
    });
    BlockData {
        block_id: id(local).to_datanode(0),
        metadata: vec![KeyValue { key: "TYPE".into(), value: Some("KEY".into()) }],
        chunks: chunks.collect(),
        ..BlockData::default()
    }
}

pub(super) fn transaction(tx: i64, locals: &[u64]) -> DeletedBlocksTransaction {
    DeletedBlocksTransaction {
        tx_id: tx,
        container_id: CONTAINER.to_wire(),
        local_id: locals.iter().map(|local| *local as i64).collect(),
        ..DeletedBlocksTransaction::default()
    }
}

pub(crate) fn pattern(seed: u64, len: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    std::iter::repeat_with(next).take(len).collect::<Vec<_>>().into()
}

/// Copies a tree as it is at one moment: again, if RocksDB's own threads changed it meanwhile.
/// Moves what lives in a segment elsewhere.
fn move_out_of(container: &Arc<Container>, number: u32, segment_size: u64) -> Result<()> {
    let mut segments = container.segments.lock().infos.clone();
    segments.retain(|segment, _| *segment == number);
    container.move_out_of(&segments, segment_size, &mut Rests::none())
}

/// Returns the live records of a segment.
fn live_in(container: &Container, number: u32) -> Vec<(LocalId, Packed)> {
    container.live_in(&[number].into(), &mut Rests::none()).unwrap()
}

fn copy_tree(from: &Path, to: &Path) {
    loop {
        let before = listing(from);
        let mut whole = true;
        for (path, _) in &before {
            let target = to.join(path.strip_prefix(from).unwrap());
            match path.is_dir() {
                true => fs::create_dir_all(target).unwrap(),
                false => whole &= fs::copy(path, target).is_ok(),
            }
        }
        if whole && listing(from) == before {
            return;
        }
        fs::remove_dir_all(to).unwrap();
    }
}

/// All directories, and all files with their lengths; a directory before its contents.
fn listing(dir: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = vec![(dir.to_owned(), 0)];
    let Ok(entries) = fs::read_dir(dir) else { return files };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            files.extend(listing(&entry.path()));
        } else {
            files.push((entry.path(), metadata.len()));
        }
    }
    files.sort();
    files
}
