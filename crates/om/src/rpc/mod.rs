//! The endpoints: each speaks one protocol and leads to the one [`crate::dispatch::Dispatcher`].
//!
//! * [`FramedHandler`]: our own framed protocol, on `ozone.om.address`
//! * [`HadoopService`]: Hadoop RPC for published Java clients, on the same port
//! * [`grpc`]: Ozone's gRPC service, on `ozone.om.grpc.port`
//! * Raft, for the other OMs of the service, on `ozone.om.ratis.port`: `multiraft` has the
//!   endpoint

mod admin;
mod background;
mod deletion_status;
mod framed;
pub(crate) mod grpc;
mod hadoop;

pub(crate) use self::framed::FramedHandler;
pub(crate) use self::hadoop::HadoopService;
