//! The Ozone Manager: the namespace as a server.
//!
//! [`Om::start`] opens a directory and serves it; [`OmHandle`] is the running server. Inside:
//!
//! | module | contents |
//! | --- | --- |
//! | `rpc` | the protocols: framed, Hadoop RPC, gRPC; each decodes nothing but its own framing |
//! | `dispatch` | the one dispatcher: admission, reads, writes, audit |
//! | `state` | the replicated state machine over `om.db`, the view the rules read |
//! | `state::takeover` | the first start on a directory of Apache Ozone's |
//! | `scm` | preallocated blocks, locations of containers, deletions |
//! | `background` | key deletion, clean-up of open keys and uploads, compaction |
//! | `background::prepared` | all OMs at the same state, before another version |
//! | `checkpoint` | copies of the tables over HTTP, for Recon |
//! | `settings` | the configuration, read once |
//! | `status`, `metrics` | the status page, progress of deletions, metrics |
//! | `start`, `identity`, `first_start`, `join` | from a directory to an open endpoint |
//! | `members`, `leadership` | the other OMs, and tasks of a new leader |
//!
//! The rules themselves (the effects of commands on rows) are the crate `namespace`.
//!
//! **Architecture invariants.** Rows change only by the state machine applying log entries; one
//! round is one batch, with the position in it. A write is answered after it is durable in the
//! Raft log and visible in the tables. Reads never wait for writes. Log entries hold no pipelines
//! and no tokens. OM serves metadata without SCM; only requests that need blocks or locations fail
//! then, with a status that names the cause.

mod background;
mod checkpoint;
pub mod conformance;
mod dispatch;
mod error;
mod first_start;
mod handle;
mod identity;
mod ids;
mod join;
mod leadership;
mod members;
mod metrics;
mod raft;
mod rpc;
mod scm;
mod settings;
mod start;
mod state;
mod status;

pub use error::Error;
pub use handle::{Addresses, OmHandle};
pub use settings::{Bootstrap, OmOptions, RootCredentials};
pub use start::Om;
