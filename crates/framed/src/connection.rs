//! Reading frames from a socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use limits::{MemoryBudget, MemoryClass, MemoryPermit};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::AlignedBuf;
use crate::activity::{Activity, Phase};
use crate::frame::{HEAD, Head, Kind, LARGE_PAYLOAD, crc32c};

/// Bytes per read from the socket: many small frames, or the start of a large one. Also the memory
/// allocated for a frame on the strength of its declared length; beyond it memory is allocated for
/// bytes that have arrived.
const READ_BUFFER: usize = 64 << 10;
/// Free space below which a buffer is replaced. Slices of frames keep a buffer alive, for long in a
/// Raft cache: so a buffer is filled completely, not dropped after one frame.
const LEAST_ROOM: usize = 4 << 10;
/// Memory allocated for a payload per byte that has arrived: 4 MiB, a whole chunk, once the first
/// buffer is full, so that little is copied from one buffer to the next.
const GROWTH: usize = 64;
/// Maximum wait of a one-way frame for memory. Later ones wait as well, and followers would give up
/// a silent Raft leader; a lost frame is resent.
const ONE_WAY_WAIT: Duration = Duration::from_millis(200);

/// Memory for frames of one peer.
pub(crate) struct FrameMemory {
    pub(crate) budget: MemoryBudget,
    /// The key of the peer.
    pub(crate) key: u64,
}

pub(crate) struct FrameReader<R> {
    socket: R,
    buffer: BytesMut,
    max_frame: usize,
    activity: Arc<Activity>,
    memory: Option<FrameMemory>,
}

pub(crate) struct Frame {
    pub(crate) head: Head,
    pub(crate) header: Bytes,
    pub(crate) payload: Bytes,
    /// Memory of the frame, when it is large.
    pub(crate) memory: Option<MemoryPermit>,
}

/// A received item.
pub(crate) enum Received {
    Frame(Frame),
    /// A one-way frame that was read and dropped for lack of memory.
    Dropped,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(socket: R, max_frame: usize) -> Self {
        Self {
            socket,
            buffer: BytesMut::with_capacity(READ_BUFFER),
            max_frame,
            activity: Arc::default(),
            memory: None,
        }
    }

    /// Sets the memory budget for large frames.
    pub(crate) fn with_memory(mut self, memory: Option<FrameMemory>) -> Self {
        self.memory = memory;
        self
    }

    /// Activity of the reader.
    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    async fn fill(&mut self, len: usize) -> io::Result<()> {
        while self.buffer.len() < len {
            let missing = len - self.buffer.len();
            // A large frame doubles the buffer of its arrived bytes.
            self.make_room(missing.min(self.buffer.len().max(READ_BUFFER)));
            if self.read_some().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    async fn read_some(&mut self) -> io::Result<usize> {
        let read = self.socket.read_buf(&mut self.buffer).await?;
        self.activity.add_read(read);
        Ok(read)
    }

    /// Ensures space for at least this many more bytes.
    fn make_room(&mut self, missing: usize) {
        if self.buffer.capacity() - self.buffer.len() < missing.max(LEAST_ROOM) {
            self.buffer.reserve(missing.max(READ_BUFFER));
        }
    }

    /// Waits until data has arrived; `false` if the peer closed between frames. Cancel-safe.
    pub(crate) async fn begin(&mut self) -> io::Result<bool> {
        self.activity.enter(Phase::Between);
        if self.buffer.is_empty() {
            self.make_room(LEAST_ROOM);
            return Ok(self.read_some().await? > 0);
        }
        Ok(true)
    }

    /// Waits until the head of a frame has arrived. Cancel-safe.
    pub(crate) async fn fill_head(&mut self) -> io::Result<()> {
        self.activity.enter(Phase::InFrame);
        self.fill(HEAD).await
    }

    /// The next frame; `None` if the peer closed between frames.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Received>> {
        if !self.begin().await? {
            return Ok(None);
        }
        self.fill_head().await?;
        let mut head = [0; HEAD];
        self.buffer.copy_to_slice(&mut head);
        let head = Head::decode(&head, self.max_frame)?;
        let header_len = head.header_len as usize;
        let payload_len = head.payload_len as usize;
        self.activity.begin_frame(header_len + payload_len);
        let received = match payload_len >= LARGE_PAYLOAD {
            true => self.large(head, header_len, payload_len).await?,
            false => self.small(head, header_len, payload_len).await?,
        };
        self.activity.end_frame();
        Ok(Some(received))
    }

    /// Reads a frame without a large payload as a slice of the buffer.
    async fn small(
        &mut self,
        head: Head,
        header_len: usize,
        payload_len: usize,
    ) -> io::Result<Received> {
        let len = header_len + payload_len;
        let mut memory = None;
        if len > 2 * READ_BUFFER {
            self.fill(READ_BUFFER).await?;
            match self.acquire_memory(&head, len).await {
                Some(permit) => memory = permit,
                None => return self.discard(len).await,
            }
        }
        self.fill(len).await?;
        let header = self.buffer.split_to(header_len).freeze();
        let payload = self.buffer.split_to(payload_len).freeze();
        checked(Frame { head, header, payload, memory })
    }

    /// Reads a frame with a large payload, into an aligned buffer of its own.
    async fn large(
        &mut self,
        head: Head,
        header_len: usize,
        payload_len: usize,
    ) -> io::Result<Received> {
        let len = header_len + payload_len;
        let mut memory = None;
        if header_len > READ_BUFFER {
            self.fill(READ_BUFFER).await?;
            match self.acquire_memory(&head, len).await {
                Some(permit) => memory = permit,
                None => return self.discard(len).await,
            }
        }
        self.fill(header_len).await?;
        // Copied: the header may stay in a Raft cache for long, and would keep the first part of
        // the payload, which follows in the buffer, in memory.
        let header = Bytes::copy_from_slice(&self.buffer[..header_len]);
        self.buffer.advance(header_len);
        let mut payload = AlignedBuf::new(payload_len.min(READ_BUFFER));
        let mut there = payload.len().min(self.buffer.len());
        self.buffer.copy_to_slice(&mut payload[..there]);
        self.fill_payload(&mut payload, &mut there).await?;
        if memory.is_none() {
            match self.acquire_memory(&head, len).await {
                Some(permit) => memory = permit,
                None => return self.discard(payload_len - there).await,
            }
        }
        while there < payload_len {
            let mut larger = AlignedBuf::new(payload_len.min(there.saturating_mul(GROWTH)));
            larger[..there].copy_from_slice(&payload[..there]);
            payload = larger;
            let buffered = (payload.len() - there).min(self.buffer.len());
            self.buffer.copy_to_slice(&mut payload[there..there + buffered]);
            there += buffered;
            self.fill_payload(&mut payload, &mut there).await?;
        }
        let payload = match (head.kind, memory.take()) {
            // A one-way frame has no response that would release its memory.
            (Kind::OneWay, Some(permit)) => Bytes::from_owner(Counted { payload, _permit: permit }),
            (_, permit) => {
                memory = permit;
                payload.freeze()
            }
        };
        checked(Frame { head, header, payload, memory })
    }

    async fn fill_payload(
        &mut self,
        payload: &mut AlignedBuf,
        there: &mut usize,
    ) -> io::Result<()> {
        while *there < payload.len() {
            let read = self.socket.read(&mut payload[*there..]).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.activity.add_read(read);
            *there += read;
        }
        Ok(())
    }

    /// Reserves memory for a frame of `len` bytes, if there is a budget; `None` if the frame must
    /// be dropped.
    async fn acquire_memory(&mut self, head: &Head, len: usize) -> Option<Option<MemoryPermit>> {
        let Some(memory) = &self.memory else { return Some(None) };
        self.activity.enter(Phase::Ours);
        let permit = match head.kind {
            Kind::OneWay => {
                let class = memory.budget.class(MemoryClass::Replication);
                class.acquire_within(&memory.key, len as u64, ONE_WAY_WAIT).await?
            }
            _ => {
                let class = memory.budget.class(MemoryClass::Request);
                class.acquire(&memory.key, len as u64).await
            }
        };
        self.activity.enter(Phase::InFrame);
        Some(Some(permit))
    }

    /// Reads `len` bytes and drops them.
    async fn discard(&mut self, mut len: usize) -> io::Result<Received> {
        self.activity.enter(Phase::InFrame);
        loop {
            let there = len.min(self.buffer.len());
            self.buffer.advance(there);
            len -= there;
            if len == 0 {
                return Ok(Received::Dropped);
            }
            self.fill(len.min(READ_BUFFER)).await?;
        }
    }
}

/// A payload with its reserved memory.
struct Counted {
    payload: AlignedBuf,
    _permit: MemoryPermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.payload
    }
}

fn checked(frame: Frame) -> io::Result<Received> {
    if crc32c(&frame.header) != frame.head.header_crc {
        let reason = "frame header does not match its checksum";
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(Received::Frame(frame))
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
