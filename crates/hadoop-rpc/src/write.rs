//! Writing frames to a socket, many at a time.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Bodies up to this size are copied together; larger ones are handed to the socket as they are.
const COPIED_BODY: usize = 16 << 10;
/// Bytes to collect before a write.
pub(crate) const BATCH: usize = 128 << 10;
/// Memory kept between batches.
const KEPT: usize = 256 << 10;

/// A frame on its way out: its length and headers, and the bytes behind them.
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

/// Frames become writes.
#[derive(Default)]
pub(crate) struct BatchWriter {
    scratch: BytesMut,
}

impl BatchWriter {
    /// Whether enough has been collected for a write.
    pub(crate) fn is_full(&self) -> bool {
        self.scratch.len() >= BATCH
    }

    /// Takes a frame; a large one is written, with all before it.
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

    /// Writes what has been collected.
    pub(crate) async fn flush(&mut self, socket: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        socket.write_all(&self.scratch).await?;
        self.scratch.clear();
        if self.scratch.capacity() > KEPT {
            self.scratch = BytesMut::new();
        }
        Ok(())
    }
}
