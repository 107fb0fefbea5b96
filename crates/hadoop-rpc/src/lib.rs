//! Hadoop IPC version 9 with the protobuf engine, as published Java clients speak it.
//!
//! * [`Server`], [`Service`]: take calls; [`Work`] says whether a call may be carried out twice
//! * [`Client`], [`Identity`]: make calls
//! * [`Fault`]: a refusal, as the Java exception that the other side rebuilds from it
//! * [`CallError`]: why a call has no answer
//!
//! # Wire format
//! A client opens with [`PREFACE`], the version (9), a service class (0) and how it will
//! authenticate: 0 for not at all, 0xDF for SASL. Then frames, both ways: a length (4 bytes,
//! big-endian), and that many bytes of messages, each after its own length (a varint).
//!
//! | frame of a client | call id | messages after the header |
//! | --- | --- | --- |
//! | SASL | −33 | `SaslMessage` |
//! | connection context | −3 | `ConnectionContext`: the caller and the protocol |
//! | call | from 0 | `RequestHeader`, the request |
//! | ping | −4 | none, and no answer |
//!
//! An answer is a `ResponseHeader` and, when the call succeeded, the response. Answers come in any
//! order. A header with status FATAL is the last frame of its connection.
//!
//! # What a server guarantees
//! * A call that must not be repeated ([`Work::Once`]) is carried out once for its client id and
//!   call id: the same call sent again, over any connection of this server, waits for the first
//!   one or gets the answer that was kept (bounded in number, bytes and age).
//! * Calls that are worked on are bounded. Beyond the bound nothing is read from the sockets, and
//!   turns go to the users who have the fewest, so that a flood of one user's calls does not hold
//!   up the others; a call that waits longer than it may is refused with `RetriableException`.
//! * Bytes from the network are never trusted: lengths are checked before memory is taken, and
//!   memory is taken as bytes arrive.
//!
//! Authentication is SIMPLE: the name in the connection context is believed. A client that asks
//! to negotiate is told that nothing more is needed.

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

/// What a connection opens with, so that other protocols can share the port.
pub const PREFACE: [u8; 4] = *b"hrpc";
/// The version of the protocol.
pub const VERSION: u8 = 9;
