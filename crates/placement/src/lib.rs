//! Decisions of SCM, and nothing else: no tokio, no files, no clock, no randomness.
//!
//! [`Cluster`] is all state of SCM. Two kinds of input change it:
//!
//! * **replicated state** (pipelines, containers, sequence numbers, the deletion log) changes only
//!   by [`Cluster::apply`] of a [`Change`], in log order, with the same outcome on every SCM;
//! * **soft state** (node health, replicas, acknowledgements) changes with the messages of
//!   DataNodes: registrations, heartbeats, reports. It is lost at a restart and reported again.
//!
//! A rule is a function of the parts of the cluster that it reads or changes, or a method of a
//! struct that lists them, such as [`replica`]'s `Replication` (state of nodes and replicas to
//! read) or `Round` (state that a round of repairs changes). It returns a [`Decision`]: changes to
//! propose and orders to send to DataNodes. [`Cluster`] owns the parts and has one method for each
//! rule that the server calls, which only passes the parts. The server proposes the changes and
//! sends the orders; time is passed as `now` (milliseconds).
//!
//! | folder | noun | verbs |
//! | --- | --- | --- |
//! | `cluster` | all parts together | apply, follow up, and a method for each rule |
//! | [`node`] | a DataNode | register, watch, serve, leave |
//! | [`balance`] | a replica that moves to balance disks | choose |
//! | [`replica`] | a copy of a container on a node | report, reconcile, count, repair, health |
//! | [`deletion`] | a transaction of the deletion log | add, send, acknowledge, status |
//! | [`container`] | a container record | close, clean, locate, reconcile |
//! | [`block`] | a block handed out to a writer | allocate |
//! | [`pipeline`] | a Raft group of DataNodes | create, rebalance, report, close |
//! | [`safemode`] | the wait for enough of the cluster after a start | evaluate |
//! | `state` | the parts: records, reports, tasks, changes, orders | |
//!
//! A folder uses those below it at most.
//!
//! **Invariant:** a [`Change`] that was decided on an older view may arrive late; `apply` refuses
//! or ignores it, and never leaves the cluster half changed.

// Numbers come from messages, and a log entry that panics would do so on every SCM: sums saturate
// or are checked, and casts handle values out of range.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod apply;
pub mod balance;
pub mod block;
mod cluster;
pub mod container;
pub mod deletion;
pub mod node;
pub mod pipeline;
pub mod replica;
pub mod safemode;
mod settings;
mod shuffle;
mod state;
mod time;

pub use cluster::{Cluster, RefusedChanges};
pub use container::reconcilable::NotReconcilable;
pub use pipeline::PipelinePlan;
pub use replica::moving::Moves;
pub use safemode::{RuleStatus, SafeMode};
pub use settings::{
    DeletionSettings, EcSettings, ReplicationSettings, SafeModeSettings, Settings, UnknownContainer,
};
pub use state::balancer::Balancer;
pub use state::change::{Applied, Change, Refused, Touched};
pub use state::container::{Container, Containers, Usage};
pub use state::decision::Decision;
pub use state::deletion::{DeletionLog, Transaction};
pub use state::evidence::Evidence;
pub use state::history::{Event, Happened, Histories};
pub use state::node::{Health, Node, Storage};
pub use state::nodes::Nodes;
pub use state::order::{Order, OrderKind};
pub use state::pending::PendingTasks;
pub use state::pipeline::{PipelineEntry, Pipelines};
pub use state::replica::{Replica, ReplicaState, Replicas};
pub use state::sequence::{Sequence, Sequences};
pub use time::Millis;
