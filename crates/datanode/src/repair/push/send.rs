//! Sending a container to another node.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client, ClientOptions, ClientPool, Code};
use prost::Message;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use types::{ContainerId, DatanodeDetails, PortName, StorageType};

use super::counts::Counts;
use super::stream::{PushStream, STEP};
use crate::repair::pace::{RepairPace, Schedule};
use containerstore::transfer::{Export, Manifest};
use containerstore::{ContainerStore, StorageError};

/// Attempts of one copy; each continues where the previous one ended.
pub(crate) const ATTEMPTS: u32 = 5;

/// Pause before the second attempt; it doubles.
pub(crate) const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Errors of copying a container.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushError {
    /// It cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The other node.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The other node cannot be reached by its details.
    #[error("datanode {0} has no native port")]
    NoAddress(types::DatanodeId),
    /// Too much waits.
    #[error("{0} copies are queued already")]
    Busy(usize),
}

impl PushError {
    /// Returns `true` if a retry may succeed.
    fn may_pass(&self) -> bool {
        match self {
            Self::Call(error) => may_pass(error),
            _ => false,
        }
    }
}

/// Returns `true` if a retry of a step may succeed.
pub(crate) fn may_pass(error: &CallError) -> bool {
    error.code().is_none_or(|code| matches!(code, Code::Busy | Code::Unavailable))
}

/// Copies containers to other nodes, a few at a time.
pub(crate) struct Pusher {
    streams: Semaphore,
    waiting: Semaphore,
    queue: usize,
    pace: Arc<RepairPace>,
    peers: ClientPool,
    counts: Counts,
}

/// Permit of one concurrent copy.
pub(crate) struct Slot<'p> {
    _waits: SemaphorePermit<'p>,
    _stream: Option<SemaphorePermit<'p>>,
}

impl Pusher {
    /// `streams` copies at a time, `queue` more that wait, at this pace.
    pub fn new(streams: usize, queue: usize, pace: Arc<RepairPace>) -> Self {
        Self {
            streams: Semaphore::new(streams.max(1)),
            waiting: Semaphore::new(queue.max(1) + streams.max(1)),
            queue,
            pace,
            peers: ClientPool::new(ClientOptions::default()),
            counts: Counts::default(),
        }
    }

    /// Waits for the permit of one more concurrent copy.
    ///
    /// # Errors
    /// When too many wait already.
    pub async fn slot(&self) -> Result<Slot<'_>, PushError> {
        let Ok(_waits) = self.waiting.try_acquire() else {
            return Err(PushError::Busy(self.queue));
        };
        // Never closed.
        Ok(Slot { _waits, _stream: self.streams.acquire().await.ok() })
    }

    /// Bounds the bytes of all copies together.
    pub fn pace(&self) -> &RepairPace {
        &self.pace
    }

    /// Returns the counts of copies from this node.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Copies a container to a node, and there to a disk of a storage type if that has space,
    /// within the time `left` if possible; it is visible on the other node, and durable, when this
    /// returns.
    pub async fn push(
        &self,
        store: &ContainerStore,
        id: ContainerId,
        target: (&DatanodeDetails, Option<StorageType>),
        left: Option<Duration>,
    ) -> Result<(), PushError> {
        let pushed = self.attempts(store, id, target, (Instant::now(), left)).await;
        self.counts.note_end(pushed.is_ok());
        pushed
    }

    async fn attempts(
        &self,
        store: &ContainerStore,
        id: ContainerId,
        (target, storage_type): (&DatanodeDetails, Option<StorageType>),
        time: (Instant, Option<Duration>),
    ) -> Result<(), PushError> {
        let _slot = self.slot().await?;
        let client = self.client(target)?;
        let mut pause = RETRY_DELAY;
        for attempt in 1.. {
            let error = match self.attempt(store, id, (&client, storage_type), time).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if attempt >= ATTEMPTS || !error.may_pass() {
                return Err(error);
            }
            tracing::info!(container = %id, target = %target.id, %error, attempt, "copy interrupted, resuming");
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Ok(())
    }

    /// Calls a node.
    ///
    /// # Errors
    /// When its details have no native port.
    pub fn client(&self, target: &DatanodeDetails) -> Result<Client, PushError> {
        let address = target.address(&PortName::Native);
        let address = address.ok_or_else(|| PushError::NoAddress(target.id))?;
        Ok(self.peers.get(&address))
    }

    async fn attempt(
        &self,
        store: &ContainerStore,
        id: ContainerId,
        (client, storage_type): (&Client, Option<StorageType>),
        (ordered, left): (Instant, Option<Duration>),
    ) -> Result<(), PushError> {
        let (store, begun) = (store.clone(), std::time::Instant::now());
        let opening = tokio::task::spawn_blocking(move || Export::begin(&store, id)).await;
        let joined =
            |e: tokio::task::JoinError| StorageError::NotArrived { id, reason: e.to_string() };
        let mut export = opening.map_err(joined)??;
        let manifest = export.manifest();
        let storage_type = storage_type.or(manifest.storage_type);
        let manifest = Manifest { storage_type, ..manifest };
        let (stream, reached) = PushStream::begin(client.clone(), id, &manifest).await?;
        if reached.here {
            tracing::info!(container = %id, target = %client.address(), "target has the copy already");
            return Ok(());
        }
        if reached.last.is_some() || reached.partial.is_some() {
            tracing::info!(
                container = %id, target = %client.address(), blocks = reached.blocks,
                chunks = reached.partial.map_or(0, |(_, chunks)| chunks),
                "resuming an interrupted copy"
            );
            export.skip_to(reached.last, reached.partial);
        }
        let (mut blocks, mut bytes, mut sent) = (reached.blocks, reached.bytes, 0);
        let (schedule, had) = (Schedule::new(ordered, left, manifest.used), reached.bytes);
        loop {
            let parts = export.next(STEP).await?;
            if parts.is_empty() {
                break;
            }
            let step: usize = parts.iter().map(|part| part.data.len()).sum();
            sent += step;
            for row in parts.iter().filter_map(|p| p.row.as_ref()) {
                blocks += 1;
                bytes += row_length(id, row)?;
            }
            let passed = had.saturating_add(sent as u64);
            let patience = || schedule.patience(passed, Instant::now());
            stream.send(&parts, &self.pace, patience).await?;
            self.counts.note_bytes(step);
        }
        stream.finish(blocks, bytes).await?;
        tracing::info!(
            container = %id, target = %client.address(), blocks, sent,
            millis = begun.elapsed().as_millis() as u64, "container copied"
        );
        Ok(())
    }
}

fn row_length(id: ContainerId, row: &Bytes) -> Result<u64, StorageError> {
    let row = proto::datanode::BlockData::decode(row.clone())
        .map_err(|e| StorageError::row(id, "block_data", e))?;
    Ok(u64::try_from(row.size()).unwrap_or(0))
}
