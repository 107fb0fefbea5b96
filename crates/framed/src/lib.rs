//! Frames over TCP: multiplexed calls whose bulk bytes are separate from the message.
//!
//! The transport between our own processes, and from our own client. A frame is a 32-byte head, a
//! *header* (an encoded message) and a *payload* (raw bytes). Keeping the payload out of the
//! message saves the copies that protobuf and HTTP/2 cost; batching of small frames into one write
//! makes a small call several times cheaper than gRPC.
//!
//! * [`Server`], [`Handler`]: serve calls
//! * [`Client`], [`ClientPool`]: make calls
//! * [`Sender`]: one-way frames in order, for Raft messages
//! * [`ForeignProtocol`]: another protocol on the server's port
//! * [`message`]: calls with protobuf messages on both sides
//! * [`AlignedBuf`]: large payloads arrive in 4 KiB-aligned buffers, suitable for direct I/O
//! * [`Status`], [`CallError`]: errors
//!
//! # Wire format, version 1
//! A client opens with [`PREFACE`] so that other protocols can share a port. Then frames, both
//! ways, little-endian:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | kind: 1 request, 2 response, 3 one-way |
//! | 1 | reserved, 0 |
//! | 2–3 | method (requests), status code (responses) |
//! | 4–11 | call id, chosen by the client |
//! | 12–15 | length of the header |
//! | 16–19 | length of the payload |
//! | 20–23 | the caller's timeout, ms; 0 for none |
//! | 24–27 | CRC-32C of the header |
//! | 28–31 | CRC-32C of bytes 0–27 |
//!
//! Payloads carry their own checksums (chunk checksums), so they have none here.

mod activity;
mod aligned;
mod client;
mod connection;
mod error;
mod foreign_protocol;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod message;
mod pool;
mod sender;
mod server;
mod write;

pub use aligned::{ALIGNMENT, AlignedBuf};
pub use client::{Client, ClientOptions};
pub use error::{CallError, Code, Status};
pub use foreign_protocol::{ForeignConnection, ForeignProtocol};
pub use frame::{LARGE_PAYLOAD, PREFACE};
pub use pool::ClientPool;
pub use sender::{SendError, Sender, SenderOptions};
pub use server::{Call, Caller, Handler, HandlerFuture, Reply, Server, ServerOptions, ServerStats};
