//! The messages of the protocol itself. Field numbers and types are facts of the wire.

use bytes::Bytes;
use prost::{Enumeration, Message};

/// Call id of a connection context.
pub(crate) const CONTEXT: i32 = -3;
/// Call id of a ping.
pub(crate) const PING: i32 = -4;
/// Call id of SASL messages.
pub(crate) const SASL: i32 = -33;
/// Call id of a response without a call.
pub(crate) const NO_CALL: i32 = -1;
/// Serialization of messages: protobuf, the only supported engine.
pub(crate) const KIND_PROTOBUF: i32 = 2;
/// The only operation in use.
pub(crate) const FINAL_PACKET: i32 = 0;
/// Retry count of frames without a call.
pub(crate) const NO_RETRY: i32 = -1;

/// Opens every frame of a client.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CallHeader {
    #[prost(int32, optional, tag = "1")]
    pub(crate) kind: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) operation: Option<i32>,
    #[prost(sint32, required, tag = "3")]
    pub(crate) call_id: i32,
    #[prost(bytes = "bytes", required, tag = "4")]
    pub(crate) client_id: Bytes,
    #[prost(sint32, optional, tag = "5", default = "-1")]
    pub(crate) retry_count: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub(crate) caller_context: Option<CallerContext>,
}

/// The client's caller context, for audit.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CallerContext {
    #[prost(string, required, tag = "1")]
    pub(crate) context: String,
}

/// The method of a call.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RequestHeader {
    #[prost(string, required, tag = "1")]
    pub(crate) method: String,
    #[prost(string, required, tag = "2")]
    pub(crate) protocol: String,
    #[prost(uint64, required, tag = "3")]
    pub(crate) version: u64,
}

/// The caller over a connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConnectionContext {
    #[prost(message, optional, tag = "2")]
    pub(crate) user: Option<UserInformation>,
    #[prost(string, optional, tag = "3")]
    pub(crate) protocol: Option<String>,
}

/// A user, and the user who acts for them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct UserInformation {
    #[prost(string, optional, tag = "1")]
    pub(crate) effective: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) real: Option<String>,
}

/// Opens every frame of a server.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResponseHeader {
    // Call ids below 0 are written as 32 bits, which is what the unsigned type does.
    #[prost(uint32, required, tag = "1")]
    pub(crate) call_id: u32,
    #[prost(enumeration = "ResponseStatus", required, tag = "2")]
    pub(crate) status: i32,
    #[prost(uint32, optional, tag = "3")]
    pub(crate) version: Option<u32>,
    #[prost(string, optional, tag = "4")]
    pub(crate) exception: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub(crate) message: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub(crate) detail: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub(crate) client_id: Option<Bytes>,
    #[prost(sint32, optional, tag = "8", default = "-1")]
    pub(crate) retry_count: Option<i32>,
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum ResponseStatus {
    Success = 0,
    Error = 1,
    Fatal = 2,
}

/// A step of authentication.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SaslMessage {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) version: Option<u32>,
    #[prost(enumeration = "SaslState", required, tag = "2")]
    pub(crate) state: i32,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) token: Option<Bytes>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) auths: Vec<SaslAuth>,
}

/// An authentication method.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SaslAuth {
    #[prost(string, required, tag = "1")]
    pub(crate) method: String,
    #[prost(string, required, tag = "2")]
    pub(crate) mechanism: String,
}

/// Name of the method that accepts the client's user name without proof.
pub(crate) const SIMPLE: &str = "SIMPLE";

/// State of the authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum SaslState {
    Success = 0,
    Negotiate = 1,
    Initiate = 2,
    Challenge = 3,
    Response = 4,
    Wrap = 5,
}
