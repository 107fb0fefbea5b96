//! What a caller who writes a key holds.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use limits::{MemoryBudget, MemoryClass};
use proto::ozone::{KeyArgs, KeyInfo, KeyLocation, KeyLocationList};
use types::{BlockId, Pipeline};

use super::block::BlockWriter;
use super::chunk::{Chunk, ChunkBuffer};
use super::recover::{BlockRetries, Remedy};
use crate::datanode::Failure;
use crate::om::args::{CreateKey, KeyPath, pairs_to_wire};
use crate::{Client, Error, ErrorKind, Result};

/// Pause before asking OM for a block again.
const ALLOCATE_RETRY_DELAY: Duration = Duration::from_millis(200);

/// What is known of a key only once it is written.
#[derive(Debug, Clone, Default)]
pub struct FinishOptions {
    /// User metadata on top of what the key was created with; same names replace.
    pub metadata: Vec<(String, String)>,
}

/// Writes one key. Bytes are on their way while more come; a bounded amount is kept until it is
/// durable, so that it can be written again elsewhere. Dropping it abandons the key.
pub struct KeyWriter {
    client: Client,
    path: KeyPath,
    args: KeyArgs,
    is_part: bool,
    info: KeyInfo,
    session: u64,
    preallocated: VecDeque<KeyLocation>,
    buffer: ChunkBuffer,
    block: Option<BlockWriter>,
    done: Vec<KeyLocation>,
    written: u64,
    /// New blocks opened because one failed, since something was last acknowledged.
    failed_blocks: u32,
    retries: BlockRetries,
}

impl KeyWriter {
    pub(crate) async fn open(client: Client, key: CreateKey) -> Result<Self> {
        let mut args = key.args();
        let mut open = client.open_for_write(args.clone()).await?;
        // What the defaults resolved to holds for all later requests of this key.
        args.r#type = Some(open.info.r#type);
        args.factor = open.info.factor;
        args.ec_replication_config = open.info.ec_replication_config.clone();
        if args.ec_replication_config.is_some() {
            return Err(Error::Usage(format!(
                "{}: writing erasure-coded keys is not supported",
                key.path
            )));
        }
        let version = open.info.key_location_list.pop();
        let preallocated = version.map(|v| v.key_locations.into()).unwrap_or_default();
        Ok(Self {
            client,
            is_part: key.part.is_some(),
            path: key.path,
            args,
            info: open.info,
            session: open.session,
            preallocated,
            buffer: ChunkBuffer::default(),
            block: None,
            done: Vec::new(),
            written: 0,
            failed_blocks: 0,
            retries: BlockRetries::default(),
        })
    }

    /// Where the key will be.
    pub fn path(&self) -> &KeyPath {
        &self.path
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends `data`. Returns when it is on its way, or waits while too much is unacknowledged.
    ///
    /// # Errors
    /// When the data cannot be written through any pipeline; the writer is of no use afterwards.
    pub async fn write(&mut self, mut data: Bytes) -> Result<()> {
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

    /// Waits until there is memory for what is to be written next
    /// ([`crate::ClientOptions::memory`]). A caller that gets the data from elsewhere asks for it
    /// afterwards only.
    ///
    /// # Errors
    /// As [`KeyWriter::write`].
    pub async fn ready(&mut self) -> Result<()> {
        if self.buffer.is_begun() {
            return Ok(());
        }
        let Some(budget) = &self.client.options().memory else { return Ok(()) };
        let class = budget.class(MemoryClass::Upload).clone();
        let key = MemoryBudget::key(&self.client.user());
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
        match self.args.data_size.unwrap_or(0).saturating_sub(self.written) {
            0 => limit,
            left => left.min(limit),
        }
    }

    /// Makes the key durable and visible.
    ///
    /// # Errors
    /// When data or key cannot be made durable, or a precondition of the key does not hold any
    /// more.
    pub async fn finish(mut self, options: FinishOptions) -> Result<KeyInfo> {
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
        self.commit(options).await
    }

    fn options(&self) -> &crate::ClientOptions {
        self.client.options()
    }

    /// Where the chunk that is being collected ends: at its full size, or where the block is full.
    fn chunk_limit(&self) -> usize {
        let block = match (&self.block, self.preallocated.front()) {
            (Some(block), _) => block.room(),
            (None, Some(location)) => location.length,
            (None, None) => self.options().block_size,
        };
        usize::try_from(block).unwrap_or(usize::MAX).clamp(1, self.options().chunk_size)
    }

    async fn send_chunk(&mut self) -> Result<()> {
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
        tracing::debug!(key = %self.path, block = %block.id(), node = %block.node(), ?failure, "write failed");
        // Said to lead, and given up lately: it may be back, and would be avoided for long.
        if let Failure::NotLeader(Some(named)) = &failure
            && self.client.excluded().avoids_datanode(*named)
            && let Some(named) = block.pipeline().member(*named)
            && self.client.datanodes().is_there(named).await
        {
            self.client.excluded().forgive(named.id);
        }
        match self.retries.remedy(failure, block, self.client.excluded()) {
            Remedy::Fail(error) => Err(error),
            Remedy::Resend { leader, same, pause } => {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                block.resend(leader, same, self.client.excluded());
                Ok(())
            }
            Remedy::NewBlock(error) => {
                self.failed_blocks += 1;
                if self.failed_blocks > self.client.options().write_retries {
                    return Err(Error::WriteFailed {
                        key: self.path.to_string(),
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
        let location = match self.next_preallocated() {
            Some(location) => location,
            None => self.allocate().await?,
        };
        let datanodes = self.client.datanodes().clone();
        let options = self.options().into();
        let excluded = self.client.excluded();
        self.block = Some(BlockWriter::open(datanodes, options, location, small, excluded)?);
        Ok(())
    }

    /// The next block that OM gave beforehand and that is not known to be in trouble.
    fn next_preallocated(&mut self) -> Option<KeyLocation> {
        let excluded = self.client.excluded();
        while let Some(location) = self.preallocated.pop_front() {
            if excluded.is_empty() {
                return Some(location);
            }
            let pipeline = location.pipeline.as_ref().and_then(|p| Pipeline::from_wire(p).ok());
            let block = BlockId::from_wire(&location.block_id);
            if pipeline.is_some_and(|pipeline| !excluded.avoids(&block, &pipeline)) {
                return Some(location);
            }
        }
        None
    }

    async fn allocate(&mut self) -> Result<KeyLocation> {
        let mut attempt = 0;
        loop {
            // With few DataNodes everything may be excluded: then what there is has to do.
            let exclude = match attempt % 2 {
                0 => self.client.excluded().to_wire(),
                _ => Default::default(),
            };
            match self.client.allocate_block(&self.args, self.session, exclude).await {
                Ok(location) => return Ok(location),
                Err(error) if attempt >= self.options().write_retries.max(1) => return Err(error),
                Err(error) if !may_pass(error.kind()) => return Err(error),
                Err(error) => {
                    tracing::debug!(key = %self.path, %error, attempt, "no block");
                    if attempt % 2 == 1 {
                        tokio::time::sleep(ALLOCATE_RETRY_DELAY * attempt).await;
                    }
                    attempt += 1;
                }
            }
        }
    }

    async fn commit(mut self, options: FinishOptions) -> Result<KeyInfo> {
        for pair in pairs_to_wire(&options.metadata) {
            self.args.metadata.retain(|old| old.key != pair.key);
            self.args.metadata.push(pair);
        }
        self.args.data_size = Some(self.written);
        self.args.key_locations = std::mem::take(&mut self.done);
        let mut info = self.info;
        info.data_size = self.written;
        info.metadata = self.args.metadata.clone();
        info.tags = self.args.tags.clone();
        info.key_location_list = vec![KeyLocationList {
            version: Some(info.latest_version.unwrap_or(0)),
            key_locations: self.args.key_locations.clone(),
            ..Default::default()
        }];
        if self.is_part {
            self.client.commit_part(self.args, self.session).await?;
        } else {
            self.client.commit_key(self.args, self.session).await?;
        }
        Ok(info)
    }
}

/// Whether an allocation that failed this way may succeed in a moment.
fn may_pass(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::SafeMode | ErrorKind::Timeout
    )
}
