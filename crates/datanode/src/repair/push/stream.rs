//! The sender's side of one copy: its steps, in order.

use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client};
use prost::Message;
use types::{ContainerId, LocalId};

use super::wire::{BeginProto, FinishProto, PartProto, PushRequest, PushResponse};
use crate::repair::pace::{RepairPace, to_tell};
use containerstore::transfer::{Manifest, Part};

/// Approximate bytes of one step: a step ends after the chunk that exceeds it.
pub(crate) const STEP: usize = 4 << 20;

/// Timeout of a step; the last one makes all of it durable.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Blocks that one step leaves out at most.
const DROPPED_PER_STEP: usize = 100_000;

/// Progress of a copy at its target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The target has the container already.
    pub here: bool,
    /// The last block that is there whole, from an attempt before.
    pub last: Option<LocalId>,
    /// The block after that one of which the target has some chunks, and their number.
    pub partial: Option<(LocalId, usize)>,
    /// Blocks that are there.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One attempt to copy a container to one node.
pub(crate) struct PushStream {
    client: Client,
    container: ContainerId,
    attempt: u64,
}

impl PushStream {
    /// Begins an attempt; steps of earlier ones are refused from now on.
    pub async fn begin(
        client: Client,
        container: ContainerId,
        manifest: &Manifest,
    ) -> Result<(Self, Reached), CallError> {
        let attempt = uuid::Uuid::new_v4().as_u128() as u64;
        let stream = Self { client, container, attempt };
        let begin = Some(BeginProto::new(manifest));
        let response = stream.step(PushRequest { begin, ..stream.request() }, Vec::new()).await?;
        let chunks = usize::try_from(response.partial_chunks).unwrap_or(0);
        let reached = Reached {
            here: response.here,
            last: response.last.map(LocalId),
            partial: response.partial.map(|local| (LocalId(local), chunks)),
            blocks: response.blocks,
            bytes: response.bytes,
        };
        Ok((stream, reached))
    }

    /// The node that gets the copy.
    pub fn address(&self) -> &str {
        self.client.address()
    }

    /// Sends parts, at this pace; they wait no longer than `patience` allows, here and there.
    pub async fn send(
        &self,
        parts: &[Part],
        pace: &RepairPace,
        patience: impl Fn() -> Option<Duration>,
    ) -> Result<(), CallError> {
        let payload: Vec<Bytes> = parts.iter().map(|part| part.data.clone()).collect();
        pace.send(payload.iter().map(|data| data.len() as u64).sum(), patience()).await;
        let patience_ms = to_tell(patience());
        let parts = parts.iter().map(PartProto::new).collect();
        self.step(PushRequest { parts, patience_ms, ..self.request() }, payload).await.map(drop)
    }

    /// Removes sent blocks from the copy: they were deleted meanwhile.
    pub async fn leave_out(&self, blocks: &[LocalId]) -> Result<(), CallError> {
        for blocks in blocks.chunks(DROPPED_PER_STEP) {
            let dropped = blocks.iter().map(|local| local.0).collect();
            self.step(PushRequest { dropped, ..self.request() }, Vec::new()).await?;
        }
        Ok(())
    }

    /// Makes the copy durable and visible, if it has this number of blocks and bytes.
    pub async fn finish(&self, blocks: u64, bytes: u64) -> Result<(), CallError> {
        let finish = Some(FinishProto { blocks, bytes });
        self.step(PushRequest { finish, ..self.request() }, Vec::new()).await.map(drop)
    }

    fn request(&self) -> PushRequest {
        PushRequest { container: self.container.0, attempt: self.attempt, ..PushRequest::default() }
    }

    async fn step(
        &self,
        request: PushRequest,
        payload: Vec<Bytes>,
    ) -> Result<PushResponse, CallError> {
        let header = request.encode_to_vec().into();
        let method = proto::method::CONTAINER_PUSH;
        let reply = self.client.call_parts(method, header, payload, STEP_TIMEOUT).await?;
        PushResponse::decode(reply.header).map_err(|e| CallError::Decode {
            address: self.client.address().clone(),
            reason: e.to_string(),
        })
    }
}
