//! Reading frames off a socket.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::AlignedBuf;
use crate::frame::{HEAD, Head, LARGE_PAYLOAD, crc32c};

/// Bytes asked of the socket at once: many small frames, or the start of a large one.
const READ_BUFFER: usize = 64 << 10;
/// Room below which a buffer is given up for a new one. What frames are cut from a buffer keep it alive, in a Raft
/// cache for long: a buffer is used to its end, not left after one frame.
const LEAST_ROOM: usize = 4 << 10;

pub(crate) struct FrameReader<R> {
    socket: R,
    buffer: BytesMut,
    max_frame: usize,
}

pub(crate) struct Frame {
    pub(crate) head: Head,
    pub(crate) header: Bytes,
    pub(crate) payload: Bytes,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(socket: R, max_frame: usize) -> Self {
        Self { socket, buffer: BytesMut::with_capacity(READ_BUFFER), max_frame }
    }

    async fn fill(&mut self, len: usize) -> io::Result<()> {
        while self.buffer.len() < len {
            let missing = len - self.buffer.len();
            self.make_room(missing);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// Room for this many more bytes, and some.
    fn make_room(&mut self, missing: usize) {
        if self.buffer.capacity() - self.buffer.len() < missing.max(LEAST_ROOM) {
            self.buffer.reserve(missing.max(READ_BUFFER));
        }
    }

    /// The next frame; `None` when the peer closed between frames.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Frame>> {
        if self.buffer.is_empty() {
            self.make_room(LEAST_ROOM);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
        self.fill(HEAD).await?;
        let mut head = [0; HEAD];
        self.buffer.copy_to_slice(&mut head);
        let head = Head::decode(&head, self.max_frame)?;
        let header_len = head.header_len as usize;
        let payload_len = head.payload_len as usize;
        if payload_len >= LARGE_PAYLOAD {
            self.fill(header_len).await?;
            // Copied: the header may stay in a Raft cache for long, and would keep the first part of the payload, which
            // is behind it in the buffer, in memory.
            let header = Bytes::copy_from_slice(&self.buffer[..header_len]);
            self.buffer.advance(header_len);
            let mut payload = AlignedBuf::new(payload_len);
            let there = payload_len.min(self.buffer.len());
            self.buffer.copy_to_slice(&mut payload[..there]);
            self.socket.read_exact(&mut payload[there..]).await?;
            return Self::checked(head, header, payload.freeze());
        }
        self.fill(header_len + payload_len).await?;
        let header = self.buffer.split_to(header_len).freeze();
        let payload = self.buffer.split_to(payload_len).freeze();
        Self::checked(head, header, payload)
    }

    fn checked(head: Head, header: Bytes, payload: Bytes) -> io::Result<Option<Frame>> {
        if crc32c(&header) != head.header_crc {
            let reason = "frame header does not match its checksum";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(Some(Frame { head, header, payload }))
    }
}
