//! Sending a container to another node.

use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client, ClientOptions, Code};
use parking_lot::Mutex;
use prost::Message;
use rustc_hash::FxHashMap;
use tokio::sync::Semaphore;
use types::{ContainerId, DatanodeDetails, LocalId, PortName};

use super::throttle::Throttle;
use super::wire::{BeginProto, FinishProto, PartProto, PushRequest, PushResponse};
use crate::storage::transfer::Export;
use crate::storage::{ContainerStore, StorageError};

/// Bytes of one step, about: a step ends behind the chunk that exceeds it.
const STEP: usize = 4 << 20;

/// How long a step may take; the last one makes all of it durable.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Attempts of one copy; each goes on where the one before ended.
const ATTEMPTS: u32 = 5;

/// Pause before the second attempt; it doubles.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Why a container was not copied.
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
    #[error("{0} copies wait already")]
    Busy(usize),
}

impl PushError {
    /// Whether another attempt may end better.
    fn may_pass(&self) -> bool {
        match self {
            Self::Call(CallError::Status { status, .. }) => {
                matches!(status.code, Code::Busy | Code::Unavailable)
            }
            Self::Call(_) => true,
            _ => false,
        }
    }
}

/// Copies containers to other nodes, a few at a time.
pub(crate) struct Pusher {
    streams: Semaphore,
    waiting: Semaphore,
    queue: usize,
    throttle: Throttle,
    peers: Mutex<FxHashMap<String, Client>>,
}

impl Pusher {
    /// `streams` copies at a time, `queue` more that wait, `rate` bytes per second over all.
    pub fn new(streams: usize, queue: usize, rate: u64) -> Self {
        Self {
            streams: Semaphore::new(streams.max(1)),
            waiting: Semaphore::new(queue.max(1) + streams.max(1)),
            queue,
            throttle: Throttle::new(rate),
            peers: Mutex::default(),
        }
    }

    /// Copies a container; it is visible on the other node, and durable, when this returns.
    pub async fn push(
        &self,
        store: &ContainerStore,
        id: ContainerId,
        target: &DatanodeDetails,
    ) -> Result<(), PushError> {
        let Ok(_waits) = self.waiting.try_acquire() else {
            return Err(PushError::Busy(self.queue));
        };
        // Never closed.
        let _stream = self.streams.acquire().await.ok();
        let client = self.client(target)?;
        let mut pause = RETRY_DELAY;
        for attempt in 1.. {
            let error = match self.attempt(store, id, &client).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if attempt >= ATTEMPTS || !error.may_pass() {
                return Err(error);
            }
            tracing::info!(container = %id, target = %target.id, %error, attempt, "a copy was cut off and goes on");
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Ok(())
    }

    fn client(&self, target: &DatanodeDetails) -> Result<Client, PushError> {
        let address =
            target.address(&PortName::Native).ok_or_else(|| PushError::NoAddress(target.id))?;
        let mut peers = self.peers.lock();
        let new = || Client::new(address.as_str(), ClientOptions::default());
        Ok(peers.entry(address.clone()).or_insert_with(new).clone())
    }

    async fn attempt(
        &self,
        store: &ContainerStore,
        id: ContainerId,
        client: &Client,
    ) -> Result<(), PushError> {
        let (store, begun) = (store.clone(), std::time::Instant::now());
        let opening = tokio::task::spawn_blocking(move || Export::begin(&store, id)).await;
        let joined =
            |e: tokio::task::JoinError| StorageError::NotArrived { id, reason: e.to_string() };
        let mut export = opening.map_err(joined)??;
        let attempt = uuid::Uuid::new_v4().as_u128() as u64;
        let request = |begin| PushRequest { container: id.0, attempt, begin, ..Default::default() };
        let begin = request(Some(BeginProto::new(&export.manifest())));
        let mut reached = call(client, begin, Vec::new()).await?;
        if reached.here {
            tracing::info!(container = %id, target = %client.address(), "the copy is there already");
            return Ok(());
        }
        if reached.last.is_some() || reached.partial.is_some() {
            tracing::info!(
                container = %id, target = %client.address(), blocks = reached.blocks,
                chunks = reached.partial_chunks, "a copy goes on where it was cut off"
            );
            let chunks = usize::try_from(reached.partial_chunks).unwrap_or(0);
            let within = reached.partial.map(|local| (LocalId(local), chunks));
            export.skip_to(reached.last.map(LocalId), within);
        }
        let (mut blocks, mut bytes, mut sent) = (reached.blocks, reached.bytes, 0);
        loop {
            let parts = export.next(STEP).await?;
            if parts.is_empty() {
                break;
            }
            let payload: Vec<Bytes> = parts.iter().map(|p| p.data.clone()).collect();
            let length: u64 = payload.iter().map(|p| p.len() as u64).sum();
            for row in parts.iter().filter_map(|p| p.row.as_ref()) {
                blocks += 1;
                bytes += row_length(id, row)?;
            }
            self.throttle.pass(length).await;
            sent += length;
            let parts = parts.iter().map(PartProto::new).collect();
            reached = call(client, PushRequest { parts, ..request(None) }, payload).await?;
        }
        let finish = Some(FinishProto { blocks, bytes });
        call(client, PushRequest { finish, ..request(None) }, Vec::new()).await?;
        tracing::info!(
            container = %id, target = %client.address(), blocks, sent,
            millis = begun.elapsed().as_millis() as u64, there = reached.blocks, "container copied"
        );
        Ok(())
    }
}

fn row_length(id: ContainerId, row: &Bytes) -> Result<u64, StorageError> {
    let row = proto::datanode::BlockData::decode(row.clone())
        .map_err(|e| StorageError::row(id, "block_data", e))?;
    Ok(u64::try_from(row.size()).unwrap_or(0))
}

async fn call(
    client: &Client,
    request: PushRequest,
    payload: Vec<Bytes>,
) -> Result<PushResponse, CallError> {
    let header = request.encode_to_vec().into();
    let method = proto::method::CONTAINER_PUSH;
    let reply = client.call_parts(method, header, payload, STEP_TIMEOUT).await?;
    PushResponse::decode(reply.header)
        .map_err(|e| CallError::Decode { address: client.address().clone(), reason: e.to_string() })
}
