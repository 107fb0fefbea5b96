//! The transport between processes: `framed` connections, one ordered one-way connection per node
//! for messages, and calls for snapshot pieces and payload fetches.
//!
//! The receiving side is a handler of the role's server: it passes calls of the three methods to
//! [`serve`], or uses a [`RaftEndpoint`] for them alone.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use framed::{
    Call, ClientOptions, ClientPool, Code, Handler, HandlerFuture, Reply, SendError, Sender,
    SenderOptions, Status,
};
use futures::future::BoxFuture;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;

use crate::error::TransportError;
use crate::host::RaftHost;
use crate::transport::{Frame, Target, Transport};

/// Wire numbers of our methods; the caller's protocol declares them.
#[derive(Debug, Clone, Copy)]
pub struct Methods {
    /// One-way: messages.
    pub messages: u16,
    /// Call: a snapshot piece.
    pub snapshot: u16,
    /// Call: fetch a payload.
    pub fetch: u16,
}

/// A transport over `framed` connections to the other nodes.
pub struct FramedTransport {
    methods: Methods,
    timeout: Duration,
    runtime: Handle,
    senders: RwLock<FxHashMap<String, Sender>>,
    options: SenderOptions,
    clients: ClientPool,
}

impl FramedTransport {
    /// A transport that connects on demand. Must be called within a tokio runtime. `timeout` limits
    /// each call.
    pub fn new(methods: Methods, timeout: Duration) -> Arc<Self> {
        let clients = ClientPool::new(ClientOptions { connections: 1, ..ClientOptions::default() });
        Arc::new(Self {
            methods,
            timeout,
            runtime: Handle::current(),
            senders: RwLock::default(),
            options: SenderOptions::default(),
            clients,
        })
    }

    fn sender(&self, address: &str) -> Sender {
        if let Some(sender) = self.senders.read().get(address) {
            return sender.clone();
        }
        let mut senders = self.senders.write();
        let make = || {
            // Loop threads are not part of the runtime; the sender's task is.
            let _within = self.runtime.enter();
            Sender::new(address, self.options.clone())
        };
        senders.entry(address.to_owned()).or_insert_with(make).clone()
    }

    fn call(
        &self,
        to: &Target,
        method: u16,
        frame: Frame,
    ) -> BoxFuture<'static, Result<Reply, TransportError>> {
        let client = self.clients.get(&to.address);
        let (address, timeout) = (to.address.clone(), self.timeout);
        Box::pin(async move {
            let called = client.call_parts(method, frame.header, frame.payload, timeout).await;
            called.map_err(|error| match error.status() {
                Some(status) => TransportError::Refused { address, detail: status.to_string() },
                None => TransportError::Unreachable { address, detail: error.to_string() },
            })
        })
    }
}

impl Transport for FramedTransport {
    fn send(&self, to: &Target, frame: Frame) {
        let sent =
            self.sender(&to.address).send(self.methods.messages, frame.header, frame.payload);
        match sent {
            Ok(()) => {}
            // Raft resends important messages.
            Err(SendError::Full) => {
                tracing::debug!(to = %to.address, "raft frame dropped: send queue full");
            }
            Err(SendError::Closed) => {
                self.senders.write().remove(&to.address);
            }
        }
    }

    fn send_snapshot(
        &self,
        to: &Target,
        frame: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>> {
        let (call, address) = (self.call(to, self.methods.snapshot, frame), to.address.clone());
        Box::pin(async move {
            let reply = call.await?;
            let detail = || String::from("the response to a snapshot piece has no number");
            let number = reply.header.first_chunk::<8>();
            let refused = || TransportError::Refused { address, detail: detail() };
            number.map(|n| u64::from_le_bytes(*n)).ok_or_else(refused)
        })
    }

    fn fetch_payload(
        &self,
        to: &Target,
        request: Bytes,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let frame = Frame { header: request, payload: Vec::new() };
        let call = self.call(to, self.methods.fetch, frame);
        Box::pin(async move { call.await.map(|reply| reply.payload) })
    }
}

/// An endpoint for group members alone: for servers whose other endpoints are on other ports.
pub struct RaftEndpoint {
    host: RaftHost,
    methods: Methods,
}

impl RaftEndpoint {
    /// An endpoint to `host`.
    pub fn new(host: RaftHost, methods: Methods) -> Arc<Self> {
        Arc::new(Self { host, methods })
    }
}

impl Handler for RaftEndpoint {
    fn call(&self, call: Call) -> HandlerFuture {
        serve(&self.host, self.methods, call).unwrap_or_else(|call| {
            let message = format!("method {} is not a Raft method", call.method);
            let refused = Status::new(Code::Unimplemented, message);
            Box::pin(std::future::ready(Err(refused)))
        })
    }
}

/// Handles a call of one of `methods`; returns any other call.
///
/// # Errors
/// The call itself, if it is none of `methods`.
#[allow(clippy::result_large_err, reason = "the returned call is no error, just not ours")]
pub fn serve(host: &RaftHost, methods: Methods, call: Call) -> Result<HandlerFuture, Call> {
    let nothing = || Reply { header: Bytes::new(), payload: Bytes::new() };
    if call.method == methods.messages {
        // Called here rather than in the future, so that frames stay in order.
        let received = host.receive(call.header, call.payload);
        let answer = received.map(|()| nothing()).map_err(|e| Status::invalid(e.to_string()));
        return Ok(Box::pin(std::future::ready(answer)));
    }
    let host = host.clone();
    if call.method == methods.snapshot {
        return Ok(Box::pin(async move {
            let taken = host.receive_snapshot(call.header, call.payload).await;
            let reply = |next: u64| Reply {
                header: Bytes::copy_from_slice(&next.to_le_bytes()),
                payload: Bytes::new(),
            };
            taken.map(reply).map_err(|e| Status::unavailable(e.to_string()))
        }));
    }
    if call.method == methods.fetch {
        return Ok(Box::pin(async move {
            let fetched = host.receive_fetch(call.header).await;
            let reply = |payload| Reply { header: Bytes::new(), payload };
            fetched.map(reply).map_err(|e| Status::unavailable(e.to_string()))
        }));
    }
    Err(call)
}
