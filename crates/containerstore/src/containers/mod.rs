//! Replicas of containers: their state, places, files and rows.
//!
//! # Order of locks
//! A thread that holds one of these takes only those below it. [`lock_order`](crate::lock_order)
//! checks it in tests and debug builds.
//!
//! | lock | is held |
//! | --- | --- |
//! | unfreed space of a disk | while space of deleted blocks is given back |
//! | [creation lock](crate::creation_lock) | while a replica is created, removed, or replaced by a copy |
//! | `Container::changing` | from the check of the state to the write of the `.container` file with the new one |
//! | `Disk::flushing` | during a flush of the disk |
//! | `Container::writing` | while queued records are written to their segments |
//! | `Container::commit` | from computing new sums until their rows are written; of several containers in ascending order of their ids |
//! | step of a copy | while its rows or its folder change |
//! | `Container::segments` | for moments, or while the end of a segment's file is cut |
//! | `Container::meta` | for moments |
//! | `Disk::pipelines`, `Disk::deleting`, `Disk::dirty` | for moments |
//!
//! A flush takes `commit` of each dirty replica: no thread waits for one while it holds `commit`.
//! All other mutexes are held for moments, and of these only `meta` and `dirty` are taken under
//! them.

mod adopt;
mod arrived;
pub(crate) mod closed_row;
mod create;
mod deleted_before_write;
mod file;
mod remove;
mod report;
mod rows;
mod segments;
mod subset;
mod sums;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use container::ContainerState;
use metastore::Cached;
use proto::datanode::{ContainerDataProto, ContainerType, KeyValue};
use rustc_hash::{FxHashMap, FxHashSet};
use types::{ContainerId, LocalId, PipelineId};

pub(crate) use arrived::ARRIVED;
pub use create::{InitialState, NewContainer};
pub(crate) use deleted_before_write::{DeletedBeforeWrite, drop_ended};
pub(crate) use file::{ContainerFile, is_there, may_hold_replica};
pub(crate) use remove::{drop_left_rows, drop_rows, remove, remove_folder, set_aside, take_away};
pub(crate) use rows::PAGE;
pub(crate) use segments::{PendingRecord, Segments, segment_file_name};
pub(crate) use sums::{Sealed, Sums};

use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::lock_order::OrderedMutex;
use crate::read_timeout::ReadTimeout;
use crate::scan_history::ScanTimes;
use crate::tables::{self, BLOCK_DATA, StoredBlock};
use crate::tracker::Tracker;

/// Key of the commit sequence id in a node's response about its replica: Ozone's message has no
/// field for it.
const BCSID_KEY: &str = "trioxide.bcsid";

/// Returns the commit sequence id in a node's response about its replica; 0 if there is none.
pub fn bcsid_of(data: &ContainerDataProto) -> u64 {
    let mut told = data.metadata.iter().filter(|pair| pair.key == BCSID_KEY);
    told.find_map(|pair| pair.value.as_deref()?.parse().ok()).unwrap_or(0)
}

/// One replica of a container.
pub struct Container {
    id: ContainerId,
    disk: Arc<Disk>,
    dir: PathBuf,
    chunks: PathBuf,
    fixed: Fixed,
    meta: OrderedMutex<Meta>,
    /// Held from computing new sums until they are written: rounds and deletions of one container
    /// do not mix.
    pub(crate) commit: OrderedMutex<()>,
    /// Serializes changes of its state.
    pub(crate) changing: OrderedMutex<()>,
    pub(crate) segments: OrderedMutex<Segments>,
    /// Serializes writes of queued records, so that a sync covers the ones queued before.
    pub(crate) writing: OrderedMutex<()>,
    traffic: Traffic,
    /// Chunks written without a log since it was created or opened; few containers have any.
    writes: OnceLock<Tracker>,
    /// Times of its scans.
    pub(crate) scanned: ScanTimes,
    /// SCM has received a report that it is full.
    pub(crate) full: AtomicBool,
    /// It was loaded from rows, and its files are not checked yet.
    pub(crate) unseen: AtomicBool,
}

/// Fields that never change.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    pub(crate) pipeline: Option<PipelineId>,
    pub(crate) origin: String,
    pub(crate) replica_index: i32,
    pub(crate) max_size: u64,
}

struct Meta {
    state: ContainerState,
    /// Minimum of its counts, if it had rows when it was sealed.
    sealed: Option<Sealed>,
    sums: Sums,
    deleted_early: FxHashMap<LocalId, DeletedBeforeWrite>,
    /// Number of deletions of blocks since the start.
    deletions: u64,
    /// The flush that makes the last of them durable.
    deletions_flush: u64,
    /// Blocks finalized since the start: their writers are refused early. The rows store it
    /// permanently.
    finalized: FxHashSet<LocalId>,
}

#[derive(Default)]
struct Traffic {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
}

/// A container as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerInfo {
    /// Its number.
    pub id: ContainerId,
    /// Its state.
    pub state: ContainerState,
    /// Its highest block commit sequence id.
    pub bcsid: u64,
    /// Bytes of its blocks.
    pub used: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Blocks that deletion transactions name and that are still here.
    pub pending_delete: u64,
    /// Highest deletion transaction taken.
    pub delete_tx: u64,
    /// Returns the pipeline that created it.
    pub pipeline: Option<PipelineId>,
    /// Its index in an EC group, else 0.
    pub replica_index: i32,
    /// Size at which it counts as full.
    pub max_size: u64,
}

impl Container {
    /// Its number.
    pub fn id(&self) -> ContainerId {
        self.id
    }

    /// Its disk.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Returns the times of its scans.
    pub fn scan_times(&self) -> &ScanTimes {
        &self.scanned
    }

    /// Returns `true` if it was loaded from rows, and its files were not read since.
    pub fn is_unseen(&self) -> bool {
        self.unseen.load(Ordering::Relaxed)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Returns its present state and counts.
    pub fn info(&self) -> ContainerInfo {
        let meta = self.meta.lock();
        let Sums { bcsid, blocks, used, pending_delete, delete_tx, .. } = meta.sums;
        let Fixed { pipeline, replica_index, max_size, .. } = self.fixed;
        let (id, state) = (self.id, meta.state);
        ContainerInfo {
            id,
            state,
            bcsid,
            used,
            blocks,
            pending_delete,
            delete_tx,
            pipeline,
            replica_index,
            max_size,
        }
    }

    /// Its state.
    pub fn state(&self) -> ContainerState {
        self.meta.lock().state
    }

    /// Does it take new writes?
    pub fn is_writable(&self) -> bool {
        self.state().admits_writes()
    }

    /// Returns the form of the container protocol.
    pub fn to_wire(&self) -> ContainerDataProto {
        let info = self.info();
        let number = |n: u64| Some(i64::try_from(n).unwrap_or(i64::MAX));
        ContainerDataProto {
            container_id: self.id.to_wire(),
            metadata: vec![KeyValue {
                key: BCSID_KEY.to_owned(),
                value: Some(info.bcsid.to_string()),
            }],
            container_path: Some(self.dir.display().to_string()),
            bytes_used: number(info.used),
            size: number(info.max_size),
            block_count: number(info.blocks),
            state: Some(info.state.to_data() as i32),
            container_type: Some(ContainerType::KeyValueContainer as i32),
            delete_transaction_id: number(info.delete_tx),
        }
    }

    /// The chunk writes that no log orders.
    pub(crate) fn writes(&self) -> &Tracker {
        self.writes.get_or_init(Tracker::default)
    }

    /// Forgets blocks that nothing was written to since `before`.
    pub(crate) fn forget_idle_writes(&self, before: Instant) {
        if let Some(writes) = self.writes.get() {
            writes.forget_idle(before);
        }
    }

    /// Its index in an EC group, else 0.
    pub(crate) fn replica_index(&self) -> i32 {
        self.fixed.replica_index
    }

    pub(crate) fn pipeline(&self) -> Option<PipelineId> {
        self.fixed.pipeline
    }

    pub(crate) fn sums(&self) -> Sums {
        self.meta.lock().sums
    }

    /// Returns `true` if it takes no more writes and is valid: CLOSED or QUASI_CLOSED.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.state(), ContainerState::Closed | ContainerState::QuasiClosed)
    }

    /// Returns the checksum of its Merkle tree, unless it is unknown or invalid.
    pub(crate) fn known_checksum(&self) -> Option<u64> {
        let known = self.sums().checksum;
        (known != 0 && self.is_settled()).then_some(known)
    }

    /// The caller holds the commit lock.
    pub(crate) fn set_sums(&self, sums: Sums) {
        self.meta.lock().sums = sums;
    }

    /// Is its pipeline putting back what a crash lost?
    pub(crate) fn is_replaying(&self) -> bool {
        self.fixed.pipeline.is_some_and(|id| {
            self.disk.pipelines.lock().get(&id).is_some_and(|positions| positions.replaying())
        })
    }

    /// A block's row.
    pub(crate) fn block_row(&self, local: LocalId) -> Result<Option<StoredBlock>> {
        match self.disk.db.get(BLOCK_DATA, &tables::block_key(self.id, local))? {
            Some(value) => StoredBlock::read(self.id, &value).map(Some),
            None => Ok(None),
        }
    }

    /// As [`block_row`](Self::block_row), which may wait for the disk: not on this thread.
    pub(crate) async fn find_row(
        &self,
        local: LocalId,
        timeout: ReadTimeout,
    ) -> Result<Option<StoredBlock>> {
        let key = tables::block_key(self.id, local);
        match self.disk.db.get_cached(BLOCK_DATA, &key)? {
            Cached::Value(value) => return StoredBlock::read(self.id, &value).map(Some),
            Cached::Absent => return Ok(None),
            Cached::Unknown => {}
        }
        let (disk, id) = (Arc::clone(&self.disk), self.id);
        let look = move || match disk.db.get(BLOCK_DATA, &key)? {
            Some(value) => StoredBlock::read(id, &value).map(Some),
            None => Ok(None),
        };
        let (io, path) = (&self.disk.io, Arc::from(self.path()));
        let found = match timeout {
            ReadTimeout::Unlimited => io.run("look up a block in", path, look).await,
            ReadTimeout::Limited => io.run_timely("look up a block in", path, look).await,
        };
        found.map_err(StorageError::io(self.id))?
    }

    /// The block takes no writes any more.
    pub(crate) fn note_finalized(&self, local: LocalId) {
        self.meta.lock().finalized.insert(local);
    }

    /// Was the block finalized since the start?
    pub(crate) fn was_finalized(&self, local: LocalId) -> bool {
        self.meta.lock().finalized.contains(&local)
    }

    /// A block's own file.
    pub(crate) fn block_path(&self, local: LocalId) -> Arc<Path> {
        Arc::from(self.chunks.join(format!("{local}.block")))
    }

    /// A segment's file.
    pub(crate) fn segment_path(&self, number: u32) -> Arc<Path> {
        Arc::from(self.chunks.join(segment_file_name(number)))
    }

    /// Length of a block's own file, 0 when there is none.
    pub(crate) fn file_length(&self, local: LocalId) -> Result<u64> {
        let path = self.block_path(local);
        match std::fs::metadata(&path) {
            Ok(file) => Ok(file.len()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(StorageError::disk(&path, e)),
        }
    }

    /// Continues the counts of another replica of it.
    pub(crate) fn continue_counting(&self, other: &Self) {
        let (to, from) = (&self.traffic, &other.traffic);
        for (to, from) in [
            (&to.reads, &from.reads),
            (&to.read_bytes, &from.read_bytes),
            (&to.writes, &from.writes),
            (&to.written_bytes, &from.written_bytes),
        ] {
            to.fetch_add(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    pub(crate) fn count_read(&self, bytes: u64) {
        self.traffic.reads.fetch_add(1, Ordering::Relaxed);
        self.traffic.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn count_write(&self, bytes: u64) {
        self.traffic.writes.fetch_add(1, Ordering::Relaxed);
        self.traffic.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info().fmt(f)
    }
}
