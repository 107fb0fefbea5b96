//! Writes of one block: chunks in flight, PutBlocks, acknowledgements.
//!
//! **Invariants.** A PutBlock is sent once every chunk that it lists is acknowledged, so that all
//! data that it makes durable has arrived. A chunk's bytes are released once a PutBlock that lists
//! it is acknowledged.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, future};
use proto::datanode as dn;
use proto::ozone::KeyLocation;
use types::{BlockId, DatanodeDetails, DatanodeId, Pipeline, WireError};

use super::chunk::Chunk;
use crate::datanode::{Command, Datanodes, Failure, Target, invalid_reply};
use crate::exclude::ExcludeList;
use crate::{ClientOptions, Error, Result};

/// Options of a block's writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOptions {
    pub(super) flush_size: usize,
    pub(super) timeout: Duration,
}

/// Divisor of the request timeout if there are other pipelines: 10 s of 60 s are sufficient.
pub(super) const HANG_SHARE: u32 = 6;

impl From<&ClientOptions> for BlockOptions {
    fn from(options: &ClientOptions) -> Self {
        Self { flush_size: options.flush_size, timeout: options.write_timeout }
    }
}

/// A chunk given to the block.
struct Sent {
    info: dn::ChunkInfo,
    /// Dropped once a PutBlock that lists the chunk is acknowledged.
    data: Option<Chunk>,
    acknowledged: bool,
}

enum Event {
    Chunk(usize, Result<(), Failure>),
    /// PutBlock or PutSmallFile, with its number of chunks.
    Put(usize, Result<dn::GetCommittedBlockLengthResponseProto, Failure>),
}

/// Writer of one block.
pub(super) struct BlockWriter {
    datanodes: Datanodes,
    options: BlockOptions,
    location: KeyLocation,
    pipeline: Arc<Pipeline>,
    target: Target,
    /// Index of the member that receives requests.
    leader: usize,
    /// The whole block is sent in one request.
    small: bool,
    /// Opened although it is on an avoided node or pipeline, because there was no other.
    reluctant: bool,
    sent: Vec<Sent>,
    offset: u64,
    /// Bytes given to the block and not yet released.
    unacknowledged: usize,
    in_flight: FuturesUnordered<BoxFuture<'static, Event>>,
    put_in_flight: bool,
    closing: bool,
    /// Data is to be made durable soon, although more may follow.
    flushing: bool,
    /// Number of durable chunks, and their bytes.
    committed_chunks: usize,
    committed_len: u64,
}

impl BlockWriter {
    /// Opens the block at `location`; nothing is sent yet.
    pub(super) fn open(
        datanodes: Datanodes,
        options: BlockOptions,
        mut location: KeyLocation,
        small: bool,
        excluded: &ExcludeList,
    ) -> Result<Self> {
        let wire = location.pipeline.take();
        let wire = wire.ok_or_else(|| Error::om_reply("a location without pipeline"))?;
        let invalid = |e: WireError| Error::om_reply(e.to_string());
        let pipeline = Arc::new(Pipeline::from_wire(&wire).map_err(invalid)?);
        let first = pipeline.leader.or(pipeline.suggested_leader);
        let leader = pipeline.members.iter().position(|m| Some(m.id) == first).unwrap_or(0);
        let leader = excluded.first_usable(&pipeline, leader);
        if pipeline.members.is_empty() {
            return Err(Error::om_reply(format!("pipeline {} has no members", pipeline.id)));
        }
        let target = Target {
            block: BlockId::from_wire(&location.block_id),
            pipeline: Some(pipeline.id),
            token: location.token.as_deref().map(crate::datanode::token_url),
        };
        let reluctant = excluded.avoids(&target.block, &pipeline);
        Ok(Self {
            datanodes,
            options,
            location,
            pipeline,
            target,
            leader,
            small,
            reluctant,
            sent: Vec::new(),
            offset: 0,
            unacknowledged: 0,
            in_flight: FuturesUnordered::new(),
            put_in_flight: false,
            closing: false,
            flushing: false,
            committed_chunks: 0,
            committed_len: 0,
        })
    }

    pub(super) fn id(&self) -> BlockId {
        self.target.block
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The node that receives requests.
    pub(super) fn node(&self) -> &DatanodeDetails {
        &self.pipeline.members[self.leader]
    }

    /// Number of bytes that still fit.
    pub(super) fn room(&self) -> u64 {
        self.location.length.saturating_sub(self.offset)
    }

    /// Returns `true` if the whole block is sent in one request.
    pub(super) fn is_small(&self) -> bool {
        self.small
    }

    /// Returns `true` if there was no better block.
    pub(super) fn is_reluctant(&self) -> bool {
        self.reluctant
    }

    pub(super) fn unacknowledged(&self) -> usize {
        self.unacknowledged
    }

    /// Accepts a chunk and sends it.
    pub(super) fn write(&mut self, chunk: Chunk) {
        let index = self.sent.len();
        let info = dn::ChunkInfo {
            chunk_name: format!("{}_chunk_{}", self.target.block.local, index + 1),
            offset: self.offset,
            len: chunk.len as u64,
            metadata: Vec::new(),
            checksum_data: chunk.checksums.clone(),
            stripe_checksum: None,
        };
        self.offset += chunk.len as u64;
        self.unacknowledged += chunk.len;
        self.sent.push(Sent { info, data: Some(chunk), acknowledged: false });
        self.send_chunk(index);
    }

    /// Ends the block: it is put when all chunks are acknowledged.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.put_if_due();
    }

    /// Makes data durable as soon as it is acknowledged, although it is less than a PutBlock
    /// usually covers.
    pub(super) fn flush(&mut self) {
        self.flushing = true;
        self.put_if_due();
    }

    /// Returns `true` if all data of the block is durable.
    pub(super) fn is_committed(&self) -> bool {
        self.committed_chunks == self.sent.len()
    }

    /// Processes responses that have arrived, without waiting.
    pub(super) fn poll_answers(&mut self) -> Result<(), Failure> {
        while let Some(Some(event)) = self.in_flight.next().now_or_never() {
            self.on(event)?;
        }
        Ok(())
    }

    /// Waits for one response.
    pub(super) async fn drive(&mut self) -> Result<(), Failure> {
        match self.in_flight.next().await {
            Some(event) => self.on(event),
            // Nothing is in flight although some data is not durable: only a PutBlock can be
            // missing.
            None => {
                self.closing = true;
                self.put_if_due();
                if self.in_flight.is_empty() && !self.is_committed() {
                    let message = "a block waits for an answer that no DataNode owes";
                    return Err(Failure::Other(Error::Usage(message.to_owned())));
                }
                Ok(())
            }
        }
    }

    /// Sends all data that is not durable again, to `leader` or else to the next member.
    pub(super) fn resend(
        &mut self,
        leader: Option<DatanodeId>,
        same: bool,
        excluded: &ExcludeList,
    ) {
        self.in_flight = FuturesUnordered::new();
        self.put_in_flight = false;
        let hinted = leader.and_then(|id| self.pipeline.members.iter().position(|m| m.id == id));
        self.leader = match hinted {
            Some(index) => index,
            None if same => self.leader,
            None => {
                let next = (self.leader + 1) % self.pipeline.members.len();
                excluded.first_usable(&self.pipeline, next)
            }
        };
        for index in self.committed_chunks..self.sent.len() {
            self.sent[index].acknowledged = false;
            self.send_chunk(index);
        }
    }

    /// The durable part of the block, and the chunks that are not durable.
    pub(super) fn into_parts(self) -> (Option<KeyLocation>, Vec<Chunk>) {
        let location = self.durable();
        let rest = self.sent.into_iter().skip(self.committed_chunks);
        let rest = rest.filter_map(|sent| sent.data).collect();
        (location, rest)
    }

    /// The durable part of the block, if any.
    pub(super) fn durable(&self) -> Option<KeyLocation> {
        (self.committed_len > 0).then(|| KeyLocation {
            block_id: self.target.block.to_wire(),
            length: self.committed_len,
            token: None,
            pipeline: None,
            ..self.location.clone()
        })
    }

    /// Number of chunks given to the block.
    pub(super) fn chunks(&self) -> usize {
        self.sent.len()
    }

    fn send_chunk(&mut self, index: usize) {
        let Some(sent) = self.sent.get(index) else { return };
        let parts = sent.data.as_ref().map(|chunk| chunk.parts.clone()).unwrap_or_default();
        let future = if self.small {
            self.put_in_flight = true;
            self.put_small(&sent.info, parts)
        } else {
            self.write_chunk(index, &sent.info, parts)
        };
        self.start(future);
    }

    /// Starts a request: the first poll passes it to the connection.
    fn start(&mut self, mut future: BoxFuture<'static, Event>) {
        let future = match (&mut future).now_or_never() {
            Some(event) => future::ready(event).boxed(),
            None => future,
        };
        self.in_flight.push(future);
    }

    fn write_chunk(
        &self,
        index: usize,
        info: &dn::ChunkInfo,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'static, Event> {
        let request = dn::WriteChunkRequestProto {
            block_id: self.target.block.to_datanode(0),
            chunk_data: Some(info.clone()),
            data: None,
            block: None,
        };
        let command = Command {
            kind: dn::Type::WriteChunk,
            request_field: 17,
            response_field: 15,
            request: &request,
        };
        let call = self.call::<_, dn::WriteChunkResponseProto>(command, parts);
        call.map(move |reply| Event::Chunk(index, reply.map(drop))).boxed()
    }

    fn put_small(&self, info: &dn::ChunkInfo, parts: Vec<Bytes>) -> BoxFuture<'static, Event> {
        let request = dn::PutSmallFileRequestProto {
            block: self.put_request(vec![info.clone()], true),
            chunk_info: info.clone(),
            data: Bytes::new(),
        };
        let command = Command {
            kind: dn::Type::PutSmallFile,
            request_field: 20,
            response_field: 19,
            request: &request,
        };
        let call = self.call::<_, dn::PutSmallFileResponseProto>(command, parts);
        call.map(|reply| Event::Put(1, reply.map(|r| r.committed_block_length))).boxed()
    }

    fn put_block(&self, chunks: usize, eof: bool) -> BoxFuture<'static, Event> {
        let infos = self.sent.iter().take(chunks).map(|sent| sent.info.clone()).collect();
        let request = self.put_request(infos, eof);
        let command = Command {
            kind: dn::Type::PutBlock,
            request_field: 12,
            response_field: 11,
            request: &request,
        };
        let call = self.call::<_, dn::PutBlockResponseProto>(command, Vec::new());
        call.map(move |reply| Event::Put(chunks, reply.map(|r| r.committed_block_length))).boxed()
    }

    fn put_request(&self, chunks: Vec<dn::ChunkInfo>, eof: bool) -> dn::PutBlockRequestProto {
        let kind = dn::KeyValue { key: "TYPE".to_owned(), value: Some("KEY".to_owned()) };
        let block_data = dn::BlockData {
            block_id: self.target.block.to_datanode(0),
            flags: None,
            metadata: vec![kind],
            chunks,
            size: None,
        };
        dn::PutBlockRequestProto { block_data, eof: Some(eof) }
    }

    fn call<Q: prost::Message, A: prost::Message + Default>(
        &self,
        command: Command<'_, Q>,
        parts: Vec<Bytes>,
    ) -> impl Future<Output = Result<A, Failure>> + Send + use<Q, A> {
        // A node that does not respond for long hangs or is partitioned, and another pipeline is
        // available at once.
        let timeout = match self.reluctant {
            true => self.options.timeout,
            false => self.options.timeout / HANG_SHARE,
        };
        let node = self.node();
        let call = self.datanodes.call(node, &self.target, command, parts, 0, timeout);
        let call = call.map(|reply| reply.map(|(message, _)| message));
        self.datanodes.watched(node, call)
    }

    fn on(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Chunk(index, reply) => {
                reply?;
                if let Some(sent) = self.sent.get_mut(index) {
                    sent.acknowledged = true;
                }
                self.put_if_due();
                Ok(())
            }
            Event::Put(chunks, reply) => {
                self.put_in_flight = false;
                self.on_put(chunks, &reply?)
            }
        }
    }

    fn on_put(
        &mut self,
        chunks: usize,
        committed: &dn::GetCommittedBlockLengthResponseProto,
    ) -> Result<(), Failure> {
        let expected: u64 = self.sent.iter().take(chunks).map(|sent| sent.info.len).sum();
        let block = BlockId::from_datanode(&committed.block_id);
        let ours = self.target.block;
        if (block.container, block.local) != (ours.container, ours.local) {
            let message = format!("put block {ours}, acknowledged was {block}");
            return Err(invalid_reply(self.node().id, message));
        }
        if u64::try_from(committed.block_length) != Ok(expected) {
            let message = format!(
                "put {expected} bytes of block {ours}, acknowledged were {}",
                committed.block_length
            );
            return Err(invalid_reply(self.node().id, message));
        }
        for sent in self.sent.iter_mut().take(chunks).skip(self.committed_chunks) {
            sent.acknowledged = true;
            if let Some(chunk) = sent.data.take() {
                self.unacknowledged -= chunk.len;
            }
        }
        self.committed_chunks = chunks;
        self.committed_len = expected;
        self.target.block.bcsid = block.bcsid;
        self.put_if_due();
        Ok(())
    }

    /// Sends a PutBlock if enough is acknowledged for it, or if all is and the block is closing.
    fn put_if_due(&mut self) {
        if self.put_in_flight || self.small {
            return;
        }
        let due = self.sent.iter().skip(self.committed_chunks).take_while(|s| s.acknowledged);
        let (count, bytes) = due.fold((0, 0), |(n, b), sent| (n + 1, b + sent.info.len as usize));
        let all = self.committed_chunks + count == self.sent.len();
        let is_asked_for = (self.closing || self.flushing) && all;
        if count == 0 || !(bytes >= self.options.flush_size || is_asked_for) {
            return;
        }
        self.flushing = false;
        self.put_in_flight = true;
        let future = self.put_block(self.committed_chunks + count, self.closing && all);
        self.start(future);
    }
}
