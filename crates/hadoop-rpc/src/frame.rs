//! Reading frames from a socket, and messages from frames.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{decode_varint, encode_varint, encoded_len_varint};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a frame's length.
pub(crate) const LENGTH: usize = 4;
/// Maximum memory allocated ahead of arriving bytes: the declared length of a frame is not trusted.
const READ_AHEAD: usize = 64 << 10;
/// Free space below which a buffer is replaced.
const LEAST_ROOM: usize = 4 << 10;

/// Reads frames.
pub(crate) struct FrameReader<R> {
    socket: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(socket: R) -> Self {
        Self { socket, buffer: BytesMut::new() }
    }

    /// The next frame without its length, of at most `limit` bytes; `None` if the peer closed
    /// between frames. Cancel-safe.
    pub(crate) async fn next(&mut self, limit: usize) -> io::Result<Option<Bytes>> {
        loop {
            let wanted = match self.buffer.first_chunk::<LENGTH>() {
                None => LENGTH,
                Some(length) => {
                    let length = checked_length(i32::from_be_bytes(*length), limit)?;
                    if self.buffer.len() >= LENGTH + length {
                        self.buffer.advance(LENGTH);
                        return Ok(Some(self.buffer.split_to(length).freeze()));
                    }
                    LENGTH + length
                }
            };
            if !self.fill_some(wanted).await? {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// Exactly this many bytes.
    pub(crate) async fn read_exact(&mut self, count: usize) -> io::Result<Bytes> {
        while self.buffer.len() < count {
            if !self.fill_some(count).await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.split_to(count).freeze())
    }

    /// Reads once towards `wanted` bytes; `false` at the end of the stream.
    async fn fill_some(&mut self, wanted: usize) -> io::Result<bool> {
        let missing = wanted.saturating_sub(self.buffer.len());
        // A large frame doubles the buffer, a small one leaves space for later frames.
        let ahead = missing.min(READ_AHEAD.max(self.buffer.len())).max(LEAST_ROOM);
        if self.buffer.capacity() - self.buffer.len() < ahead {
            self.buffer.reserve(ahead.max(READ_AHEAD));
        }
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }
}

fn checked_length(length: i32, limit: usize) -> io::Result<usize> {
    usize::try_from(length).ok().filter(|l| *l <= limit).ok_or_else(|| {
        let reason = format!("frame of {length} bytes exceeds the limit of {limit}");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

/// A malformed frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    /// A message does not decode.
    #[error(transparent)]
    Message(#[from] prost::DecodeError),
    /// A message exceeds the rest of its frame.
    #[error("a message of {0} bytes exceeds the end of its frame")]
    CutShort(u64),
    /// There are bytes after the last message.
    #[error("{0} bytes follow the last message of a frame")]
    Rest(usize),
}

/// The bytes of the next message of a frame.
pub(crate) fn next_part(frame: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = decode_varint(frame)?;
    match usize::try_from(length).ok().filter(|l| *l <= frame.len()) {
        Some(length) => Ok(frame.split_to(length)),
        None => Err(Malformed::CutShort(length)),
    }
}

/// The next message of a frame.
pub(crate) fn next_message<M: Message + Default>(frame: &mut Bytes) -> Result<M, Malformed> {
    Ok(M::decode(next_part(frame)?)?)
}

/// Checks that a frame has been read to its end.
pub(crate) fn at_end(frame: &Bytes) -> Result<(), Malformed> {
    if frame.is_empty() { Ok(()) } else { Err(Malformed::Rest(frame.len())) }
}

/// Encodes these messages as a frame with its length.
pub(crate) fn encode(messages: &[&dyn Part]) -> BytesMut {
    let length: usize = messages.iter().map(|m| delimited(m.length())).sum();
    let mut frame = BytesMut::with_capacity(LENGTH + length);
    frame.put_i32(frame_length(length));
    for message in messages {
        encode_varint(message.length() as u64, &mut frame);
        message.put(&mut frame);
    }
    frame
}

/// The length for the wire. Lengths above 2 GB cannot be encoded; the peer refuses the result.
pub(crate) fn frame_length(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// Size of a message of this length including its length prefix.
pub(crate) fn delimited(length: usize) -> usize {
    encoded_len_varint(length as u64) + length
}

/// A message that can be part of a frame.
pub(crate) trait Part {
    fn length(&self) -> usize;
    fn put(&self, frame: &mut BytesMut);
}

impl<M: Message> Part for M {
    fn length(&self) -> usize {
        self.encoded_len()
    }

    fn put(&self, frame: &mut BytesMut) {
        self.encode_raw(frame);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::ConnectionContext;

    async fn frames(bytes: &[u8], limit: usize) -> io::Result<Vec<Bytes>> {
        let mut reader = FrameReader::new(bytes);
        let mut all = Vec::new();
        while let Some(frame) = reader.next(limit).await? {
            all.push(frame);
        }
        Ok(all)
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    #[tokio::test]
    async fn a_frame_above_the_limit_or_of_negative_length_is_refused_before_it_is_read() {
        for length in [101_i32, i32::MAX, -1, i32::MIN] {
            let error = frames(&length.to_be_bytes(), 100).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{length}");
        }
    }

    #[tokio::test]
    async fn memory_is_taken_as_bytes_arrive() {
        let length = (100_i32 << 20).to_be_bytes();
        let mut reader = FrameReader::new(&length[..]);
        assert!(reader.next(128 << 20).await.is_err(), "the stream ends");
        assert!(reader.buffer.capacity() <= 2 * READ_AHEAD);
    }

    proptest! {
        #[test]
        fn frames_are_read_as_they_were_written(
            sent in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..8),
            cut in any::<proptest::sample::Index>(),
        ) {
            let mut wire = Vec::new();
            for frame in &sent {
                wire.extend_from_slice(&(frame.len() as i32).to_be_bytes());
                wire.extend_from_slice(frame);
            }
            let read = runtime().block_on(frames(&wire, 1000)).unwrap();
            prop_assert_eq!(&read, &sent);
            let cut = cut.index(wire.len() + 1);
            if let Ok(read) = runtime().block_on(frames(&wire[..cut], 1000)) {
                prop_assert!(read.len() <= sent.len() && read == sent[..read.len()]);
            }
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            let _ = runtime().block_on(frames(&bytes, 1000));
            let mut frame = Bytes::from(bytes);
            let _ = next_message::<ConnectionContext>(&mut frame);
            let _ = next_part(&mut frame);
        }
    }
}
