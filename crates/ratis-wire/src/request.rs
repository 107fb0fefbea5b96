//! Parsing of client requests.

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::group::Refusal;
use crate::ids::{CallKey, GroupId};
use crate::level::Level;
use crate::wire::common::raft_client_request_proto::Type;
use crate::wire::common::{RaftClientRequestProto, RaftGroupIdProto, RaftRpcRequestProto};

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Group, client and call.
    pub key: CallKey,
    /// The kind of request.
    pub kind: Kind,
    /// Its position among the requests of its stream.
    pub position: Option<StreamPosition>,
    /// Calls whose replies the client has received.
    pub answered: Vec<u64>,
    /// The client's timeout.
    pub timeout: Option<Duration>,
}

/// The kind of request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Write(Bytes),
    Read(Bytes),
    Watch { index: u64, level: Level },
    Other(&'static str),
}

/// A position among the requests of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    pub number: u64,
    /// The first request of its stream.
    pub first: bool,
}

impl Request {
    /// # Errors
    /// If an id is missing or malformed, or the request has no type.
    pub fn from_wire(wire: RaftClientRequestProto) -> Result<Self, Refusal> {
        let invalid = |what: &str| Refusal::Invalid(what.to_owned());
        let rpc = wire.rpc_request.ok_or_else(|| invalid("rpcRequest is missing"))?;
        let key = call_key(&rpc)?;
        let content = wire.message.map(|message| message.content).unwrap_or_default();
        let kind = match wire.r#type.ok_or_else(|| invalid("the request has no type"))? {
            Type::Write(_) => Kind::Write(content),
            Type::Read(_) => Kind::Read(content),
            Type::Watch(watch) => {
                Kind::Watch { index: watch.index, level: Level::from_wire(watch.replication)? }
            }
            Type::StaleRead(_) => Kind::Other("staleRead"),
            Type::MessageStream(_) => Kind::Other("messageStream"),
            Type::DataStream(_) => Kind::Other("dataStream"),
            Type::Forward(_) => Kind::Other("forward"),
        };
        let position = rpc
            .sliding_window_entry
            .map(|entry| StreamPosition { number: entry.seq_num, first: entry.is_first });
        let timeout = (rpc.timeout_ms > 0).then(|| Duration::from_millis(rpc.timeout_ms));
        Ok(Self { key, kind, position, answered: rpc.replied_call_ids, timeout })
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Write(content) | Kind::Read(content) => content.len(),
            Kind::Watch { .. } | Kind::Other(_) => 0,
        }
    }
}

/// The caller and its call.
///
/// # Errors
/// If an id is missing or malformed.
pub(crate) fn call_key(rpc: &RaftRpcRequestProto) -> Result<CallKey, Refusal> {
    let client = uuid("requestorId", &rpc.requestor_id)?;
    if client.is_nil() {
        return Err(Refusal::Invalid("requestorId is zero".to_owned()));
    }
    let group = group_id(rpc.raft_group_id.as_ref())?;
    Ok(CallKey { group, client, call: rpc.call_id })
}

/// # Errors
/// If it is missing or malformed.
pub(crate) fn group_id(id: Option<&RaftGroupIdProto>) -> Result<GroupId, Refusal> {
    let id = id.ok_or_else(|| Refusal::Invalid("raftGroupId is missing".to_owned()))?;
    uuid("raftGroupId", &id.id)
}

fn uuid(what: &str, bytes: &[u8]) -> Result<Uuid, Refusal> {
    Uuid::from_slice(bytes)
        .map_err(|_| Refusal::Invalid(format!("{what} has {} bytes, not 16", bytes.len())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(wire) = RaftClientRequestProto::decode(&bytes[..]) {
                let _ = Request::from_wire(wire);
            }
        }

        #[test]
        fn ids_of_any_length_but_16_are_refused(
            client in prop::collection::vec(any::<u8>(), 0..40),
            group in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let good = client.len() == 16 && group.len() == 16 && client.iter().any(|b| *b != 0);
            let rpc = RaftRpcRequestProto {
                requestor_id: client.into(),
                raft_group_id: Some(RaftGroupIdProto { id: group.into() }),
                ..Default::default()
            };
            prop_assert_eq!(call_key(&rpc).is_ok(), good);
        }
    }
}
