//! Requests of administrators, and OM's reads: one file per noun. [`registry`] lists all commands.

pub mod balancer;
pub mod container;
pub mod deletion;
mod history;
pub mod info;
pub mod leadership;
pub mod members;
pub mod node;
pub mod pipeline;
pub mod reconcile;
pub mod registry;
pub mod replication;
pub mod report;
pub mod safemode;
pub mod upgrade;
pub mod workflow;
