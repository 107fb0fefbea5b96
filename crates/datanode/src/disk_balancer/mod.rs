//! Ozone's disk balancer: brings the usage of this node's disks within a threshold of each other,
//! by moving closed replicas from the fullest to the emptiest.
//!
//! | file | subject |
//! | --- | --- |
//! | [`rule`] | choice of replicas and disks |
//! | [`volumes`] | usage of the disks |
//! | [`parameters`] | parameters that the operator may change at runtime |
//! | [`info`] | the file that stores them across restarts |
//! | [`balancer`] | state of the balancer and results of its moves |
//! | [`moves`] | planning moves and carrying them out |
//! | [`report`] | report to the operator |
//!
//! [`containerstore::relocation`] moves one replica. Hadoop RPC starts and stops the balancer and
//! reads its status (`rpc/hadoop.rs`); `disk_balancing.rs` is the background service.

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
#[cfg(test)]
pub(crate) use parameters::defaults;
pub use parameters::{MovableStates, ParameterError, Parameters};
pub use settings::DiskBalancerSettings;
