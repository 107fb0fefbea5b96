//! How messages travel between hosts.
//!
//! A host hands all messages of all its groups for one node to the [`Transport`] as one frame;
//! the other side gives it to [`RaftHost::receive`](crate::RaftHost::receive). Frames may be
//! lost, Raft repeats what matters; they must not be reordered much (it costs resends).
//! Snapshot pieces and payload fetches are calls with an answer.

pub(crate) mod frame;

use bytes::Bytes;
use futures::future::BoxFuture;
use uuid::Uuid;

pub use crate::error::TransportError;

/// Encoded messages: a header, and payload parts that are never copied into it.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// What to do with the payload.
    pub header: Bytes,
    /// Parts of the payload, sent back to back.
    pub payload: Vec<Bytes>,
}

impl Frame {
    /// Bytes of header and payload together.
    pub fn len(&self) -> usize {
        self.header.len() + self.payload.iter().map(Bytes::len).sum::<usize>()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Another node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Which node.
    pub node: Uuid,
    /// Where it listens ("host:port"), as the group's [`Peer`](crate::Peer) says.
    pub address: String,
}

/// Carries frames to other hosts.
pub trait Transport: Send + Sync + 'static {
    /// Sends a frame one way. Never blocks: a transport whose queue is full drops the frame.
    fn send(&self, to: &Target, frame: Frame);

    /// Sends one piece of a snapshot and waits until the peer has it; its answer is the number of
    /// the piece that comes next.
    fn send_snapshot(
        &self,
        to: &Target,
        frame: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>>;

    /// Asks a peer for the payload of an entry; `request` is opaque.
    fn fetch_payload(
        &self,
        to: &Target,
        request: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>>;
}
