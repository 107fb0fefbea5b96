//! The first chunk of a block, from and to the cache on fast disks ([`chunkcache`]).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use chunkcache::{BlockKey, ChunkCache, ChunkId, Origin};
use container::checksum;
use proto::datanode::{ChecksumType, ChunkInfo};
use rustc_hash::FxHasher;
use types::{BlockId, ContainerId, LocalId};

use crate::containers::Container;
use crate::read_timeout::ReadTimeout;
use crate::store::ContainerStore;
use crate::tables::StoredBlock;

/// A first chunk, and the cache that may have it.
struct Cached<'a> {
    cache: &'a Arc<ChunkCache>,
    chunk: &'a ChunkInfo,
    id: ChunkId,
}

impl ContainerStore {
    /// The first chunk of a block, if there is a cache and it takes such chunks: cached bytes must
    /// be verified, so the cache takes no chunks without checksums, or with slow ones.
    fn cached<'a>(&'a self, block: BlockId, chunk: Option<&'a ChunkInfo>) -> Option<Cached<'a>> {
        let (cache, chunk) = (self.options().cache.as_ref()?, chunk?);
        let sums = &chunk.checksum_data;
        let is_quick = matches!(sums.r#type(), ChecksumType::Crc32 | ChecksumType::Crc32c);
        if chunk.offset != 0 || chunk.len == 0 || !is_quick {
            return None;
        }
        let mut content = FxHasher::default();
        (sums.r#type, sums.bytes_per_checksum, &sums.checksums).hash(&mut content);
        let len = u32::try_from(chunk.len).ok()?;
        let id =
            ChunkId { block: key(block.container, block.local), content: content.finish(), len };
        Some(Cached { cache, chunk, id })
    }

    /// A range of a block that lies in its first chunk, from the cache.
    pub(super) async fn read_cached(
        &self,
        row: &StoredBlock,
        block: BlockId,
        (offset, len): (u64, u64),
    ) -> Option<Bytes> {
        let Cached { cache, chunk, id } = self.cached(block, row.chunks.first())?;
        let end = offset.checked_add(len).filter(|end| *end <= chunk.len)?;
        // From one checksum to another, so that all of it is verified.
        let slice = u64::from(chunk.checksum_data.bytes_per_checksum).max(1);
        let start = offset.checked_div(slice)?.checked_mul(slice)?;
        let stop = end.div_ceil(slice).saturating_mul(slice).min(chunk.len);
        let sums = checksum::cut(&chunk.checksum_data, chunk.len, start, stop - start).ok()?;
        let wanted = usize::try_from(stop - start).ok()?;
        let are_right = |data: &Bytes| checksum::verify(&sums, data).is_ok();
        let data = cache.read(&id, start, wanted, are_right).await?;
        let (from, to) =
            (usize::try_from(offset - start).ok()?, usize::try_from(end - start).ok()?);
        (to <= data.len()).then(|| data.slice(from..to))
    }

    /// Caches a range of a block's first chunk that the cache does not have: it is inserted if the
    /// block is read again. `all` are the bytes from `offset` on that are in memory.
    pub(super) fn cache_read(
        &self,
        container: &Arc<Container>,
        row: &StoredBlock,
        block: BlockId,
        (offset, len): (u64, u64),
        all: &Bytes,
    ) {
        let Some(Cached { cache, chunk, id }) = self.cached(block, row.chunks.first()) else {
            return;
        };
        if offset.saturating_add(len) > chunk.len || !cache.wants(id.block) {
            return;
        }
        if offset == 0 && all.len() >= id.len as usize {
            return insert(cache, id, chunk, all.slice(..id.len as usize), Origin::Read);
        }
        let Some(permit) = cache.permit_fetch() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (cache, chunk) = (Arc::clone(cache), chunk.clone());
        let (container, local) = (Arc::clone(container), block.local);
        runtime.spawn(async move {
            let path = container.block_path(local);
            let read = container.disk().read(path, 0, id.len as usize, ReadTimeout::Limited).await;
            // A read that fails is for a reader to find.
            if let Ok(data) = read {
                insert(&cache, id, &chunk, data, Origin::Read);
            }
            drop(permit);
        });
    }

    /// A chunk was written; it counts once a row has it.
    pub(crate) fn cache_written(&self, block: BlockId, chunk: &ChunkInfo, data: &Bytes) {
        if let Some(Cached { cache, id, .. }) = self.cached(block, Some(chunk))
            && data.len() >= id.len as usize
        {
            cache.insert(id, data.slice(..id.len as usize), Origin::Written);
        }
    }

    /// Blocks were deleted.
    pub(crate) fn leave_cache(&self, container: ContainerId, blocks: &[LocalId]) {
        if let Some(cache) = &self.options().cache {
            blocks.iter().for_each(|local| cache.remove(key(container, *local)));
        }
    }
}

/// Inserts a chunk if its bytes match their checksums.
fn insert(cache: &ChunkCache, id: ChunkId, chunk: &ChunkInfo, data: Bytes, origin: Origin) {
    if checksum::verify(&chunk.checksum_data, &data).is_ok() {
        cache.insert(id, data, origin);
    }
}

fn key(container: ContainerId, local: LocalId) -> BlockKey {
    BlockKey { container: container.0, local: local.0 }
}
