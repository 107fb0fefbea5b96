//! Buffers of chunks.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use container::checksum::{self, ChecksumStream};
use limits::MemoryPermit;
use proto::datanode::ChecksumData;

use crate::Checksum;

/// Pieces below this size are copied together: the overhead of a slice is more than the copy.
const SMALL_PIECE: usize = 4 << 10;

/// Collects written data up to a chunk, without copying larger pieces.
#[derive(Default)]
pub(super) struct ChunkBuffer {
    parts: Vec<Bytes>,
    tail: BytesMut,
    len: usize,
}

/// The bytes of a chunk and their checksums. Clones share the bytes.
#[derive(Clone)]
pub(super) struct Chunk {
    pub(super) parts: Vec<Bytes>,
    pub(super) len: usize,
    pub(super) checksums: ChecksumData,
    /// Memory permit of the bytes, released with the last clone.
    _memory: Option<Arc<MemoryPermit>>,
}

impl Chunk {
    /// A chunk of complete bytes.
    pub(super) fn new(bytes: Bytes, how: Checksum) -> Self {
        let checksums = checksum::compute(how.kind, how.bytes_per_checksum, &bytes);
        Self { len: bytes.len(), parts: vec![bytes], checksums, _memory: None }
    }

    /// Adds the memory permit of its bytes.
    pub(super) fn with_memory(self, memory: Option<MemoryPermit>) -> Self {
        Self { _memory: memory.map(Arc::new), ..self }
    }
}

impl ChunkBuffer {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        if piece.len() < SMALL_PIECE {
            self.tail.extend_from_slice(&piece);
            return;
        }
        self.end_tail();
        self.parts.push(piece);
    }

    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            self.parts.push(self.tail.split().freeze());
        }
    }

    /// The collected data as a chunk; the buffer is empty afterwards.
    pub(super) fn take(&mut self, how: Checksum) -> Chunk {
        self.end_tail();
        let parts = std::mem::take(&mut self.parts);
        let checksums = match parts.as_slice() {
            [whole] => checksum::compute(how.kind, how.bytes_per_checksum, whole),
            parts => {
                let mut stream = ChecksumStream::new(how.kind, how.bytes_per_checksum);
                parts.iter().for_each(|part| stream.update(part));
                stream.finish()
            }
        };
        Chunk { parts, len: std::mem::take(&mut self.len), checksums, _memory: None }
    }
}

#[cfg(test)]
mod tests {
    use proto::datanode::ChecksumType;

    use super::*;

    #[test]
    fn pieces_of_any_size_make_the_same_chunk() {
        let how = Checksum { kind: ChecksumType::Crc32, bytes_per_checksum: 16 << 10 };
        let data = Bytes::from((0..100_000u32).map(|i| (i * 7 % 251) as u8).collect::<Vec<_>>());
        let whole = {
            let mut buffer = ChunkBuffer::default();
            buffer.push(data.clone());
            buffer.take(how)
        };
        for piece in [1, 100, 4096, 5000, 99_999] {
            let mut buffer = ChunkBuffer::default();
            for at in (0..data.len()).step_by(piece) {
                buffer.push(data.slice(at..(at + piece).min(data.len())));
            }
            assert_eq!(buffer.len(), data.len());
            let chunk = buffer.take(how);
            assert_eq!(chunk.parts.concat(), data, "pieces of {piece}");
            assert_eq!(chunk.checksums, whole.checksums, "pieces of {piece}");
            assert_eq!((chunk.len, buffer.len()), (data.len(), 0));
        }
    }
}
