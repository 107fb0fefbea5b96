//! Hadoop IPC version 9 with the protobuf engine, as published Java clients speak it.
//!
//! * [`Server`], [`Service`]: serve calls; [`Work`] distinguishes repeatable calls
//! * [`Client`], [`Identity`]: make calls
//! * [`Fault`]: an error response, as the Java exception that the other side creates from it
//! * [`CallError`]: reasons why a call has no response
//!
//! # Wire format
//! A client opens with [`PREFACE`], the version (9), a service class (0) and its authentication: 0
//! for none, 0xDF for SASL. Then frames, both ways: a length (4 bytes, big-endian), and that many
//! bytes of messages, each after its own length (a varint).
//!
//! | frame of a client | call id | messages after the header |
//! | --- | --- | --- |
//! | SASL | −33 | `SaslMessage` |
//! | connection context | −3 | `ConnectionContext`: the caller and the protocol |
//! | call | from 0 | `RequestHeader`, the request |
//! | ping | −4 | none, and no answer |
//!
//! A response is a `ResponseHeader` and, if the call succeeded, the response message. Responses
//! arrive in any order. A header with status FATAL is the last frame of its connection.
//!
//! # Guarantees of a server
//! * A call that must not be repeated ([`Work::Once`]) is executed once for its client id and call
//!   id: a retry, over any connection of this server, waits for the first attempt or gets the
//!   cached response (limited in number, bytes and age).
//! * Calls in progress are limited. Beyond the limit nothing is read from the sockets, and users
//!   with the fewest calls are served first, so that a flood of one user's calls does not block the
//!   others; a call that waits longer than its limit is refused with `RetriableException`.
//! * Bytes from the network are never trusted: lengths are checked before memory is allocated, and
//!   memory is allocated as bytes arrive.
//!
//! Authentication is SIMPLE: the name in the connection context is trusted. A client that starts a
//! negotiation is accepted without further steps.

mod client;
mod fault;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod incoming;
mod message;
mod response;
mod retry;
mod server;
mod write;

pub use client::{Attempt, CallError, CallFuture, Client, ClientOptions, Identity};
pub use fault::{ErrorCode, Exception, Fault};
pub use retry::RetryLimits;
pub use server::{
    Answer, AnswerFuture, Call, ConnectionFuture, Server, ServerOptions, ServerStats, Service, Work,
};

/// The first bytes of a connection, so that other protocols can share the port.
pub const PREFACE: [u8; 4] = *b"hrpc";
/// The version of the protocol.
pub const VERSION: u8 = 9;
