//! The doors: each speaks one protocol and leads to the one [`crate::room::Room`].
//!
//! * [`FramedDoor`]: our own framed protocol, on `ozone.om.address`
//! * [`HadoopDoor`]: Hadoop RPC for published Java clients, on the same port
//! * [`grpc`]: Ozone's gRPC service, on `ozone.om.grpc.port`
//! * [`RaftDoor`]: the other OMs of the service, on `ozone.om.ratis.port`

mod admin;
mod framed;
pub(crate) mod grpc;
mod hadoop;
mod raft;

pub(crate) use self::framed::FramedDoor;
pub(crate) use self::hadoop::HadoopDoor;
pub(crate) use self::raft::{METHODS, RaftDoor};
