//! Plans the reads of a range of a block: whole checksum slices of chunks, in requests of bounded
//! size.

use std::ops::Range;

use proto::datanode::{ChecksumType, ChunkInfo};

/// A part of a chunk to read, and the requested bytes of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    /// Index into the block's chunks.
    pub(super) chunk: usize,
    /// Bytes to read, relative to the chunk; whole checksum slices.
    pub(super) read: Range<u64>,
    /// Requested bytes, relative to `read`.
    pub(super) keep: Range<usize>,
}

/// Number of bytes covered by one checksum of the chunk; the whole chunk if it has none.
pub(super) fn slice_of(chunk: &ChunkInfo) -> u64 {
    let sums = &chunk.checksum_data;
    if sums.r#type == ChecksumType::None as i32 || sums.bytes_per_checksum == 0 {
        return 1;
    }
    u64::from(sums.bytes_per_checksum)
}

/// The pieces that cover `range` of a block with `chunks`, each of about `most` bytes at most.
pub(super) fn plan(chunks: &[ChunkInfo], range: Range<u64>, most: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let end = chunk.offset.saturating_add(chunk.len);
        let wanted = range.start.max(chunk.offset)..range.end.min(end);
        if wanted.start >= wanted.end {
            continue;
        }
        let wanted = wanted.start - chunk.offset..wanted.end - chunk.offset;
        let slice = slice_of(chunk);
        let step = (most / slice).max(1) * slice;
        let mut at = wanted.start / slice * slice;
        while at < wanted.end {
            let stop = (at + step).min(wanted.end.div_ceil(slice) * slice).min(chunk.len);
            let keep_from = wanted.start.saturating_sub(at);
            let keep_to = wanted.end.min(stop) - at;
            pieces.push(Piece {
                chunk: index,
                read: at..stop,
                keep: keep_from as usize..keep_to as usize,
            });
            at = stop;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proto::datanode::ChecksumData;

    use super::*;

    fn chunk(offset: u64, len: u64, kind: ChecksumType, slice: u32) -> ChunkInfo {
        ChunkInfo {
            chunk_name: String::new(),
            offset,
            len,
            metadata: Vec::new(),
            checksum_data: ChecksumData {
                r#type: kind as i32,
                bytes_per_checksum: slice,
                checksums: Vec::new(),
            },
            stripe_checksum: None,
        }
    }

    #[test]
    fn every_range_is_covered_once_by_whole_slices() {
        let kinds = [(ChecksumType::Crc32, 10), (ChecksumType::None, 0)];
        for (kind, slice) in kinds {
            let chunks =
                [chunk(0, 95, kind, slice), chunk(95, 40, kind, slice), chunk(135, 7, kind, slice)];
            for start in 0..142 {
                for end in start + 1..=142 {
                    for most in [1, 10, 25, 1000] {
                        let mut at = start;
                        for piece in plan(&chunks, start..end, most) {
                            let c = &chunks[piece.chunk];
                            assert!(piece.read.end <= c.len && piece.read.start < piece.read.end);
                            let step = slice_of(c);
                            assert_eq!(piece.read.start % step, 0);
                            assert!(piece.read.end % step == 0 || piece.read.end == c.len);
                            let from = c.offset + piece.read.start + piece.keep.start as u64;
                            assert_eq!(from, at, "{start}..{end}");
                            at += piece.keep.len() as u64;
                            assert!(piece.read.end - piece.read.start <= most.max(step));
                        }
                        assert_eq!(at, end, "{start}..{end}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_empty_trailing_chunk_is_passed_over() {
        let chunks = [chunk(0, 5, ChecksumType::Crc32, 16), chunk(5, 0, ChecksumType::Crc32, 16)];
        assert_eq!(plan(&chunks, 0..5, 100).len(), 1);
    }
}
