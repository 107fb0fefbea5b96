//! Ratis' client protocol, with which clients of Apache Ozone replicate a command through a Raft
//! group. This crate implements the protocol (streams, order, duplicates, watches, Java's
//! requirements on an exception); the group can be any implementation of [`Server`] and
//! [`Group`].
//!
//! | module | contents |
//! | --- | --- |
//! | [`group`] | the traits and their types |
//! | [`ids`] | peers, groups, calls |
//! | `request`, `reply` | conversion of messages |
//! | `window` | ordering of a stream's requests by sequence number |
//! | `retry` | cached replies for retried requests |
//! | `watch` | waiting for the replication of an entry |
//! | `call` | processing of one request, from its message to its reply |
//! | `server` | the gRPC services: streams, and group information |
//! | [`content`] | messages followed by bulk data |
//!
//! Start at [`RatisServices`]; the path of a write is `server/ordered.rs` → `window.rs` → `call.rs`
//! → `retry.rs` → [`Group::write`].

mod call;
pub mod content;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod group;
pub mod ids;
mod level;
mod reply;
mod request;
mod retry;
mod server;
mod watch;
mod window;
mod wire;

pub use group::{Answer, Done, Group, GroupStatus, Member, Progress, Refusal, Role, Server};
pub use ids::{GroupId, PeerId};
pub use level::Level;
pub use server::{MAX_MESSAGE, RatisServices};

#[doc(inline)]
pub use wire::{common, grpc};
