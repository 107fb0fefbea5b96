//! Small chunks that wait for their PutBlock on the leader.
//!
//! A published client writes a small key as a WriteChunk and a PutBlock, which would be a file for
//! every key. So the leader acknowledges a small block's first WriteChunk from here, and proposes
//! it together with its PutBlock as one PutSmallFile: one log entry, packed like our own client's
//! small keys. A WriteChunk is not durable until its PutBlock is acknowledged: a client keeps the
//! bytes until then, and writes them into another block if a leader was lost with them.
//!
//! A chunk leaves with its PutBlock, ahead of any other command of its block, or when it has waited
//! for [`MAX_BUFFER_TIME`].

use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use proto::datanode::WriteChunkRequestProto;
use rustc_hash::FxHashMap;
use types::LocalId;

/// Longest wait of a chunk: clients send PutBlock immediately after the last WriteChunk.
pub(crate) const MAX_BUFFER_TIME: Duration = Duration::from_secs(2);

/// Bytes that a pipeline buffers at most; chunks beyond are written like large ones.
const MAX_BYTES: usize = 16 << 20;

/// The chunks buffered by one pipeline's leader.
#[derive(Debug, Default)]
pub(crate) struct BufferedChunks {
    chunks: Mutex<Chunks>,
}

/// The buffered chunks, under their lock: a chunk that is taken out must have been handed on before
/// the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    by_block: FxHashMap<LocalId, BufferedChunk>,
    bytes: usize,
}

/// A WriteChunk that was answered but not proposed.
#[derive(Debug)]
pub(crate) struct BufferedChunk {
    /// The command as it came, without its bytes.
    pub header: Bytes,
    /// Its own part, decoded.
    pub write: WriteChunkRequestProto,
    /// The bytes.
    pub payload: Bytes,
    /// The leader's term: in a later one the client may have continued elsewhere.
    pub term: u64,
    /// Time of its arrival.
    pub since: Instant,
}

impl BufferedChunks {
    /// The chunks. The lock is held for moments only.
    pub fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock()
    }
}

impl Chunks {
    /// Buffers a chunk, unless the block has one here already or the buffer is full: then it is
    /// returned.
    pub fn insert(
        &mut self,
        block: LocalId,
        chunk: BufferedChunk,
    ) -> Result<(), Box<BufferedChunk>> {
        let len = chunk.payload.len();
        if self.by_block.contains_key(&block) || self.bytes + len > MAX_BYTES {
            return Err(Box::new(chunk));
        }
        self.bytes += len;
        self.by_block.insert(block, chunk);
        Ok(())
    }

    /// The block's chunk, if one is buffered.
    pub fn take(&mut self, block: LocalId) -> Option<BufferedChunk> {
        let chunk = self.by_block.remove(&block)?;
        self.bytes -= chunk.payload.len();
        Some(chunk)
    }

    /// Chunks that came before `moment`.
    pub fn take_before(&mut self, moment: Instant) -> Vec<BufferedChunk> {
        let late = self.by_block.iter().filter(|(_, chunk)| chunk.since < moment);
        let late: Vec<LocalId> = late.map(|(block, _)| *block).collect();
        late.into_iter().filter_map(|block| self.take(block)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(len: usize) -> BufferedChunk {
        BufferedChunk {
            header: Bytes::new(),
            write: WriteChunkRequestProto::default(),
            payload: vec![1; len].into(),
            term: 1,
            since: Instant::now(),
        }
    }

    #[test]
    fn what_is_held_is_bounded_and_room_comes_back() {
        let buffered = BufferedChunks::default();
        let mut chunks = buffered.lock();
        chunks.insert(LocalId(1), chunk(MAX_BYTES)).unwrap();
        assert!(chunks.insert(LocalId(2), chunk(1)).is_err(), "no room");
        assert!(chunks.take(LocalId(2)).is_none());
        assert_eq!(chunks.take(LocalId(1)).unwrap().payload.len(), MAX_BYTES);
        chunks.insert(LocalId(2), chunk(1)).unwrap();
        assert!(chunks.insert(LocalId(2), chunk(1)).is_err(), "one chunk for a block");
    }

    #[test]
    fn late_chunks_leave() {
        let mut chunks = Chunks::default();
        let before = Instant::now();
        chunks.insert(LocalId(1), chunk(10)).unwrap();
        assert!(chunks.take_before(before).is_empty());
        let late = chunks.take_before(Instant::now() + Duration::from_millis(1));
        assert_eq!(late.len(), 1);
        assert_eq!(chunks.bytes, 0);
    }
}
