//! The database as the rules see it, with a cache of decoded buckets.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use metastore::{IterRange, Store};
use namespace::tables::volume_key;
use namespace::{Bucket, Chains, RowChange, Table, View, ViewError, read_snapshots};
use parking_lot::RwLock;
use prost::Message;
use proto::ozone::{BucketInfo, DirectoryInfo, VolumeInfo};
use rustc_hash::FxHashMap;

use super::directories::DirectoryCache;
use super::directory_epoch::DirectoryEpoch;
use super::retries::{CallKey, Retries};
use crate::error::Error;
use crate::state::column_families::stored;

/// Decoded buckets kept, and volumes. When more buckets are in use the cache is cleared: a miss
/// costs a point read, and clusters have fewer hot buckets than this.
const MOST_BUCKETS: usize = 10_000;

/// An open `om.db`.
pub(crate) struct Tables {
    store: Store,
    retries: Retries,
    buckets: RwLock<Buckets>,
    directories: DirectoryCache,
    directory_epoch: DirectoryEpoch,
    /// The snapshots of all buckets, in step with their rows.
    snapshots: RwLock<Arc<Chains>>,
}

/// Bounds of the caches of decoded rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheSizes {
    /// Bytes of directories.
    pub(crate) directories: usize,
    /// Bytes of recently written rows, for clients that keep a copy.
    pub(crate) updates: usize,
}

/// Decoded buckets and volumes. The apply thread updates buckets in it and removes changed volumes;
/// a reader adds a row only if no round was applied since its read, so that an old row never
/// replaces a new one.
#[derive(Default)]
struct Buckets {
    rows: FxHashMap<Vec<u8>, Bucket>,
    volumes: FxHashMap<Vec<u8>, Arc<VolumeInfo>>,
    round: u64,
}

impl Tables {
    pub(crate) fn new(store: Store, sizes: CacheSizes) -> Result<Self, Error> {
        let retries = Retries::default();
        retries.load(&store)?;
        let tables = Self {
            store,
            retries,
            buckets: RwLock::default(),
            directories: DirectoryCache::new(sizes.directories),
            directory_epoch: DirectoryEpoch::default(),
            snapshots: RwLock::default(),
        };
        *tables.snapshots.write() = Arc::new(read_snapshots(&tables)?);
        Ok(tables)
    }

    /// The earlier answer of a call, if it is a retry.
    pub(crate) fn answered(&self, call: CallKey) -> Result<Option<Bytes>, Error> {
        self.retries.known(call, &self.store)
    }

    pub(super) fn retries(&self) -> &Retries {
        &self.retries
    }

    /// Decoded directories.
    pub(crate) fn directories(&self) -> &DirectoryCache {
        &self.directories
    }

    /// Rounds in which directories move.
    pub(crate) fn directory_epoch(&self) -> &DirectoryEpoch {
        &self.directory_epoch
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Records changes of a round to buckets, and its changed rows of volumes. To be called
    /// after it is written and before the requests are answered.
    pub(crate) fn round_written(
        &self,
        changed: Vec<(Vec<u8>, RowChange)>,
        changed_volumes: &[Vec<u8>],
    ) {
        let mut buckets = self.buckets.write();
        buckets.round += 1;
        for volume in changed_volumes {
            buckets.volumes.remove(volume);
        }
        for (key, change) in changed {
            match change {
                RowChange::PutBucket(bucket) => {
                    if buckets.rows.len() >= MOST_BUCKETS && !buckets.rows.contains_key(&key) {
                        buckets.rows.clear();
                    }
                    buckets.rows.insert(key, bucket);
                }
                RowChange::Put(_) | RowChange::Deleted => {
                    buckets.rows.remove(&key);
                }
            }
        }
    }

    /// Records changes of a round to the rows of snapshots, as
    /// [`round_written`](Self::round_written).
    pub(crate) fn snapshots_written(&self, changed: Vec<(Vec<u8>, RowChange)>) {
        if changed.is_empty() {
            return;
        }
        let mut chains = self.snapshots.write();
        let chains = Arc::make_mut(&mut chains);
        for (key, change) in changed {
            chains.change(&key, change.value().as_deref());
        }
    }

    /// Row `key` of `table`, decoded.
    pub(crate) fn message<M: Message + Default>(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<M>, ViewError> {
        let Some(value) = self.get(table, key)? else { return Ok(None) };
        M::decode(value).map(Some).map_err(|e| ViewError::Damaged {
            table,
            key: String::from_utf8_lossy(key).into_owned(),
            cause: e.to_string(),
        })
    }
}

pub(super) fn failed(table: Table, e: metastore::Error) -> ViewError {
    ViewError::Store { table, cause: e.to_string() }
}

impl View for Tables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ViewError> {
        let value = self.store.get(stored(table), key).map_err(|e| failed(table, e))?;
        Ok(value.map(|v| v.to_bytes()))
    }

    fn exists(&self, table: Table, key: &[u8]) -> Result<bool, ViewError> {
        self.store.contains(stored(table), key).map_err(|e| failed(table, e))
    }

    fn scan(
        &self,
        table: Table,
        start: &[u8],
        end: Option<&[u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ViewError> {
        let mut range = IterRange::from(start);
        if let Some(end) = end {
            if end <= start {
                return Ok(());
            }
            range = range.until(end);
        }
        // Of a snapshot, so that tombstones on the way are skipped and counted.
        let snapshot = self.store.snapshot();
        let mut cursor = snapshot.iter(stored(table), range).map_err(|e| failed(table, e))?;
        cursor.first();
        cursor.for_each(|key, value| each(key, value).is_continue()).map_err(|e| failed(table, e))
    }

    fn bucket(&self, bucket_key: &[u8]) -> Result<Option<Bucket>, ViewError> {
        let round = {
            let buckets = self.buckets.read();
            if let Some(bucket) = buckets.rows.get(bucket_key) {
                return Ok(Some(bucket.clone()));
            }
            buckets.round
        };
        let mut found =
            self.message::<BucketInfo>(Table::BucketTable, bucket_key)?.map(Bucket::new);
        if let Some(bucket) = found.take_if(|bucket| bucket.is_tree()) {
            let key = volume_key(&bucket.volume_name);
            let volume = self.message::<VolumeInfo>(Table::VolumeTable, &key)?;
            found = Some(bucket.in_volume(volume.and_then(|volume| volume.object_id)));
        }
        if let Some(bucket) = &found {
            let mut buckets = self.buckets.write();
            if buckets.round == round && buckets.rows.len() < MOST_BUCKETS {
                buckets.rows.insert(bucket_key.to_vec(), bucket.clone());
            }
        }
        Ok(found)
    }

    fn volume(&self, volume_key: &[u8]) -> Result<Option<Arc<VolumeInfo>>, ViewError> {
        let round = {
            let buckets = self.buckets.read();
            if let Some(volume) = buckets.volumes.get(volume_key) {
                return Ok(Some(Arc::clone(volume)));
            }
            buckets.round
        };
        let found = self.message::<VolumeInfo>(Table::VolumeTable, volume_key)?.map(Arc::new);
        if let Some(volume) = &found {
            let mut buckets = self.buckets.write();
            if buckets.round == round && buckets.volumes.len() < MOST_BUCKETS {
                buckets.volumes.insert(volume_key.to_vec(), Arc::clone(volume));
            }
        }
        Ok(found)
    }

    fn directory(&self, row: &[u8]) -> Result<Option<Arc<DirectoryInfo>>, ViewError> {
        let missed = match self.directories.get(row) {
            Ok(found) => return Ok(Some(found)),
            Err(missed) => missed,
        };
        let found = self.message::<DirectoryInfo>(Table::DirectoryTable, row)?.map(Arc::new);
        if let Some(directory) = &found {
            self.directories.add(row, Arc::clone(directory), missed);
        }
        Ok(found)
    }

    fn snapshots(&self) -> Result<Arc<Chains>, ViewError> {
        Ok(Arc::clone(&self.snapshots.read()))
    }
}
