//! Container commands over a DataNode's framed port, with chunk bytes outside the message.

mod command;
mod direct;
mod failure;
mod late_replicas;
mod pulse;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use framed::ClientPool;
use prost::Message;
use proto::datanode::Type;
use proto::method;
use types::{BlockId, DatanodeDetails, PipelineId, PortName};

pub use direct::DatanodeClient;
pub(crate) use failure::Failure;
use late_replicas::LateReplicas;

use crate::Error;

/// Payloads above this size use separate connections, so that small requests do not wait for them.
const BULK: usize = 64 << 10;

/// Timeout of a report of damage.
const REPORT_DAMAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections to every DataNode.
#[derive(Clone)]
pub(crate) struct Datanodes {
    small: ClientPool,
    bulk: ClientPool,
    /// Connections for pings.
    pulse: ClientPool,
    /// Time without a sign of life after which a DataNode is considered hung.
    silence: Duration,
    /// Replicas that were late.
    pub(crate) late: LateReplicas,
}

/// The block of a command, and the token for it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) block: BlockId,
    pub(crate) pipeline: Option<PipelineId>,
    /// Block token, as its url string.
    pub(crate) token: Option<Arc<str>>,
}

/// A command of the container protocol.
pub(crate) struct Command<'a, Q> {
    pub(crate) kind: Type,
    /// Field number of the request in `ContainerCommandRequestProto`.
    pub(crate) request_field: u32,
    /// Field number of the response in `ContainerCommandResponseProto`.
    pub(crate) response_field: u32,
    pub(crate) request: &'a Q,
}

impl Datanodes {
    pub(crate) fn new(connect_timeout: Duration, silence: Duration) -> Self {
        let options = |connections| framed::ClientOptions {
            connections,
            connect_timeout,
            ..Default::default()
        };
        let pool = |connections| ClientPool::new(options(connections));
        Self {
            small: pool(1),
            bulk: pool(2),
            pulse: pool(1),
            silence,
            late: LateReplicas::default(),
        }
    }

    /// Reports to a DataNode that its replica returned bytes with wrong checksums, so that it scans
    /// the replica. Runs in the background.
    pub(crate) fn report_damage(&self, node: &DatanodeDetails, block: BlockId) {
        let Some(address) = node.address(&PortName::Native) else { return };
        let (client, id) = (self.small.get(&address), node.id);
        let header = [block.container.0.to_be_bytes(), block.local.0.to_be_bytes()].concat();
        tokio::spawn(async move {
            let told = client.call(
                method::REPORT_DAMAGE,
                header.into(),
                Bytes::new(),
                REPORT_DAMAGE_TIMEOUT,
            );
            if let Err(error) = told.await {
                tracing::debug!(datanode = %id, %block, %error, "cannot report damage");
            }
        });
    }

    /// Sends one command to one DataNode. `expect` is the expected size of the response's payload,
    /// if known.
    pub(crate) fn call<Q: Message, A: Message + Default>(
        &self,
        node: &DatanodeDetails,
        target: &Target,
        command: Command<'_, Q>,
        payload: Vec<Bytes>,
        expect: usize,
        timeout: Duration,
    ) -> impl Future<Output = Result<(A, Bytes), Failure>> + Send + use<Q, A> {
        let bulk = expect.max(payload.iter().map(Bytes::len).sum()) > BULK;
        let pool = if bulk { &self.bulk } else { &self.small };
        let client = node.address(&PortName::Native).map(|address| pool.get(&address));
        let header = command::encode(node.id, target, &command);
        let response_field = command.response_field;
        let id = node.id;
        async move {
            let Some(client) = client else {
                return Err(Failure::Unreachable(format!("datanode {id} has no native port")));
            };
            let call = client.call_parts(method::CONTAINER, header, payload, timeout);
            let reply = telemetry::stage("call datanode", call)
                .await
                .map_err(|error| Failure::of_call(id, error, timeout))?;
            let message = command::decode(id, response_field, reply.header)?;
            Ok((message, reply.payload))
        }
    }
}

pub(crate) fn invalid_reply(node: types::DatanodeId, message: impl Into<String>) -> Failure {
    Failure::Other(Error::protocol(format!("datanode {node}"), message))
}

/// A block token in the format of requests: Hadoop's URL string, base64url without padding of four
/// length-prefixed fields.
pub(crate) fn token_url(token: &proto::common::TokenProto) -> Arc<str> {
    let mut bytes = Vec::new();
    let fields: [&[u8]; 4] =
        [&token.identifier, &token.password, token.kind.as_bytes(), token.service.as_bytes()];
    for field in fields {
        put_hadoop_vint(field.len(), &mut bytes);
        bytes.extend_from_slice(field);
    }
    base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, bytes).into()
}

/// Hadoop's variable-length integer: one byte up to 127, else a byte with the number of bytes that
/// follow.
fn put_hadoop_vint(value: usize, out: &mut Vec<u8>) {
    if value <= 127 {
        out.push(value as u8);
        return;
    }
    let bytes = (value as u64).to_be_bytes();
    let skip = bytes.iter().take_while(|b| **b == 0).count();
    let count = bytes.len() - skip;
    out.push((-112i8 - count as i8) as u8);
    out.extend_from_slice(&bytes[skip..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_hadoop_vints() {
        let cases: [(usize, &[u8]); 4] =
            [(5, &[5]), (127, &[127]), (128, &[0x8f, 128]), (300, &[0x8e, 1, 44])];
        for (value, expected) in cases {
            let mut out = Vec::new();
            put_hadoop_vint(value, &mut out);
            assert_eq!(out, expected, "{value}");
        }
    }
}
