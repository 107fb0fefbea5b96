//! Positions in the Raft log of a pipeline, and how far a pipeline is on a disk.

/// A position in a pipeline's Raft log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Position {
    /// Term of the entry.
    pub term: u64,
    /// Index of the entry.
    pub index: u64,
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Position {
    /// By index; the term only distinguishes equal indexes.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.index, self.term).cmp(&(other.index, other.term))
    }
}

impl Position {
    /// Encodes it for a row.
    pub(crate) fn encode(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.term.to_be_bytes());
        out[8..].copy_from_slice(&self.index.to_be_bytes());
        out
    }

    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        let (term, index) = value.split_first_chunk::<8>()?;
        let index = <[u8; 8]>::try_from(index).ok()?;
        Some(Self { term: u64::from_be_bytes(*term), index: u64::from_be_bytes(index) })
    }
}

/// Positions of a pipeline on a disk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PipelinePositions {
    /// Applied since the start, or put back by replay.
    pub applied: Position,
    /// Durable with all bytes: replay starts after it, the log may be trimmed up to it.
    pub durable: Position,
    /// Position of the tables when they were opened: entries up to here only restore bytes.
    pub seen: Position,
}

impl PipelinePositions {
    /// Are there entries still to be replayed?
    pub(crate) fn replaying(&self) -> bool {
        self.applied.index < self.seen.index
    }
}
