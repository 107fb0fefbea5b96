//! Endpoints of requests.
//!
//! * [`native`]: framed, chunk bytes outside of the message; also Raft between DataNodes
//! * [`background`]: background services, on the framed endpoint
//! * [`deletion_status`]: progress of deletions, on the framed endpoint
//! * [`grpc`]: Ozone's `XceiverClientProtocolService`
//! * [`stream`]: blocks read as streams, on the gRPC endpoint
//! * [`hadoop`]: Hadoop RPC, for administrators of one DataNode
//! * [`ratis`]: Ratis' client protocol, for published clients that write into pipelines

mod background;
mod deletion_status;
pub(crate) mod grpc;
pub(crate) mod hadoop;
pub(crate) mod native;
pub(crate) mod ratis;
mod stream;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use prost::Message;
use proto::datanode::ContainerCommandRequestProto;

use crate::command::{self, Answer, Class, Command, Refusal};
use crate::daemon::Daemon;
use crate::dispatch;
use crate::node::Node;
use crate::settings::MAX_CHUNK;

/// Counts a read that is dropped before its response: its client disconnected.
struct Unanswered<'a> {
    dropped: Option<&'a AtomicU64>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(dropped) = self.dropped {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Measures and traces a command and carries it out.
pub(crate) async fn serve(
    daemon: &Daemon,
    command: Command,
    received: Instant,
) -> Result<Answer, Refusal> {
    let received = match daemon.node() {
        Some(node) => admit(node, &command, received).await,
        None => received,
    };
    let mut measured = daemon.metrics.commands.of(command.kind()).map(|m| m.call(received));
    if let Some(measured) = &mut measured {
        measured.started();
    }
    let name = command::name(command.kind());
    let mut span = daemon.edge.request(name, command.request.trace_id.as_deref(), received);
    let is_read = command.class() == Some(Class::Read);
    let mut unanswered = Unanswered { dropped: is_read.then_some(&daemon.metrics.dropped_reads) };
    let answer = match daemon.node() {
        Some(node) => span.run(pin!(dispatch::execute(node, command))).await,
        None => Err(Refusal::Starting),
    };
    unanswered.dropped = None;
    if let Some(measured) = measured {
        measured.finish(answer.as_ref().is_ok_and(Answer::is_success));
    }
    answer
}

/// Counts a command of a client; one of a repair waits until it may be carried out. Returns when
/// the work on it begins to count: a repair that waits for clients is not slow.
async fn admit(node: &Node, command: &Command, received: Instant) -> Instant {
    if command.request.for_repair != Some(true) {
        node.pace.clients.note(1);
        return received;
    }
    let chunk = command.request.read_chunk.as_ref();
    // A length from a message: no more than will be read.
    let bytes = chunk.map_or(0, |read| read.chunk_data.len.min(MAX_CHUNK as u64));
    node.pace.read(bytes, command.request.patience_ms).await;
    Instant::now()
}

/// A command of a published client, from a message that has its chunk bytes inside: they are moved
/// out of it.
pub(crate) fn split_payload(
    mut request: Box<ContainerCommandRequestProto>,
    deadline: Option<Instant>,
    peer: Option<IpAddr>,
) -> Command {
    let payload = take_payload(&mut request);
    let header = Bytes::from(request.encode_to_vec());
    Command { header, request, payload, deadline, peer, verify_reads: true }
}

/// Moves the chunk bytes out of a message.
pub(crate) fn take_payload(request: &mut ContainerCommandRequestProto) -> Bytes {
    if let Some(write) = &mut request.write_chunk {
        return write.data.take().unwrap_or_default();
    }
    if let Some(put) = &mut request.put_small_file {
        return std::mem::take(&mut put.data);
    }
    Bytes::new()
}
