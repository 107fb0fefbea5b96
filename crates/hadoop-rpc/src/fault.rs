//! Faults, and the Java exceptions that clients create from them.

use std::borrow::Cow;

/// Kind of a fault. The numbers are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorCode {
    /// The called method threw an exception.
    Application = 1,
    /// The protocol has no such method.
    NoSuchMethod = 2,
    /// The server does not serve the protocol.
    NoSuchProtocol = 3,
    /// The server could not process the call; a retry may succeed.
    Server = 4,
    /// The response could not be serialized.
    SerializingResponse = 5,
    /// The server has another version of the protocol.
    VersionMismatch = 6,
    /// The connection cannot continue, for a reason without a number of its own.
    FatalUnknown = 10,
    /// The encoding of messages is not supported.
    FatalUnsupportedSerialization = 11,
    /// A frame's header is invalid.
    FatalInvalidHeader = 12,
    /// A request does not decode.
    FatalDeserializingRequest = 13,
    /// The client speaks another version of IPC.
    FatalVersionMismatch = 14,
    /// The client may not connect.
    FatalUnauthorized = 15,
}

impl ErrorCode {
    pub(crate) fn from_wire(number: i32) -> Self {
        match number {
            2 => Self::NoSuchMethod,
            3 => Self::NoSuchProtocol,
            4 => Self::Server,
            5 => Self::SerializingResponse,
            6 => Self::VersionMismatch,
            10 => Self::FatalUnknown,
            11 => Self::FatalUnsupportedSerialization,
            12 => Self::FatalInvalidHeader,
            13 => Self::FatalDeserializingRequest,
            14 => Self::FatalVersionMismatch,
            15 => Self::FatalUnauthorized,
            _ => Self::Application,
        }
    }

    /// Returns `true` if the connection ends with it.
    pub fn is_fatal(self) -> bool {
        self as i32 >= Self::FatalUnknown as i32
    }
}

/// A Java class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exception {
    /// A class of the package of IPC's own classes. Forks have moved that package, so its name is
    /// an option of the server ([`crate::ServerOptions::ipc_package`]).
    Ipc(&'static str),
    /// Any other, with its package.
    Named(Cow<'static, str>),
}

impl Exception {
    /// The class name with its package.
    pub fn full_name(&self, ipc_package: &str) -> String {
        match self {
            Self::Ipc(name) => format!("{ipc_package}.{name}"),
            Self::Named(name) => name.clone().into_owned(),
        }
    }
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{exception:?}: {message}")]
pub struct Fault {
    /// Kind.
    pub code: ErrorCode,
    /// The exception on the client's side: an `IOException` with a constructor that takes a text.
    pub exception: Exception,
    /// Its text.
    pub message: String,
}

impl Fault {
    fn new(code: ErrorCode, exception: Exception, message: impl Into<String>) -> Self {
        Self { code, exception, message: message.into() }
    }

    fn ipc(code: ErrorCode, class: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, Exception::Ipc(class), message)
    }

    /// An exception of the called method, by its class.
    pub fn application(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Application, Exception::Named(class.into()), message)
    }

    /// The method does not exist.
    pub fn no_such_method(protocol: &str, method: &str) -> Self {
        let message = format!("unknown method {method} called on {protocol} protocol");
        Self::ipc(ErrorCode::NoSuchMethod, "RpcNoSuchMethodException", message)
    }

    /// A request message that does not decode.
    pub fn undecodable(reason: impl Into<String>) -> Self {
        Self::application("com.google.protobuf.InvalidProtocolBufferException", reason)
    }

    /// Temporarily unavailable: the client should retry.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::ipc(ErrorCode::Server, "RetriableException", message)
    }

    pub(crate) fn no_such_protocol(protocol: &str) -> Self {
        let message = format!("unknown protocol: {protocol}");
        Self::ipc(ErrorCode::NoSuchProtocol, "RpcNoSuchProtocolException", message)
    }

    pub(crate) fn version_mismatch(protocol: &str, client: u64, server: u64) -> Self {
        let message =
            format!("protocol {protocol} version mismatch (client = {client}, server = {server})");
        Self::ipc(ErrorCode::VersionMismatch, "RPC$VersionMismatch", message)
    }

    pub(crate) fn ipc_version(client: u8) -> Self {
        let message = format!(
            "Server IPC version {} cannot communicate with client version {client}",
            crate::VERSION
        );
        Self::ipc(ErrorCode::FatalVersionMismatch, "RPC$VersionMismatch", message)
    }

    pub(crate) fn invalid_header(reason: impl Into<String>) -> Self {
        Self::ipc(ErrorCode::FatalInvalidHeader, "RpcServerException", reason)
    }

    pub(crate) fn undecodable_header(reason: impl Into<String>) -> Self {
        Self::ipc(ErrorCode::FatalDeserializingRequest, "RpcServerException", reason)
    }

    pub(crate) fn unauthorized(reason: impl Into<String>) -> Self {
        let class = "org.apache.hadoop.security.AccessControlException";
        Self::new(ErrorCode::FatalUnauthorized, Exception::Named(Cow::Borrowed(class)), reason)
    }

    pub(crate) fn crashed() -> Self {
        Self::application("java.io.IOException", "the call ended without a response")
    }
}
