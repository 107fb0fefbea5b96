//! Writes of a replicated key: one block after the other, with recovery from failures.

use std::pin::pin;

use bytes::Bytes;
use futures::future::BoxFuture;
use proto::ozone::{KeyInfo, KeyLocation};

use super::block::BlockWriter;
use super::chunk::{Chunk, ChunkBuffer};
use super::recover::{BlockRetries, Remedy};
use super::reservation::Reservation;
use super::session::{FinishOptions, Session};
use crate::datanode::Failure;
use crate::{Error, Result};

/// Maximum number of synced chunks of a block, after which it is closed: the cost of a sync grows
/// with them.
const MAX_SYNCED_CHUNKS: usize = 1024;

/// Number of chunks that reach the limit set by a small first chunk, after which the block is
/// closed, so that the next block has larger ones.
const MOST_SHORT_CHUNKS: u32 = 8;

/// Writes one replicated key.
pub(super) struct ReplicatedWriter {
    session: Session,
    buffer: ChunkBuffer,
    memory: Reservation,
    /// Limit of the block's chunks, set if its first one was sent early, and the number of chunks
    /// that reached the limit since.
    short: Option<(usize, u32)>,
    block: Option<BlockWriter>,
    done: Vec<KeyLocation>,
    written: u64,
    /// New blocks opened after failures since the last acknowledgement.
    failed_blocks: u32,
    retries: BlockRetries,
}

impl ReplicatedWriter {
    pub(super) fn new(session: Session) -> Self {
        Self {
            memory: Reservation::new(&session.client),
            session,
            buffer: ChunkBuffer::default(),
            short: None,
            block: None,
            done: Vec::new(),
            written: 0,
            failed_blocks: 0,
            retries: BlockRetries::default(),
        }
    }

    /// As [`super::KeyWriter::write`].
    pub(super) async fn write(&mut self, mut data: Bytes) -> Result<()> {
        while !data.is_empty() {
            if self.room() == 0 {
                self.grow().await?;
            }
            let part = data.split_to(self.room().min(data.len()));
            self.written += part.len() as u64;
            self.buffer.push(part);
            if self.buffer.len() >= self.chunk_limit() {
                self.send_chunk().await?;
                self.end_short_block().await?;
            }
        }
        Ok(())
    }

    /// As [`super::KeyWriter::ready`].
    pub(super) async fn ready(&mut self) -> Result<()> {
        let size = self.session.size_hint();
        if self.room() > 0 || (size > 0 && self.written >= size) {
            return Ok(());
        }
        self.grow().await
    }

    /// As [`super::KeyWriter::is_wanted`].
    pub(super) async fn is_wanted(&mut self) {
        let has_sent = self.block.as_ref().is_some_and(|block| block.unacknowledged() > 0);
        self.memory.is_wanted(has_sent).await;
    }

    /// As [`super::KeyWriter::give_way`].
    pub(super) async fn give_way(&mut self) -> Result<()> {
        let gathered = self.buffer.len() as u64;
        self.send_part().await?;
        self.memory.is_slow(gathered);
        self.memory.give_back(0);
        self.flush().await?;
        self.end_long_block().await
    }

    /// Acquires memory for more of the current chunk.
    fn grow(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.wait_for_memory())
    }

    async fn wait_for_memory(&mut self) -> Result<()> {
        let Some((class, key)) = self.memory.from() else { return Ok(()) };
        let amount = self.memory.next(self.buffer.len() as u64, self.next_chunk());
        if let Some(memory) = class.try_acquire(&key, amount) {
            self.memory.add(memory);
            return Ok(());
        }
        // All memory may be held by writers that wait for more: release it before waiting.
        self.send_part().await?;
        let amount = self.memory.next(0, self.next_chunk());
        let mut acquire = pin!(class.acquire(&key, amount));
        let memory = loop {
            let Some(block) = self.block.as_mut().filter(|block| block.unacknowledged() > 0) else {
                break acquire.await;
            };
            block.flush();
            let before = block.unacknowledged();
            let outcome = tokio::select! {
                memory = &mut acquire => break memory,
                outcome = block.drive() => outcome,
            };
            self.after(before, outcome).await?;
        };
        self.memory.add(memory);
        Ok(())
    }

    /// Expected bytes of the current chunk: a whole chunk, unless the key is expected to end
    /// before.
    fn next_chunk(&self) -> u64 {
        let limit = self.chunk_limit() as u64;
        let begun_at = self.written.saturating_sub(self.buffer.len() as u64);
        match self.session.size_hint().saturating_sub(begun_at) {
            // Also if there is more data than expected.
            left if left <= self.buffer.len() as u64 => limit,
            left => left.min(limit),
        }
    }

    /// Number of bytes that can be added to the current chunk.
    fn room(&self) -> usize {
        let memory = usize::try_from(self.memory.room(self.next_chunk())).unwrap_or(usize::MAX);
        memory.min(self.chunk_limit()).saturating_sub(self.buffer.len())
    }

    /// Sends the collected data, although more of the chunk may follow. Ozone's own client computes
    /// no checksum of a block with a chunk larger than the first one, so there is none.
    async fn send_part(&mut self) -> Result<()> {
        let len = self.buffer.len();
        if len == 0 {
            return Ok(());
        }
        let is_first = self.block.as_ref().is_none_or(|block| block.chunks() == 0);
        self.send_chunk().await?;
        let first = self.short.map(|(first, _)| first).or(is_first.then_some(len));
        self.short = first.filter(|_| self.block.is_some()).map(|first| (first, 0));
        Ok(())
    }

    /// Closes a block of small chunks if data arrives fast enough for larger ones.
    async fn end_short_block(&mut self) -> Result<()> {
        let Some((_, full)) = &mut self.short else { return Ok(()) };
        *full += 1;
        if *full >= MOST_SHORT_CHUNKS {
            self.close_block().await?;
        }
        Ok(())
    }

    /// Waits until all sent data is durable.
    async fn flush(&mut self) -> Result<()> {
        while let Some(block) = self.block.as_mut().filter(|block| !block.is_committed()) {
            block.flush();
            let before = block.unacknowledged();
            let outcome = block.drive().await;
            self.after(before, outcome).await?;
        }
        Ok(())
    }

    /// Closes a block of many chunks that were made durable a few at a time: each PutBlock lists
    /// all chunks of its block.
    async fn end_long_block(&mut self) -> Result<()> {
        if self.block.as_ref().is_some_and(|block| block.chunks() >= MAX_SYNCED_CHUNKS) {
            self.close_block().await?;
        }
        Ok(())
    }

    /// As [`super::KeyWriter::finish`].
    pub(super) async fn finish(mut self, options: FinishOptions) -> Result<KeyInfo> {
        if self.buffer.len() > 0 {
            let small = self.block.is_none() && self.buffer.len() <= self.options().small_size;
            if small {
                let chunk = self.take_chunk();
                self.open_block(true).await?;
                self.write_chunk(chunk);
            } else {
                self.send_chunk().await?;
            }
        }
        self.close_block().await?;
        self.session.commit(self.written, self.done, options).await
    }

    /// As [`super::KeyWriter::hsync`].
    pub(super) async fn hsync(&mut self) -> Result<()> {
        if self.buffer.len() > 0 {
            self.send_chunk().await?;
        }
        self.flush().await?;
        self.end_long_block().await?;
        let open = self.block.as_ref().and_then(BlockWriter::durable);
        let blocks = self.done.iter().cloned().chain(open).collect();
        self.session.hsync(self.written, blocks).await
    }

    fn options(&self) -> &crate::ClientOptions {
        self.session.options()
    }

    /// The end of the current chunk: its full size, or the end of the block.
    fn chunk_limit(&self) -> usize {
        let block = match &self.block {
            Some(block) => block.room(),
            None => self.session.next_length(),
        };
        let most = self.short.map_or(usize::MAX, |(first, _)| first.max(1));
        usize::try_from(block).unwrap_or(usize::MAX).clamp(1, self.options().chunk_size.min(most))
    }

    /// The collected data, with its memory.
    fn take_chunk(&mut self) -> Chunk {
        let chunk = self.buffer.take(self.session.options().checksum);
        let memory = self.memory.take(chunk.len as u64);
        chunk.with_memory(memory)
    }

    /// Sends the collected chunk.
    fn send_chunk(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.send())
    }

    async fn send(&mut self) -> Result<()> {
        let chunk = self.take_chunk();
        if self.block.is_none() {
            self.open_block(false).await?;
        }
        self.write_chunk(chunk);
        let limit = self.options().max_unacknowledged.saturating_sub(self.options().chunk_size);
        loop {
            let Some(block) = &mut self.block else { return Ok(()) };
            let before = block.unacknowledged();
            let outcome = match block.poll_answers() {
                Ok(()) if block.unacknowledged() > limit => block.drive().await,
                Ok(()) if block.room() == 0 => return self.close_block().await,
                Ok(()) => return Ok(()),
                Err(failure) => Err(failure),
            };
            self.after(before, outcome).await?;
        }
    }

    /// Waits until all data of the current block is durable.
    async fn close_block(&mut self) -> Result<()> {
        loop {
            let Some(block) = &mut self.block else { return Ok(()) };
            block.close();
            if block.is_committed() {
                break;
            }
            let before = block.unacknowledged();
            let outcome = block.drive().await;
            self.after(before, outcome).await?;
        }
        if let Some(block) = self.block.take() {
            self.done.extend(block.into_parts().0);
        }
        self.short = None;
        Ok(())
    }

    fn write_chunk(&mut self, chunk: Chunk) {
        if let Some(block) = &mut self.block {
            block.write(chunk);
        }
    }

    /// Records progress, or handles a failure.
    async fn after(&mut self, before: usize, outcome: Result<(), Failure>) -> Result<()> {
        match outcome {
            Ok(()) => {
                let now = self.block.as_ref().map_or(0, BlockWriter::unacknowledged);
                if now < before {
                    self.failed_blocks = 0;
                    self.retries.reset();
                }
                Ok(())
            }
            Err(failure) => self.recover(failure).await,
        }
    }

    async fn recover(&mut self, failure: Failure) -> Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        tracing::debug!(key = %self.session.path, block = %block.id(), node = %block.node(), ?failure, "write failed");
        // Named as leader, and excluded recently: it may have recovered, and would be avoided for
        // long.
        if let Failure::NotLeader(Some(named)) = &failure
            && self.session.client.excluded().avoids_datanode(*named)
            && let Some(named) = block.pipeline().member(*named)
            && self.session.client.datanodes().is_there(named).await
        {
            self.session.client.excluded().remove(named.id);
        }
        match self.retries.remedy(failure, block, self.session.client.excluded()) {
            Remedy::Fail(error) => Err(error),
            Remedy::Resend { leader, same, pause } => {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                block.resend(leader, same, self.session.client.excluded());
                Ok(())
            }
            Remedy::NewBlock(error) => {
                self.failed_blocks += 1;
                if self.failed_blocks > self.session.client.options().write_retries {
                    return Err(Error::WriteFailed {
                        key: self.session.path.to_string(),
                        attempts: self.failed_blocks,
                        last: Box::new(error),
                    });
                }
                self.retries.reset();
                self.move_on().await
            }
        }
    }

    /// Keeps the durable part of the current block and writes the rest to a new one.
    async fn move_on(&mut self) -> Result<()> {
        let Some(block) = self.block.take() else { return Ok(()) };
        let small = block.is_small();
        let (durable, rest) = block.into_parts();
        self.done.extend(durable);
        if rest.is_empty() {
            return Ok(());
        }
        self.open_block(small).await?;
        for chunk in rest {
            self.write_chunk(chunk);
        }
        Ok(())
    }

    async fn open_block(&mut self, small: bool) -> Result<()> {
        self.short = None;
        let location = self.session.next_location().await?;
        let datanodes = self.session.client.datanodes().clone();
        let options = self.options().into();
        let excluded = self.session.client.excluded();
        self.block = Some(BlockWriter::open(datanodes, options, location, small, excluded)?);
        Ok(())
    }
}
