//! Ids on the wire.

use bytes::Bytes;
use uuid::Uuid;

use crate::wire::common::RaftPeerProto;

/// A Raft group: 16 bytes on the wire.
pub type GroupId = Uuid;

/// A member of a group: the text of its UUID on the wire. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PeerId(Bytes);

impl PeerId {
    /// The peer of that UUID.
    pub fn new(id: Uuid) -> Self {
        Self(id.to_string().into_bytes().into())
    }

    /// Converts to the wire's form.
    pub fn to_wire(&self) -> Bytes {
        self.0.clone()
    }

    /// The peer without its addresses, which clients already have.
    pub(crate) fn to_peer(&self) -> RaftPeerProto {
        RaftPeerProto { id: self.to_wire(), ..Default::default() }
    }
}

/// A client's identity of a request, the same for all retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    /// The group.
    pub group: GroupId,
    /// The caller.
    pub client: Uuid,
    /// The client's call id.
    pub call: u64,
}
