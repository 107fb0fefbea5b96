//! The framed door: container commands of our own clients, and Raft between DataNodes.

use std::sync::Arc;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use futures::FutureExt;
use proto::datanode::ContainerCommandRequestProto;
use proto::method;

use crate::command::{Answer, Command, Refusal};
use crate::daemon::{Daemon, RAFT_METHODS};

/// Takes calls on the NATIVE port.
pub(crate) struct NativeDoor {
    daemon: Arc<Daemon>,
}

impl NativeDoor {
    pub fn new(daemon: Arc<Daemon>) -> Self {
        Self { daemon }
    }
}

impl Handler for NativeDoor {
    fn call(&self, call: Call) -> HandlerFuture {
        match call.method {
            method::CONTAINER => container(self.daemon.clone(), call).boxed(),
            method::RAFT | method::RAFT_SNAPSHOT | method::PAYLOAD_FETCH => self.raft(call),
            method::ALIVE => ready(Ok(Reply::default())),
            method::CONTAINER_PUSH => push(self.daemon.clone(), call).boxed(),
            other => ready(Err(unknown(other))),
        }
    }
}

impl NativeDoor {
    fn raft(&self, call: Call) -> HandlerFuture {
        // Raft repeats what matters, so nothing is kept for a DataNode that is starting.
        let Some(host) = self.daemon.raft() else {
            return ready(Err(Refusal::Starting.to_status()));
        };
        multiraft::transport::framed::serve(host, RAFT_METHODS, call)
            .unwrap_or_else(|call| ready(Err(unknown(call.method))))
    }
}

fn unknown(method: u16) -> Status {
    Status::new(Code::Unimplemented, format!("method {method} is not known here"))
}

fn ready(answer: Result<Reply, Status>) -> HandlerFuture {
    std::future::ready(answer).boxed()
}

async fn push(daemon: Arc<Daemon>, call: Call) -> Result<Reply, Status> {
    match daemon.node() {
        Some(node) => crate::push::receive::receive(node, call).await,
        None => Err(Refusal::Starting.to_status()),
    }
}

async fn container(daemon: Arc<Daemon>, call: Call) -> Result<Reply, Status> {
    let Call { header, payload, deadline, received, .. } = call;
    let mut request: ContainerCommandRequestProto = framed::message::decode(header.clone())?;
    let inside = super::take_payload(&mut request);
    let command = if inside.is_empty() {
        Command { header, request, payload, deadline }
    } else if payload.is_empty() {
        // Small callers may leave the bytes in the message.
        Command { payload: inside, ..super::take_apart(request, deadline) }
    } else {
        return Err(Status::invalid("chunk bytes both in the message and beside it"));
    };
    let Answer { response, payload } =
        super::serve(&daemon, command, received).await.map_err(|refusal| refusal.to_status())?;
    let header: Bytes = Answer { response, payload: Bytes::new() }.encode();
    Ok(Reply { header, payload })
}
