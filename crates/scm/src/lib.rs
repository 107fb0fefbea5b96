//! Storage Container Manager: takes requests in, asks the rules of `placement`, carries out what
//! they decide.
//!
//! ```text
//!  OM ── SCM_BLOCK ──────────┐                  ┌─ dispatch/block/   allocate, delete
//!  o3 admin ─ LOCATION ──────┤ rpc/ ── decode ──┼─ dispatch/admin/   container, pipeline, node, safemode, info
//!  DataNodes ─ SCM_DATANODE ─┘                  └─ dispatch/report/  register, heartbeat
//!                                                    │
//!                              core/  lock the Cluster, ask a rule, get a Decision
//!                                     ├─ orders  → command/  queued per DataNode, carried by heartbeat answers
//!                                     └─ changes → Raft → state/  apply to the Cluster and to scm.db
//!  background/  services that check the cluster: node health, pipelines, containers, the deletion log
//! ```
//!
//! * **The state is one [`placement::Cluster`] under one lock**, held for a decision and never
//!   over an await.
//! * **Replicated state changes in `state/` only.** Everything else decides and proposes.
//! * Reports of DataNodes (health, replicas, acknowledgements) are kept in memory only: nodes send
//!   them again after a restart.
//!
//! Start reading at [`Scm::start`].

mod background;
mod command;
pub mod conformance;
mod core;
mod directory;
mod dispatch;
mod error;
mod first_start;
mod handle;
mod leadership;
mod members;
mod metrics;
mod raft;
mod resolve;
mod rpc;
mod service_names;
mod settings;
mod start;
mod state;
mod status;

pub use error::ScmError;
pub use handle::{ScmAddresses, ScmHandle};
pub use settings::ScmOptions;
pub use start::Scm;
pub use state::tables;
