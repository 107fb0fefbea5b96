//! The endpoints: each speaks one protocol and leads to the one [`crate::dispatch::Dispatcher`].
//!
//! * [`FramedHandler`]: our own framed protocol, on `ozone.om.address`
//! * [`HadoopService`]: Hadoop RPC for published Java clients, on the same port
//! * [`grpc`]: Ozone's gRPC service, on `ozone.om.grpc.port`
//! * Raft, for the other OMs of the service, on `ozone.om.ratis.port`: `multiraft` has the
//!   endpoint, [`METHODS`] its numbers

use multiraft::transport::framed::Methods;
use proto::method;

mod admin;
mod framed;
pub(crate) mod grpc;
mod hadoop;

pub(crate) use self::framed::FramedHandler;
pub(crate) use self::hadoop::HadoopService;

/// Numbers of Raft's calls on the endpoint for the other OMs.
pub(crate) const METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};
