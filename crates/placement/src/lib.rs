//! What SCM decides, and nothing else: no tokio, no files, no clock, no randomness.
//!
//! [`Cluster`] is everything SCM knows. Two kinds of input change it:
//!
//! * **replicated state** (pipelines, containers, sequence numbers, the deletion log) changes only
//!   by [`Cluster::apply`] of a [`Change`], in log order, with the same outcome on every SCM;
//! * **soft state** (node health, replicas, acknowledgements) changes by what DataNodes say:
//!   registrations, heartbeats, reports. It is lost at a restart and reported anew.
//!
//! Every rule is a method that looks at the cluster and returns a [`Decision`]: changes to propose
//! and orders to send to DataNodes. The server proposes the first and sends the second; time comes
//! in as `now` (milliseconds).
//!
//! | folder | noun | verbs |
//! | --- | --- | --- |
//! | [`node`] | a DataNode | register, watch, serve, leave |
//! | [`pipeline`] | a Raft group of DataNodes | create, rebalance, report, close |
//! | [`container`] | a container record | lifecycle, close, clean, evidence, locate, history, reconcile |
//! | [`replica`] | a copy of a container on a node | report, reconcile, count, repair, health |
//! | [`block`] | a block handed out to a writer | allocate |
//! | [`deletion`] | a transaction of the deletion log | add, send, acknowledge, status |
//! | [`safemode`] | the wait for enough of the cluster after a start | evaluate |
//!
//! **Invariant:** a [`Change`] that was decided on an older view may arrive late; `apply` refuses
//! or ignores it, and never leaves the cluster half changed.

// Numbers come out of messages, and an entry of the log that panics would do so on every replica:
// sums saturate or are checked, and casts say what becomes of what does not fit.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod balance;
pub mod block;
mod change;
mod cluster;
pub mod container;
pub mod deletion;
pub mod node;
pub mod pipeline;
pub mod replica;
pub mod safemode;
mod sequence;
mod settings;

pub use balance::Balancer;
pub use change::{Applied, Change, Refused, Touched};
pub use cluster::{Cluster, Decision, Order, OrderKind, RefusedChanges};
pub use container::history::{Event, Happened, Histories};
pub use container::reconcilable::NotReconcilable;
pub use container::{Container, Containers, Evidence, Usage};
pub use deletion::{DeletionLog, Transaction};
pub use node::{Health, Node, Nodes, Storage};
pub use pipeline::{PipelineEntry, PipelinePlan, Pipelines};
pub use replica::backoff::Backoffs;
pub use replica::moving::Moves;
pub use replica::pending::PendingTasks;
pub use replica::progress::Repaired;
pub use replica::storage_type::StorageTypeRepairs;
pub use replica::urgency::Urgency;
pub use replica::{Replica, ReplicaState, Replicas};
pub use safemode::{RuleStatus, SafeMode};
pub use sequence::{Sequence, Sequences};
pub use settings::{
    DeletionSettings, EcSettings, ReplicationSettings, SafeModeSettings, Settings, UnknownContainer,
};

/// Milliseconds since 1970, as the server's clock gives them.
pub type Millis = u64;

/// So far may the clocks of two leaders be apart.
const CLOCKS_APART: Millis = 60_000;

/// How long ago `then` was, which a leader noted in the record by its own clock. What is noted for
/// a time that is long to come was noted by a clock that ran ahead: it was some time in the past,
/// and nothing waits until that clock is right.
pub(crate) fn elapsed(then: Millis, now: Millis) -> Millis {
    match now.checked_sub(then) {
        Some(elapsed) => elapsed,
        None if then.saturating_sub(now) <= CLOCKS_APART => 0,
        None => Millis::MAX,
    }
}
