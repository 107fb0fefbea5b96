//! Ozone's disk balancer: the disks of this node come within a threshold of each other in how full
//! they are, by moving closed replicas from the fullest to the emptiest.
//!
//! | file | what |
//! | --- | --- |
//! | [`rule`] | which replica goes where |
//! | [`volumes`] | how full the disks are |
//! | [`parameters`] | what the operator may change while it runs |
//! | [`info`] | the file that keeps that over a restart |
//! | [`balancer`] | whether it runs, and what came of it |
//! | [`moves`] | planning moves and carrying them out |
//! | [`report`] | what the operator is told |
//!
//! How one replica is moved: [`containerstore::relocation`]. It is started, stopped and asked by
//! Hadoop RPC (`rpc/hadoop.rs`); `disk_balancing.rs` is the background service.

mod balancer;
mod info;
mod moves;
mod parameters;
mod report;
mod rule;
mod settings;
mod volumes;

pub(crate) use balancer::{BalancerError, Counts, DiskBalancer};
pub(crate) use moves::{carry_out, plan};
pub use parameters::{MovableStates, ParameterError, Parameters};
pub use settings::DiskBalancerSettings;
