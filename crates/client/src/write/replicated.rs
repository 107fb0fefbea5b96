//! Writing a replicated key: blocks one after the other, recovery when one fails.

use std::pin::pin;

use bytes::Bytes;
use futures::future::BoxFuture;
use limits::{MemoryBudget, MemoryClass};
use proto::ozone::{KeyInfo, KeyLocation};

use super::block::BlockWriter;
use super::chunk::{Chunk, ChunkBuffer};
use super::recover::{BlockRetries, Remedy};
use super::session::{FinishOptions, Session};
use crate::datanode::Failure;
use crate::{Error, Result};

/// A block of so many chunks that were synced is closed: what a sync costs grows with them.
const MAX_SYNCED_CHUNKS: usize = 1024;

/// Writes one replicated key.
pub(super) struct ReplicatedWriter {
    session: Session,
    buffer: ChunkBuffer,
    block: Option<BlockWriter>,
    done: Vec<KeyLocation>,
    written: u64,
    /// New blocks opened because one failed, since something was last acknowledged.
    failed_blocks: u32,
    retries: BlockRetries,
}

impl ReplicatedWriter {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            buffer: ChunkBuffer::default(),
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
            self.ready().await?;
            let limit = self.chunk_limit();
            let room = limit.saturating_sub(self.buffer.len());
            let part = data.split_to(room.min(data.len()));
            self.written += part.len() as u64;
            self.buffer.push(part);
            if self.buffer.len() >= limit {
                self.send_chunk().await?;
            }
        }
        Ok(())
    }

    /// As [`super::KeyWriter::ready`].
    pub(super) async fn ready(&mut self) -> Result<()> {
        if self.buffer.is_begun() || self.session.client.options().memory.is_none() {
            return Ok(());
        }
        self.begin_chunk().await
    }

    /// Gets the memory of the next chunk.
    fn begin_chunk(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.wait_for_memory())
    }

    async fn wait_for_memory(&mut self) -> Result<()> {
        let Some(budget) = &self.session.client.options().memory else { return Ok(()) };
        let class = budget.class(MemoryClass::Upload).clone();
        let key = MemoryBudget::key(&self.session.client.user());
        let amount = self.next_chunk();
        if let Some(memory) = class.try_acquire(&key, amount) {
            self.buffer.begin(memory);
            return Ok(());
        }
        let mut acquire = pin!(class.acquire(&key, amount));
        let memory = loop {
            let Some(block) = self.block.as_mut().filter(|block| block.unacknowledged() > 0) else {
                break acquire.await;
            };
            // Others may wait for the memory that this writer has: it is given back meanwhile.
            block.flush();
            let before = block.unacknowledged();
            let outcome = tokio::select! {
                memory = &mut acquire => break memory,
                outcome = block.drive() => outcome,
            };
            self.after(before, outcome).await?;
        };
        self.buffer.begin(memory);
        Ok(())
    }

    /// Bytes of the chunk that begins now: all of a chunk, unless the key is known to end before.
    fn next_chunk(&self) -> u64 {
        let limit = self.chunk_limit() as u64;
        match self.session.size_hint().saturating_sub(self.written) {
            0 => limit,
            left => left.min(limit),
        }
    }

    /// As [`super::KeyWriter::finish`].
    pub(super) async fn finish(mut self, options: FinishOptions) -> Result<KeyInfo> {
        if self.buffer.len() > 0 {
            let small = self.block.is_none() && self.buffer.len() <= self.options().small_size;
            if small {
                let chunk = self.buffer.take(self.options().checksum);
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
        while let Some(block) = self.block.as_mut().filter(|block| !block.is_committed()) {
            block.flush();
            let before = block.unacknowledged();
            let outcome = block.drive().await;
            self.after(before, outcome).await?;
        }
        // Each PutBlock lists all chunks of its block.
        if self.block.as_ref().is_some_and(|block| block.chunks() >= MAX_SYNCED_CHUNKS) {
            self.close_block().await?;
        }
        let open = self.block.as_ref().and_then(BlockWriter::durable);
        let blocks = self.done.iter().cloned().chain(open).collect();
        self.session.hsync(self.written, blocks).await
    }

    fn options(&self) -> &crate::ClientOptions {
        self.session.options()
    }

    /// Where the chunk that is being collected ends: at its full size, or where the block is full.
    fn chunk_limit(&self) -> usize {
        let block = match &self.block {
            Some(block) => block.room(),
            None => self.session.next_length(),
        };
        usize::try_from(block).unwrap_or(usize::MAX).clamp(1, self.options().chunk_size)
    }

    /// Sends the chunk that was collected.
    fn send_chunk(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.send())
    }

    async fn send(&mut self) -> Result<()> {
        let chunk = self.buffer.take(self.options().checksum);
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

    /// Waits until everything given to the current block is durable.
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
        Ok(())
    }

    fn write_chunk(&mut self, chunk: Chunk) {
        if let Some(block) = &mut self.block {
            block.write(chunk);
        }
    }

    /// Notes progress, or deals with a failure.
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
        // Said to lead, and given up lately: it may be back, and would be avoided for long.
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

    /// Keeps what is durable of the current block and writes the rest to a new one.
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
        let location = self.session.next_location().await?;
        let datanodes = self.session.client.datanodes().clone();
        let options = self.options().into();
        let excluded = self.session.client.excluded();
        self.block = Some(BlockWriter::open(datanodes, options, location, small, excluded)?);
        Ok(())
    }
}
