//! The doors: each speaks one protocol and leads to the one [`crate::room::Room`].
//!
//! * [`FramedDoor`]: our own framed protocol, on `ozone.om.address`
//! * [`grpc`]: Ozone's gRPC service, on `ozone.om.grpc.port`

mod framed;
pub(crate) mod grpc;

pub(crate) use self::framed::FramedDoor;
