//! The door for the other SCMs of the service: Raft, and nothing else, on `ozone.scm.ratis.port`.

use std::sync::Arc;

use framed::{Call, Code, Handler, HandlerFuture, Status};
use multiraft::RaftHost;
use multiraft::transport::framed::{Methods, serve};
use proto::method;

/// What Raft's calls are on the wire.
pub const METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};

/// Takes the messages of other SCMs to the group.
pub struct RaftDoor {
    host: RaftHost,
}

impl RaftDoor {
    /// A door to `host`.
    pub fn new(host: RaftHost) -> Arc<Self> {
        Arc::new(Self { host })
    }
}

impl Handler for RaftDoor {
    fn call(&self, call: Call) -> HandlerFuture {
        serve(&self.host, METHODS, call).unwrap_or_else(|call| {
            let message = format!("method {} is not for SCMs among themselves", call.method);
            let refused = Status::new(Code::Unimplemented, message);
            Box::pin(std::future::ready(Err(refused)))
        })
    }
}
