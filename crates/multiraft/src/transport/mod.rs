//! Messages between hosts.
//!
//! A host passes all messages of all its groups for one node to the [`Transport`] as one frame; the
//! other side passes it to [`RaftHost::receive`](crate::RaftHost::receive). Frames may be lost,
//! because Raft resends; they should rarely be reordered (it costs resends). Snapshot pieces and
//! payload fetches are calls with a response.

pub(crate) mod frame;

use bytes::Bytes;
use futures::future::BoxFuture;
use uuid::Uuid;

pub use crate::error::TransportError;

/// Encoded messages: a header, and payload parts that are never copied into it.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Describes the payload.
    pub header: Bytes,
    /// Parts of the payload, sent back to back.
    pub payload: Vec<Bytes>,
}

impl Frame {
    /// Bytes of header and payload together.
    pub fn len(&self) -> usize {
        self.header.len() + self.payload.iter().map(Bytes::len).sum::<usize>()
    }

    /// Returns `true` for an empty frame.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Another node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The node's id.
    pub node: Uuid,
    /// Its address ("host:port"), from the group's [`Peer`](crate::Peer).
    pub address: String,
}

/// Carries frames to other hosts.
pub trait Transport: Send + Sync + 'static {
    /// Sends a frame one way. Never blocks: a transport whose queue is full drops the frame.
    fn send(&self, to: &Target, frame: Frame);

    /// Sends one piece of a snapshot and waits until the peer has it; the response is the number of
    /// the next expected piece.
    fn send_snapshot(
        &self,
        to: &Target,
        frame: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>>;

    /// Requests the payload of an entry from a peer; `request` is opaque.
    fn fetch_payload(
        &self,
        to: &Target,
        request: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>>;
}
