//! Checksums of streamed data, in a single pass.

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest as Crc};
use md5::Md5;
use proto::datanode::{ChecksumData, ChecksumType};
use sha2::{Digest, Sha256};

/// Computes a chunk's checksums while its bytes arrive, in pieces of any length.
pub struct ChecksumStream {
    kind: ChecksumType,
    slice: usize,
    filled: usize,
    state: State,
    done: Vec<Bytes>,
}

enum State {
    None,
    Crc(Crc),
    Sha256(Box<Sha256>),
    Md5(Box<Md5>),
}

impl ChecksumStream {
    /// Starts a chunk. `bytes_per_checksum` 0 means Ozone's default.
    pub fn new(kind: ChecksumType, bytes_per_checksum: u32) -> Self {
        let slice = match bytes_per_checksum {
            0 => super::DEFAULT_BYTES_PER_CHECKSUM,
            n => n,
        } as usize;
        let state = match kind {
            ChecksumType::None => State::None,
            ChecksumType::Crc32 => State::Crc(Crc::new(CrcAlgorithm::Crc32IsoHdlc)),
            ChecksumType::Crc32c => State::Crc(Crc::new(CrcAlgorithm::Crc32Iscsi)),
            ChecksumType::Sha256 => State::Sha256(Box::default()),
            ChecksumType::Md5 => State::Md5(Box::default()),
        };
        Self { kind, slice, filled: 0, state, done: Vec::new() }
    }

    /// Adds the next bytes of the chunk.
    pub fn update(&mut self, mut data: &[u8]) {
        if matches!(self.state, State::None) {
            return;
        }
        while !data.is_empty() {
            let take = data.len().min(self.slice.saturating_sub(self.filled));
            let (part, rest) = data.split_at(take);
            match &mut self.state {
                State::None => {}
                State::Crc(crc) => crc.update(part),
                State::Sha256(sha) => sha.update(part),
                State::Md5(md5) => md5.update(part),
            }
            self.filled = self.filled.saturating_add(take);
            data = rest;
            if self.filled == self.slice {
                self.end_slice();
            }
        }
    }

    /// Ends the chunk and starts the next one.
    pub fn finish(&mut self) -> ChecksumData {
        if self.filled > 0 {
            self.end_slice();
        }
        if self.kind == ChecksumType::None {
            return super::none();
        }
        ChecksumData {
            r#type: self.kind as i32,
            bytes_per_checksum: u32::try_from(self.slice).unwrap_or(u32::MAX),
            checksums: std::mem::take(&mut self.done),
        }
    }

    fn end_slice(&mut self) {
        let sum = match &mut self.state {
            State::None => return,
            State::Crc(crc) => {
                // The sum is in the low half.
                let [.., a, b, c, d] = crc.finalize_reset().to_be_bytes();
                Bytes::copy_from_slice(&[a, b, c, d])
            }
            State::Sha256(sha) => Bytes::copy_from_slice(&sha.finalize_reset()),
            State::Md5(md5) => Bytes::copy_from_slice(&md5.finalize_reset()),
        };
        self.done.push(sum);
        self.filled = 0;
    }
}
