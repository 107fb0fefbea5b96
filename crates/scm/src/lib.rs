//! Storage Container Manager: takes requests in, asks the rules of `placement`, carries out what
//! they decide.
//!
//! ```text
//!  OM ── SCM_BLOCK ──────────┐                       ┌─ block/    allocate, delete
//!  o3 admin ─ LOCATION ──────┤ endpoint/ ── decode ──────┼─ admin/    container, pipeline, node, safemode, info
//!  DataNodes ─ SCM_DATANODE ─┘                       └─ report/   register, heartbeat
//!                                                         │
//!                              core/  lock the Cluster, ask a rule, get a Decision
//!                                     ├─ orders  → command/  queued per DataNode, carried by heartbeat answers
//!                                     └─ changes → Raft → machine/  apply to the Cluster and to scm.db
//!  service/  what looks at the cluster by itself: node health, pipelines, containers, the deletion log
//! ```
//!
//! * **The state is one [`placement::Cluster`] behind one lock**, held for a decision and never
//!   over an await.
//! * **Replicated state changes in `machine/` only.** Everything else decides and proposes.
//! * What DataNodes say (health, replicas, acknowledgements) is kept in memory only: they say it
//!   again after a restart.
//!
//! Start reading at [`Scm::start`].

mod admin;
mod balancing;
mod block;
mod clock;
mod command;
pub mod conformance;
mod core;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod core_tests;
mod deletion_status;
mod directory;
mod error;
mod first_start;
mod handle;
mod leadership;
mod machine;
mod members;
mod metrics;
mod options;
mod raft;
mod report;
mod resolve;
mod rpc;
mod service;
mod service_names;
mod start;
mod status;
pub mod tables;
mod takeover;

pub use error::ScmError;
pub use handle::{ScmAddresses, ScmHandle};
pub use options::ScmOptions;
pub use start::Scm;
