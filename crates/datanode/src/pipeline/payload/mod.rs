//! Chunk bytes of a pipeline: written to the disk of every replica before the entry that names them
//! enters its log.
//!
//! * WriteChunk: the chunk is written.
//! * PutBlock: the block's earlier chunks are written and all of them made durable. A chunk that is
//!   not here (lost in a crash before it was durable, or never sent to a replica that lagged) is
//!   fetched from another member first. So **an entry with a PutBlock in the log means that the
//!   block's bytes are durable on this disk**, and reads never see a block without its bytes.
//! * PutSmallFile: the log entry contains the bytes, unless they are too many.
//!
//! **A replica confirms only entries whose bytes it has stored.** One that cannot store them (its
//! container is damaged or lost, its disk is full or failed, no member has the chunk) withholds its
//! confirmation: the leader sends the entry again, the other members commit without this one, and
//! SCM receives a report ([`withheld`](super::withheld)). The only entries that are confirmed
//! without their bytes are those that every replica refuses alike when it applies them, because an
//! earlier entry of the log closed the container or finalized the block; and those whose block is
//! known to be deleted, which is recorded first.
//!
//! [`work`]: the part of a command that concerns bytes; [`elsewhere`]: bytes and deletions of other
//! members.

mod elsewhere;
mod work;

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use container::ContainerState;
use futures::FutureExt;
use futures::future::BoxFuture;
use multiraft::{Group, PayloadStore, Placement, RaftHost};
use prost::Message;
use proto::datanode::{
    BlockData, ChunkInfo, ContainerCommandRequestProto, Result as ResultCode, Type,
};
use types::{BlockId, ContainerId};

use self::elsewhere::write_command;
use self::work::Work;
use super::proof;
use super::withheld::Withheld;
use crate::command::{Failure, peek};
use crate::pending_reports::PendingReports;
use containerstore::tracker::Tracker;
use containerstore::{
    ContainerStore, Disk, InitialState, NewContainer, PipelineStore, StorageError,
};

/// The payload store of one pipeline's group. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Payloads {
    inner: Arc<Inner>,
}

struct Inner {
    store: ContainerStore,
    pipeline: PipelineStore,
    disk: Arc<Disk>,
    tracker: Tracker,
    small: u64,
    sync_chunks: bool,
    withheld: Withheld,
    pending_reports: Arc<PendingReports>,
    /// Finds the group. Not the group itself: that would be a cycle of references.
    host: RaftHost,
}

impl Payloads {
    pub(crate) fn new(
        store: ContainerStore,
        pipeline: PipelineStore,
        disk: Arc<Disk>,
        small: u64,
        sync_chunks: bool,
        pending_reports: Arc<PendingReports>,
        host: RaftHost,
    ) -> Self {
        let (tracker, withheld) = (Tracker::default(), Withheld::default());
        let inner = Inner {
            store,
            pipeline,
            disk,
            tracker,
            small,
            sync_chunks,
            withheld,
            pending_reports,
            host,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns `true` if the log entry contains the bytes of a block of this length.
    pub(crate) fn rides_in_log(&self, len: u64) -> bool {
        len <= self.inner.small
    }

    /// A chunk's bytes from another member.
    pub(crate) async fn fetch_chunk(
        &self,
        block: &BlockData,
        chunk: &ChunkInfo,
    ) -> Result<Bytes, Failure> {
        if chunk.len == 0 {
            return Ok(Bytes::new());
        }
        self.inner.fetch(write_command(block, chunk)).await
    }

    /// Gets a chunk from another member and writes it.
    pub(crate) async fn refill(&self, block: &BlockData, chunk: &ChunkInfo) -> Result<(), Failure> {
        self.inner.refill(BlockId::from_datanode(&block.block_id), block, chunk).await
    }

    /// Makes a block's chunks durable.
    pub(crate) async fn sync(&self, block: &BlockData) -> Result<(), Failure> {
        let id = BlockId::from_datanode(&block.block_id);
        Ok(self.inner.store.sync_chunks(id, block).await?)
    }

    /// Chunk writes in flight and done.
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.inner.tracker
    }
}

impl PayloadStore for Payloads {
    fn placement(&self, header: &Bytes, payload_len: usize) -> Placement {
        match peek::kind(header) {
            Some(Type::WriteChunk | Type::PutBlock) => Placement::External,
            Some(Type::PutSmallFile) if payload_len as u64 > self.inner.small => {
                Placement::External
            }
            _ => Placement::InLog,
        }
    }

    /// Commands of one block stay in order; blocks do not wait for each other.
    fn order(&self, header: &Bytes) -> u64 {
        let Ok(request) = ContainerCommandRequestProto::decode(header.clone()) else { return 0 };
        Work::of(&request).map_or(0, |work| work.block.local.0)
    }

    fn prepare(
        &self,
        index: u64,
        header: Bytes,
        payload: Bytes,
    ) -> BoxFuture<'static, io::Result<()>> {
        // A disk that has failed votes for nothing, also while its pipelines are being stopped.
        if let Err(error) = self.inner.disk.check() {
            return failed(error.into());
        }
        let request = match ContainerCommandRequestProto::decode(header.clone()) {
            Ok(request) => request,
            Err(error) => return failed(Failure::malformed(error.to_string())),
        };
        match Work::of(&request) {
            Some(work) => {
                let stored = self.inner.clone().store(index, work, header, payload);
                let trace_id = request.trace_id.as_deref();
                telemetry::stage_under("store payload", trace_id, stored).boxed()
            }
            None => futures::future::ready(Ok(())).boxed(),
        }
    }

    fn admits(&self, header: &Bytes) -> io::Result<()> {
        self.inner.disk.check().map_err(io::Error::other)?;
        let kind = peek::kind(header);
        let Some(container) = peek::container(header).filter(|_| kind == Some(Type::PutSmallFile))
        else {
            return Ok(());
        };
        let id = ContainerId::from_wire(container);
        match self.inner.check_accepts_writes(id) {
            Err(failure) if !self.inner.is_refused_by_all(id, &failure) => {
                self.inner.withhold(&failure);
                Err(io::Error::other(failure))
            }
            _ => Ok(()),
        }
    }

    fn read(&self, header: Bytes) -> BoxFuture<'static, io::Result<Bytes>> {
        let request = match ContainerCommandRequestProto::decode(header.clone()) {
            Ok(request) => request,
            Err(error) => return failed(Failure::malformed(error.to_string())),
        };
        let inner = self.inner.clone();
        if let Some(block) = proof::block_of(&request) {
            return futures::future::ready(inner.prove(block)).boxed();
        }
        async move {
            let Some(Work { block, chunk: Some(chunk), .. }) = Work::of(&request) else {
                return Ok(Bytes::new());
            };
            match inner.read_whole(block, &chunk).await {
                Ok(bytes) => Ok(bytes),
                Err(failure) if inner.leads() => Ok(inner.read_elsewhere(header, &failure).await),
                Err(failure) => Err(io::Error::other(failure)),
            }
        }
        .boxed()
    }
}

impl Inner {
    fn group(&self) -> Option<Group> {
        self.host.group(self.pipeline.id().0)
    }

    fn leads(&self) -> bool {
        self.group().is_some_and(|group| group.is_leader())
    }

    /// Registers the work at once, in the order of calls, and does it in the future.
    fn store(
        self: Arc<Self>,
        index: u64,
        work: Work,
        header: Bytes,
        payload: Bytes,
    ) -> BoxFuture<'static, io::Result<()>> {
        let local = work.block.local;
        let write = work.chunk.as_ref().map(|chunk| {
            self.tracker.begin(local, chunk.offset..chunk.offset.saturating_add(chunk.len))
        });
        let earlier = work.put.is_some().then(|| self.tracker.earlier(local));
        async move {
            let Work { block, replica_index, chunk, put, eof } = work;
            if let (Some(chunk), Some(write)) = (chunk, write) {
                let written = self.write(block, replica_index, &chunk, header, payload).await;
                match written {
                    Ok(()) => write.done(),
                    // No member has its bytes. A chunk is not durable before its PutBlock, which
                    // searches for them.
                    Err(failure) if failure.code == ResultCode::NoSuchBlock && !self.leads() => {
                        drop(write);
                    }
                    Err(failure) => {
                        drop(write);
                        return self.resolve_failure(block, failure);
                    }
                }
            }
            let Some(put) = put else { return Ok(()) };
            if let Some(earlier) = earlier {
                earlier.wait().await;
            }
            if let Err(failure) = self.complete(block, &put).await {
                let committed = BlockId { bcsid: index, ..block };
                let gone = failure.code == ResultCode::NoSuchBlock && !self.leads();
                if !gone || !self.deleted_elsewhere(committed).await {
                    return self.resolve_failure(block, failure);
                }
                if let Err(failure) = self.note_deleted(committed).await {
                    return self.resolve_failure(block, failure);
                }
            }
            if eof {
                self.tracker.forget(local);
            }
            Ok(())
        }
        .boxed()
    }

    /// A leader refuses the proposal. A follower confirms an entry that is refused everywhere, and
    /// no other one.
    fn resolve_failure(&self, block: BlockId, failure: Failure) -> io::Result<()> {
        if !self.leads() {
            if self.is_refused_by_all(block.container, &failure) {
                return Ok(());
            }
            self.withhold(&failure);
        }
        Err(io::Error::other(failure))
    }

    /// Returns `true` if the container or block takes no writes because of an earlier entry of this
    /// pipeline's log: then every replica refuses the entry when it is applied.
    fn is_refused_by_all(&self, container: ContainerId, failure: &Failure) -> bool {
        let Ok(container) = self.store.container(container) else { return false };
        let info = container.info();
        info.pipeline == Some(self.pipeline.id())
            && !container.has_arrived()
            && match failure.code {
                ResultCode::ClosedContainerIo => info.state == ContainerState::Closed,
                ResultCode::BlockAlreadyFinalized => info.state != ContainerState::Unhealthy,
                _ => false,
            }
    }

    /// Checks that this replica of a container can store the bytes of this pipeline's entry. A
    /// missing container will be created.
    fn check_accepts_writes(&self, id: ContainerId) -> Result<(), Failure> {
        let container = match self.store.container(id) {
            Err(StorageError::ContainerNotFound(_)) => return Ok(()),
            other => other?,
        };
        let (info, here) = (container.info(), self.pipeline.id());
        if info.pipeline != Some(here) {
            let message = format!("container {id} does not belong to pipeline {here}");
            return Err(Failure::new(ResultCode::InvalidContainerState, message));
        }
        match info.state {
            state if state.applies_writes() => Ok(()),
            state => Err(StorageError::NotWritable { id, state }.into()),
        }
    }

    /// Reports an entry that is not confirmed here to SCM.
    fn withhold(&self, failure: &Failure) {
        if self.withheld.refused(Instant::now(), failure.may_pass()) {
            let pipeline = self.pipeline.id();
            tracing::error!(%pipeline, %failure, "this replica cannot store an entry of its pipeline");
            self.pending_reports
                .pipeline_failed(pipeline, format!("replica cannot store an entry: {failure}"));
        }
    }

    async fn write(
        &self,
        block: BlockId,
        replica_index: i32,
        chunk: &ChunkInfo,
        header: Bytes,
        payload: Bytes,
    ) -> Result<(), Failure> {
        if chunk.len == 0 {
            return Ok(());
        }
        let payload = if payload.is_empty() { self.fetch(header).await? } else { payload };
        if payload.len() as u64 != chunk.len {
            let message = format!("received {1} bytes of a chunk of {0}", chunk.len, payload.len());
            return Err(Failure::new(ResultCode::InvalidWriteSize, message));
        }
        self.make_container(block.container, replica_index)?;
        self.store.write_chunk(block, chunk, payload).await?;
        if self.sync_chunks {
            self.store.sync_block(block).await?;
        }
        Ok(())
    }

    /// Fetches missing chunks of a block, and makes all of them durable.
    async fn complete(&self, block: BlockId, data: &BlockData) -> Result<(), Failure> {
        self.make_container(block.container, data.block_id.replica_index())?;
        for chunk in &data.chunks {
            let range = chunk.offset..chunk.offset.saturating_add(chunk.len);
            if self.tracker.has(block.local, &range) {
                continue;
            }
            if !self.store.has_payload(block, chunk).await? {
                self.refill(block, data, chunk).await?;
            }
            self.tracker.found(block.local, range);
        }
        let synced = self.store.sync_chunks(block, data).await;
        if synced.is_err() {
            // Bytes recorded as written may be missing: the next attempt checks.
            self.tracker.forget(block.local);
        }
        Ok(synced?)
    }

    fn make_container(&self, id: ContainerId, replica_index: i32) -> Result<(), Failure> {
        self.store.create_container(NewContainer {
            id,
            replica_index,
            pipeline: Some(self.pipeline.id()),
            disk: Some(self.disk.clone()),
            storage_type: None,
            state: InitialState::Open,
        })?;
        self.check_accepts_writes(id)
    }
}

fn failed<T: Send + 'static>(failure: Failure) -> BoxFuture<'static, io::Result<T>> {
    futures::future::ready(Err(io::Error::other(failure))).boxed()
}
