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

    /// As the wire has it.
    pub fn to_wire(&self) -> Bytes {
        self.0.clone()
    }

    /// The peer without its addresses: a client knows those.
    pub(crate) fn to_peer(&self) -> RaftPeerProto {
        RaftPeerProto { id: self.to_wire(), ..Default::default() }
    }
}

/// What one client calls one request, however often it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    /// The group that it is for.
    pub group: GroupId,
    /// The caller.
    pub client: Uuid,
    /// The client's number for it.
    pub call: u64,
}
