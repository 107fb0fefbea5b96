//! The data sent to one target.

use std::time::Duration;

use bytes::BytesMut;
use erasure::ReplicaIndex;
use erasure::layout::Chunk;
use framed::CallError;
use proto::datanode::ChunkInfo;
use types::{ContainerId, LocalId};

use super::listing::by_key;
use super::plan::Plan;
use super::stripe::Cell;
use crate::repair::pace::RepairPace;
use crate::repair::push::{PushStream, Reached, STEP};
use containerstore::transfer::Part;

/// Parts sent in one step at most.
const PARTS: usize = 500;

/// One target of an attempt.
pub(super) struct Target {
    /// The index that it gets.
    pub index: ReplicaIndex,
    container: ContainerId,
    stream: PushStream,
    /// The last block that it had before this attempt.
    behind: Option<LocalId>,
    /// Blocks that it has, or will have with the queued parts.
    blocks: u64,
    bytes: u64,
    /// Bytes that were sent, including those of earlier attempts.
    passed: u64,
    /// Parts that wait to be sent, and their bytes.
    waiting: Vec<Part>,
    waiting_bytes: usize,
    /// Blocks up to this size are packed with others.
    small: u64,
    /// The block that is being rebuilt.
    chunks: Vec<ChunkInfo>,
    packed: BytesMut,
    failed: Option<CallError>,
}

impl Target {
    pub fn new(
        container: ContainerId,
        index: ReplicaIndex,
        (stream, reached): (PushStream, Reached),
        small: u64,
    ) -> Self {
        Self {
            index,
            container,
            stream,
            behind: reached.last,
            blocks: reached.blocks,
            bytes: reached.bytes,
            passed: reached.bytes,
            waiting: Vec::new(),
            waiting_bytes: 0,
            small,
            chunks: Vec::new(),
            packed: BytesMut::new(),
            failed: None,
        }
    }

    /// The last block that it had before this attempt.
    pub fn behind(&self) -> Option<LocalId> {
        self.behind
    }

    /// Bytes that were sent to it, and those that are sent next.
    pub fn passed(&self) -> u64 {
        self.passed.saturating_add(self.waiting_bytes as u64)
    }

    /// Returns `true` if it has not failed.
    pub fn is_well(&self) -> bool {
        self.failed.is_none()
    }

    /// Returns its error, if it failed.
    pub fn into_failure(self) -> Option<(ReplicaIndex, CallError)> {
        let Self { index, failed, .. } = self;
        Some((index, failed?))
    }

    /// Returns `true` if it lacks a block.
    fn lacks(&self, local: LocalId) -> bool {
        self.behind.is_none_or(|last| by_key(last, local).is_lt())
    }

    fn is_packed(&self, plan: &Plan) -> bool {
        let length = plan.group.replica_length(self.index);
        length > 0 && length <= self.small
    }

    /// The next cell of a block.
    pub fn cell(&mut self, plan: &Plan, stripe: u64, cell: Cell) {
        if cell.bytes.is_empty() || self.failed.is_some() || !self.lacks(plan.local) {
            return;
        }
        let at = Chunk {
            number: stripe.saturating_add(1),
            offset: stripe.saturating_mul(u64::from(plan.group.scheme().chunk_size())),
            length: cell.bytes.len() as u64,
        };
        let chunk = plan.chunk(self.index, at, cell.sums);
        self.chunks.push(chunk.clone());
        if self.is_packed(plan) {
            self.packed.extend_from_slice(&cell.bytes);
            return;
        }
        self.wait(Part {
            local: plan.local,
            packed: false,
            chunk: Some(chunk),
            row: None,
            data: cell.bytes,
        });
    }

    /// The block is whole.
    pub fn end(&mut self, plan: &Plan) {
        let (chunks, data) = (std::mem::take(&mut self.chunks), self.packed.split().freeze());
        if self.failed.is_some() || !self.lacks(plan.local) {
            return;
        }
        let (row, length) = plan.row(self.container, self.index, chunks);
        let packed = self.is_packed(plan);
        self.blocks = self.blocks.saturating_add(1);
        self.bytes = self.bytes.saturating_add(length);
        self.wait(Part { local: plan.local, packed, chunk: None, row: Some(row), data });
    }

    /// The block was deleted at its sources: nothing of it stays here.
    pub fn abandon(&mut self, plan: &Plan) {
        self.chunks.clear();
        self.packed.clear();
        self.waiting.retain(|part| part.local != plan.local);
        self.waiting_bytes = self.waiting.iter().map(|part| part.data.len()).sum();
    }

    fn wait(&mut self, part: Part) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(part.data.len());
        self.waiting.push(part);
    }

    /// Returns `true` if enough blocks are queued to be sent.
    pub fn is_due(&self) -> bool {
        self.waiting_bytes >= STEP || self.waiting.len() >= PARTS
    }

    /// Sends what waits; returns its bytes.
    pub async fn flush(
        &mut self,
        pace: &RepairPace,
        patience: &(impl Fn() -> Option<Duration> + Sync),
    ) -> u64 {
        let (parts, bytes) = (std::mem::take(&mut self.waiting), self.waiting_bytes as u64);
        self.waiting_bytes = 0;
        if parts.is_empty() || self.failed.is_some() {
            return 0;
        }
        match self.stream.send(&parts, pace, patience).await {
            Ok(()) => {
                self.passed = self.passed.saturating_add(bytes);
                bytes
            }
            Err(error) => {
                self.note(error);
                0
            }
        }
    }

    /// Leaves blocks out that were sent, `rows` of them with their lengths here.
    pub async fn leave_out(&mut self, blocks: &[(LocalId, u64)]) {
        if self.failed.is_some() || blocks.is_empty() {
            return;
        }
        let locals: Vec<LocalId> = blocks.iter().map(|(local, _)| *local).collect();
        match self.stream.leave_out(&locals).await {
            Ok(()) => {
                let bytes = blocks.iter().map(|(_, length)| *length).fold(0, u64::saturating_add);
                self.blocks = self.blocks.saturating_sub(blocks.len() as u64);
                self.bytes = self.bytes.saturating_sub(bytes);
            }
            Err(error) => self.note(error),
        }
    }

    /// Publishes the replica.
    pub async fn finish(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.stream.finish(self.blocks, self.bytes).await
        {
            self.note(error);
        }
    }

    fn note(&mut self, error: CallError) {
        let (container, index) = (self.container, self.index);
        let target = self.stream.address();
        tracing::warn!(%container, %index, target, %error, "a target of a reconstruction failed");
        self.failed = Some(error);
        self.waiting = Vec::new();
        self.packed = BytesMut::new();
    }
}
