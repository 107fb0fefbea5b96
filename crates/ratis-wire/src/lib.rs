//! Ratis' client protocol: what clients of other makes call to replicate a command through a Raft
//! group. The protocol's side is here (streams, order, duplicates, watches, what Java expects of an
//! exception); the group behind it is whatever implements [`Server`] and [`Group`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`group`] | the traits, and what goes through them |
//! | [`ids`] | peers, groups, calls |
//! | `request`, `reply` | messages from and to the wire |
//! | `window` | requests of one stream, put into the order of their sequence numbers |
//! | `retry` | answers that are given again when a request comes again |
//! | `watch` | how far an entry has come |
//! | `call` | one request: from its message to its answer |
//! | `server` | the gRPC services: streams, and looking at groups |
//! | [`content`] | messages with bulk data behind them |
//!
//! Start at [`RatisServices`]; the way of a write is `server/ordered.rs` → `window.rs` → `call.rs`
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
