//! Batched writing of frames to a socket.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Bodies up to this size are copied together; larger ones are passed to the socket without
/// copying.
const COPIED_BODY: usize = 16 << 10;
/// Bytes to collect before a write.
pub(crate) const BATCH: usize = 128 << 10;
/// Memory kept between batches.
const KEPT: usize = 256 << 10;

/// An outgoing frame: its length and headers, and the bytes after them.
#[derive(Debug, Clone)]
pub(crate) struct OutFrame {
    pub(crate) head: Bytes,
    pub(crate) body: Bytes,
}

impl OutFrame {
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Batches frames into writes.
#[derive(Default)]
pub(crate) struct BatchWriter {
    scratch: BytesMut,
}

impl BatchWriter {
    /// Returns `true` if the batch is large enough for a write.
    pub(crate) fn is_full(&self) -> bool {
        self.scratch.len() >= BATCH
    }

    /// Adds a frame; a large one is written at once, with all before it.
    pub(crate) async fn add(
        &mut self,
        frame: OutFrame,
        socket: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        self.scratch.extend_from_slice(&frame.head);
        if frame.body.len() <= COPIED_BODY {
            self.scratch.extend_from_slice(&frame.body);
            return Ok(());
        }
        self.flush(socket).await?;
        socket.write_all(&frame.body).await
    }

    /// Writes the batch.
    pub(crate) async fn flush(&mut self, socket: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        socket.write_all(&self.scratch).await?;
        self.scratch.clear();
        if self.scratch.capacity() > KEPT {
            self.scratch = BytesMut::new();
        }
        Ok(())
    }
}
