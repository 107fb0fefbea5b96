//! The cache.

use std::fmt;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;

use blockio::{Backend, SystemBackend};
use bytes::Bytes;
use rustc_hash::FxBuildHasher;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::chunk_id::{BlockKey, ChunkId};
use crate::directory::Directory;
use crate::error::CacheError;
use crate::figures::{Counters, DirectoryFigures, Figures, count};
use crate::index::Origin;
use crate::options::CacheOptions;
use crate::touches::Touches;

/// Maximum number of concurrent reads of whole chunks from slow disks, triggered by reads of a
/// part.
const MOST_FETCHES: usize = 16;

/// A cache of the first chunks of blocks on fast disks.
pub struct ChunkCache {
    directories: Vec<Arc<Directory>>,
    touches: Touches,
    fetches: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl fmt::Debug for ChunkCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkCache").field("figures", &self.figures()).finish_non_exhaustive()
    }
}

impl ChunkCache {
    /// Opens the directories. Only within a tokio runtime. Blocks.
    ///
    /// # Errors
    /// If one of them is unusable.
    pub fn open(options: &CacheOptions) -> Result<Arc<Self>, CacheError> {
        Self::open_on(options, &|_| Box::new(SystemBackend))
    }

    /// As [`open`](Self::open), with other backends: for tests of failing disks.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(
        options: &CacheOptions,
        backend: &dyn Fn(&Path) -> Box<dyn Backend>,
    ) -> Result<Arc<Self>, CacheError> {
        let counters = Arc::new(Counters::default());
        for (n, path) in options.dirs.iter().enumerate() {
            if options.dirs[..n].contains(path) {
                return Err(CacheError::Twice(path.clone()));
            }
        }
        let open = |path| Directory::open(path, options, backend(path), Arc::clone(&counters));
        let directories =
            options.dirs.iter().map(|path| open(path.as_path())).collect::<Result<_, _>>()?;
        let (touches, fetches) = (Touches::new(options.touches), Semaphore::new(MOST_FETCHES));
        Ok(Arc::new(Self { directories, touches, fetches: Arc::new(fetches), counters }))
    }

    /// Returns the bytes of a chunk from `offset` on, if they are cached, read in time, and pass
    /// `are_right`.
    pub async fn read(
        &self,
        id: &ChunkId,
        offset: u64,
        len: usize,
        are_right: impl FnOnce(&Bytes) -> bool,
    ) -> Option<Bytes> {
        let directory = self.directory(&id.block);
        let loaded = match directory {
            Some(directory) => directory.load(id, offset, len).await,
            None => None,
        };
        if let (Some(data), Some(directory)) = (&loaded, directory)
            && !are_right(data)
        {
            tracing::warn!(?id, "cached chunk has wrong data");
            count(&self.counters.load_failures);
            directory.wrong(*id);
            count(&self.counters.misses);
            return None;
        }
        count(if loaded.is_some() { &self.counters.hits } else { &self.counters.misses });
        loaded
    }

    /// Returns `true` if an uncached chunk should be inserted after a read: its block was read
    /// recently.
    pub fn wants(&self, block: BlockKey) -> bool {
        self.touches.again(block)
    }

    /// Permits another fetch of a partially read chunk, within the limit.
    pub fn permit_fetch(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.fetches).try_acquire_owned().ok()
    }

    /// Inserts a chunk asynchronously, if there is space; `data` must be all its bytes, verified.
    pub fn insert(&self, id: ChunkId, data: Bytes, origin: Origin) {
        if data.len() == id.len as usize
            && let Some(directory) = self.directory(&id.block)
        {
            directory.put(id, data, origin);
        }
    }

    /// Removes the chunk of a deleted block.
    pub fn remove(&self, block: BlockKey) {
        if let Some(directory) = self.directory(&block) {
            directory.remove(block);
        }
    }

    /// The directory of a block among the working ones, by rendezvous hashing: a failed directory
    /// moves only its own blocks.
    fn directory(&self, block: &BlockKey) -> Option<&Arc<Directory>> {
        let of = |n: usize| FxBuildHasher.hash_one((block, n));
        let well = self.directories.iter().enumerate().filter(|(_, one)| one.is_well());
        well.max_by_key(|(n, _)| of(*n)).map(|(_, directory)| directory)
    }

    /// Current counters.
    pub fn figures(&self) -> Figures {
        let holds = self.directories.iter().map(|one| one.holds());
        self.counters.figures(holds.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }

    /// Status of each directory.
    pub fn directories(&self) -> Vec<DirectoryFigures> {
        self.directories.iter().map(|one| one.figures()).collect()
    }
}

#[cfg(test)]
mod tests;
