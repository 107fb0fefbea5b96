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

/// Chunks that are read from slow disks at a time only because a part of them was wanted.
const MOST_FETCHES: usize = 16;

/// First chunks of blocks on fast disks.
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
    /// Opens the directories. Within a runtime of tokio only. Blocks.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn open(options: &CacheOptions) -> Result<Arc<Self>, CacheError> {
        Self::open_on(options, &|_| Box::new(SystemBackend))
    }

    /// As [`open`](Self::open), over other backends: for tests of failing disks.
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

    /// Bytes of a chunk from `offset` on, if they are here, come in time, and `are_right`.
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
            tracing::warn!(?id, "a cached chunk has other bytes than it should");
            count(&self.counters.load_failures);
            directory.wrong(*id);
            count(&self.counters.misses);
            return None;
        }
        count(if loaded.is_some() { &self.counters.hits } else { &self.counters.misses });
        loaded
    }

    /// Whether a chunk that was not here and is read now should come in: not when its block is read
    /// for the first time lately.
    pub fn wants(&self, block: BlockKey) -> bool {
        self.touches.again(block)
    }

    /// Permits one more to fetch a chunk that was read in part, while not too many do.
    pub fn permit_fetch(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.fetches).try_acquire_owned().ok()
    }

    /// A chunk comes in, later, if there is room; `data` are all its bytes, and right.
    pub fn insert(&self, id: ChunkId, data: Bytes, origin: Origin) {
        if data.len() == id.len as usize
            && let Some(directory) = self.directory(&id.block)
        {
            directory.put(id, data, origin);
        }
    }

    /// A block was deleted: its chunk makes room.
    pub fn remove(&self, block: BlockKey) {
        if let Some(directory) = self.directory(&block) {
            directory.remove(block);
        }
    }

    /// The directory of a block: one of those that work, and as few blocks as can be get another
    /// one when one fails (rendezvous hashing).
    fn directory(&self, block: &BlockKey) -> Option<&Arc<Directory>> {
        let of = |n: usize| FxBuildHasher.hash_one((block, n));
        let well = self.directories.iter().enumerate().filter(|(_, one)| one.is_well());
        well.max_by_key(|(n, _)| of(*n)).map(|(_, directory)| directory)
    }

    /// What was counted.
    pub fn figures(&self) -> Figures {
        let holds = self.directories.iter().map(|one| one.holds());
        self.counters.figures(holds.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }

    /// How each directory is.
    pub fn directories(&self) -> Vec<DirectoryFigures> {
        self.directories.iter().map(|one| one.figures()).collect()
    }
}

#[cfg(test)]
mod tests;
