//! The framed endpoint: container commands of our own clients, and Raft between DataNodes.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use futures::FutureExt;
use proto::datanode::ContainerCommandRequestProto;
use proto::method;
use types::{ContainerId, PipelineId};
use uuid::Uuid;

use crate::command::{Answer, Class, Command, Refusal};
use crate::daemon::{Daemon, RAFT_METHODS};
use crate::node::Node;
use crate::repair::push::Receiver;

/// Handler of calls on the NATIVE port.
pub(crate) struct NativeHandler {
    daemon: Arc<Daemon>,
}

impl NativeHandler {
    pub fn new(daemon: Arc<Daemon>) -> Self {
        Self { daemon }
    }
}

impl Handler for NativeHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        match call.method {
            method::CONTAINER => container(self.daemon.clone(), call).boxed(),
            method::RAFT | method::RAFT_SNAPSHOT | method::PAYLOAD_FETCH => self.raft(call),
            method::REPORT_DAMAGE => ready(damage(&self.daemon, &call)),
            method::PIPELINE_PRESENCE => ready(presence(&self.daemon, &call)),
            method::BACKGROUND_SERVICES => ready(super::background::answer(&self.daemon, call)),
            method::DELETION_STATUS => {
                super::deletion_status::answer(self.daemon.clone(), call).boxed()
            }
            method::ALIVE => ready(Ok(Reply::default())),
            method::CONTAINER_PUSH => push(self.daemon.clone(), call).boxed(),
            other => ready(Err(unknown(other))),
        }
    }
}

impl NativeHandler {
    fn raft(&self, call: Call) -> HandlerFuture {
        // Raft retries its messages, so none is queued for a DataNode that is starting.
        let Some(host) = self.daemon.raft() else {
            return ready(Err(Refusal::Starting.to_status()));
        };
        multiraft::framed::serve(host, RAFT_METHODS, call)
            .unwrap_or_else(|call| ready(Err(unknown(call.method))))
    }
}

fn unknown(method: u16) -> Status {
    Status::new(Code::Unimplemented, format!("unknown method {method}"))
}

fn ready(answer: Result<Reply, Status>) -> HandlerFuture {
    std::future::ready(answer).boxed()
}

/// A reader found a replica damaged: the blocks are read here to verify its report.
fn damage(daemon: &Daemon, call: &Call) -> Result<Reply, Status> {
    let node = daemon.node().ok_or_else(|| Refusal::Starting.to_status())?;
    let id = |at: usize| call.header.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
    let (Some(container), Some(local), 16) = (id(0), id(8), call.header.len()) else {
        return Err(Status::invalid("a damage report names a container and a block"));
    };
    let why = format!("a client got bytes of block {local} without their checksums");
    node.store.suspect(ContainerId(container), &why);
    if node.store.suspects() > 0 {
        node.services.wake(crate::service_names::ON_DEMAND_SCANNER);
    }
    Ok(Reply::default())
}

/// Returns the state of a pipeline here to another member that is to close it.
fn presence(daemon: &Daemon, call: &Call) -> Result<Reply, Status> {
    // Not known before the pipelines are opened.
    let node = daemon.node().ok_or_else(|| Refusal::Starting.to_status())?;
    let id = call.header.as_ref().try_into().map(Uuid::from_bytes);
    let id = id.map_err(|_| Status::invalid("a pipeline's id has 16 bytes"))?;
    let answer = node.pipelines.presence(PipelineId(id)).answer(node.details.load().id.0);
    Ok(Reply { header: answer, payload: Bytes::new() })
}

async fn push(daemon: Arc<Daemon>, call: Call) -> Result<Reply, Status> {
    match daemon.node() {
        Some(node) => {
            let Node { store, arrivals, pending_reports, pace, .. } = &**node;
            let receiver = Receiver { store, arrivals, pending_reports, pace };
            crate::repair::push::receive::receive(receiver, call).await
        }
        None => Err(Refusal::Starting.to_status()),
    }
}

async fn container(daemon: Arc<Daemon>, call: Call) -> Result<Reply, Status> {
    let Call { header, payload, peer, deadline, received, mut caller, .. } = call;
    let peer = Some(peer.ip());
    let mut request: Box<ContainerCommandRequestProto> =
        Box::new(framed::message::decode(header.clone())?);
    let inside = super::take_payload(&mut request);
    let command = if inside.is_empty() {
        Command { header, request, payload, deadline, peer, verify_reads: false }
    } else if payload.is_empty() {
        // Small callers may leave the bytes in the message.
        Command {
            payload: inside,
            verify_reads: false,
            ..super::split_payload(request, deadline, peer)
        }
    } else {
        return Err(Status::invalid("chunk bytes both in the message and next to it"));
    };
    let is_read = command.class() == Some(Class::Read);
    let mut serve = pin!(super::serve(&daemon, command, received));
    let answer = tokio::select! {
        biased;
        answer = &mut serve => answer,
        // No client waits for the bytes of this read. The dropped read is counted.
        () = caller.gone(), if is_read => return Err(Refusal::Late.to_status()),
    };
    let Answer { response, payload } = answer.map_err(|refusal| refusal.to_status())?;
    let header: Bytes = Answer { response, payload: Bytes::new() }.encode();
    Ok(Reply { header, payload })
}
