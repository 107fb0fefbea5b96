//! Batched writing of frames to a socket.

use std::io::{self, IoSlice};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::frame::{HEAD, Head, Kind, crc32c};

/// Parts up to this size are copied together; larger ones are passed to the socket without copying.
const COPIED_PART: usize = 4 << 10;
/// Bytes to collect before a write.
const BATCH_BYTES: usize = 256 << 10;
/// Frames to collect before a write.
const BATCH_FRAMES: usize = 256;
/// Slices in one system call (the kernel takes up to 1,024).
const SLICES: usize = 64;

#[derive(Debug)]
pub(crate) struct OutFrame {
    pub(crate) kind: Kind,
    pub(crate) method: u16,
    pub(crate) call: u64,
    pub(crate) timeout_ms: u32,
    pub(crate) header: Bytes,
    pub(crate) payload: Payload,
}

impl OutFrame {
    /// Bytes of the frame on the wire.
    pub(crate) fn wire_len(&self) -> usize {
        HEAD + self.header.len() + self.payload.len()
    }
}

#[derive(Debug)]
pub(crate) enum Payload {
    One(Bytes),
    Parts(Vec<Bytes>),
}

impl Payload {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(b) => b.len(),
            Self::Parts(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }
}

#[derive(Default)]
struct WriteBatch {
    parts: Vec<Bytes>,
    scratch: BytesMut,
    bytes: usize,
}

impl WriteBatch {
    fn copy(&mut self, bytes: &[u8]) {
        self.scratch.extend_from_slice(bytes);
        self.bytes += bytes.len();
    }

    fn part(&mut self, part: Bytes) {
        if part.len() <= COPIED_PART {
            return self.copy(&part);
        }
        if !self.scratch.is_empty() {
            self.parts.push(self.scratch.split().freeze());
        }
        self.bytes += part.len();
        self.parts.push(part);
    }

    fn frame(&mut self, frame: OutFrame) {
        let head = Head {
            kind: frame.kind,
            method: frame.method,
            call: frame.call,
            header_len: frame.header.len() as u32,
            payload_len: frame.payload.len() as u32,
            timeout_ms: frame.timeout_ms,
            header_crc: crc32c(&frame.header),
        };
        self.copy(&head.encode());
        self.part(frame.header);
        match frame.payload {
            Payload::One(part) => self.part(part),
            Payload::Parts(parts) => parts.into_iter().for_each(|p| self.part(p)),
        }
    }

    /// Writes the batch. `written` is called for every write with its number of bytes.
    async fn write(
        &mut self,
        socket: &mut (impl AsyncWrite + Unpin),
        mut written: impl FnMut(usize),
    ) -> io::Result<()> {
        if self.parts.is_empty() {
            let mut rest = &self.scratch[..];
            while !rest.is_empty() {
                let count = socket.write(rest).await?;
                if count == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                written(count);
                rest = rest.get(count..).unwrap_or_default();
            }
        } else {
            if !self.scratch.is_empty() {
                self.parts.push(self.scratch.split().freeze());
            }
            let mut all: Vec<IoSlice<'_>> = self.parts.iter().map(|p| IoSlice::new(p)).collect();
            let mut rest = all.as_mut_slice();
            while !rest.is_empty() {
                let window = rest.len().min(SLICES);
                let count = socket.write_vectored(&rest[..window]).await?;
                if count == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                written(count);
                IoSlice::advance_slices(&mut rest, count);
            }
        }
        self.parts.clear();
        self.scratch.clear();
        self.bytes = 0;
        Ok(())
    }
}

impl WriteBatch {
    /// Adds a frame, and further queued ones as long as the batch has space.
    fn fill(&mut self, first: OutFrame, frames: &mut mpsc::UnboundedReceiver<OutFrame>) {
        self.frame(first);
        let mut count = 1;
        while self.bytes < BATCH_BYTES && count < BATCH_FRAMES {
            let Ok(frame) = frames.try_recv() else { break };
            self.frame(frame);
            count += 1;
        }
    }
}

/// Writes frames until the channel closes. `written` is called for each write with its number of
/// bytes.
pub(crate) async fn write_frames(
    mut socket: impl AsyncWrite + Unpin,
    mut frames: mpsc::UnboundedReceiver<OutFrame>,
    mut written: impl FnMut(usize),
) -> io::Result<()> {
    let mut batch = WriteBatch::default();
    while let Some(frame) = frames.recv().await {
        // This task often runs right after the one that queued a frame. Other ready tasks queue
        // theirs in the meantime, and all are sent in one write.
        if frames.is_empty() {
            tokio::task::yield_now().await;
        }
        batch.fill(frame, &mut frames);
        batch.write(&mut socket, &mut written).await?;
    }
    socket.shutdown().await
}

/// Writes `first` and further frames of a queue that outlives the connection. `taken` is called
/// with the number of bytes that each batch takes out of the queue.
pub(crate) async fn write_queue(
    mut socket: impl AsyncWrite + Unpin,
    first: OutFrame,
    frames: &mut mpsc::UnboundedReceiver<OutFrame>,
    mut taken: impl FnMut(usize),
) -> io::Result<()> {
    let mut batch = WriteBatch::default();
    let mut next = Some(first);
    while let Some(frame) = next {
        batch.fill(frame, frames);
        taken(batch.bytes);
        batch.write(&mut socket, |_| {}).await?;
        next = frames.recv().await;
    }
    socket.shutdown().await
}
