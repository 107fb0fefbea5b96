//! One piece of a snapshot on the wire.
//!
//! Header, little endian: version (u8), group (16), snapshot (16), number of the piece (u64), flags
//! (u8: 1 in memory, 2 last of all, 4 no piece but a query for the next one), path (block; empty
//! for a snapshot in memory), offset in the file (u64), crc32c of the data (u32), and with the last
//! piece the Raft message (block, else empty). The data is the frame's payload.

use std::path::{Component, Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, checksum};
use uuid::Uuid;

use crate::codec::{Reader, put_block, put_uuid};
use crate::error::FrameError;
use crate::transport::Frame;

const VERSION: u8 = 1;
const IN_MEMORY: u8 = 1;
const LAST: u8 = 2;
const QUERY: u8 = 4;

/// A piece of a snapshot, or a query for the next expected piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) group: Uuid,
    pub(crate) snapshot: Uuid,
    pub(crate) number: u64,
    pub(crate) in_memory: bool,
    pub(crate) last: bool,
    /// It is empty: the sender queries where an interrupted stream resumes.
    pub(crate) ask: bool,
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// The encoded Raft message, with the last piece.
    pub(crate) message: Bytes,
    pub(crate) data: Bytes,
}

fn crc(data: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, data) as u32
}

impl Piece {
    pub(crate) fn encode(&self) -> Frame {
        let mut out = BytesMut::with_capacity(128 + self.message.len());
        out.put_u8(VERSION);
        put_uuid(&mut out, self.group);
        put_uuid(&mut out, self.snapshot);
        out.put_u64_le(self.number);
        let flags = [(self.in_memory, IN_MEMORY), (self.last, LAST), (self.ask, QUERY)];
        out.put_u8(flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum());
        put_block(&mut out, self.path.to_string_lossy().as_bytes());
        out.put_u64_le(self.offset);
        out.put_u32_le(crc(&self.data));
        put_block(&mut out, &self.message);
        Frame { header: out.freeze(), payload: vec![self.data.clone()] }
    }

    pub(crate) fn decode(header: Bytes, data: Bytes) -> Result<Self, FrameError> {
        let mut reader = Reader(header);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(FrameError(format!("unknown version {version}")));
        }
        let (group, snapshot, number) = (reader.uuid()?, reader.uuid()?, reader.u64()?);
        let flags = reader.u8()?;
        let path = std::str::from_utf8(&reader.block()?).map(PathBuf::from);
        let path = path.map_err(|e| FrameError(format!("path: {e}")))?;
        if !inside(&path) {
            return Err(FrameError(format!("path {} is outside of the directory", path.display())));
        }
        let (offset, expected, message) = (reader.u64()?, reader.u32()?, reader.block()?);
        reader.end()?;
        if crc(&data) != expected {
            return Err(FrameError(format!("checksum of piece {number} does not match")));
        }
        let (in_memory, last, ask) =
            (flags & IN_MEMORY != 0, flags & LAST != 0, flags & QUERY != 0);
        Ok(Self { group, snapshot, number, in_memory, last, ask, path, offset, message, data })
    }
}

/// Returns `true` if a path stays below the directory it is joined to.
fn inside(path: &Path) -> bool {
    path.components().all(|c| matches!(c, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(path: &str) -> Piece {
        Piece {
            group: Uuid::new_v4(),
            snapshot: Uuid::new_v4(),
            number: 3,
            in_memory: false,
            last: true,
            ask: false,
            path: path.into(),
            offset: 1 << 40,
            message: Bytes::from_static(b"message"),
            data: Bytes::from_static(b"data"),
        }
    }

    #[test]
    fn a_piece_survives_the_round_trip() {
        let piece = piece("a/b");
        let frame = piece.encode();
        let data = frame.payload[0].clone();
        assert_eq!(Piece::decode(frame.header.clone(), data.clone()).unwrap(), piece);
        for cut in 0..frame.header.len() {
            assert!(Piece::decode(frame.header.slice(..cut), data.clone()).is_err());
        }
    }

    #[test]
    fn damaged_data_and_paths_that_lead_outside_are_refused() {
        let frame = piece("a").encode();
        assert!(Piece::decode(frame.header, Bytes::from_static(b"dats")).is_err());
        for path in ["../a", "/etc/passwd", "a/../../b"] {
            let frame = piece(path).encode();
            assert!(Piece::decode(frame.header, Bytes::from_static(b"data")).is_err(), "{path}");
        }
    }
}
