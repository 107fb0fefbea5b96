//! DataNode server: stores blocks on its disks, replicates them in Raft pipelines, serves the
//! container protocol and reports to SCM. Start one with [`Datanode::start`].
//!
//! | module | subject |
//! | --- | --- |
//! | `settings` | the configuration of a DataNode, read once |
//! | `identity` | `datanode.id`: the DataNode's identity, and the ports it once got |
//! | `rpc` | gRPC and framed endpoints |
//! | `dispatch` | routing of commands: to this replica, or through its pipeline |
//! | `command` | the container protocol: checks, changes and reads of each command |
//! | `pipeline` | Raft groups that replicate containers |
//! | `scm` | register, report, carry SCM's commands out |
//! | `repair` | copies, rebuilt replicas, reconciliation of replicas |
//! | `disk_balancer` | moves of replicas from full disks to emptier ones |
//! | `background` | services that run at intervals: scans, deletion, closing, checks of disks |
//! | `status` | status page, metrics, lists |
//!
//! A write enters by `rpc`, is checked by its command's file in `command`, proposed by
//! `dispatch::write`, has its chunk bytes written by `pipeline::payload` on every replica, and
//! becomes visible when `pipeline::machine` has its command's file apply it. A read goes from `rpc`
//! through its command's file to [`containerstore`], which stores everything on disk except the
//! Raft log.

mod background;
mod clock;
mod command;
mod commands_in_progress;
mod daemon;
mod disk_balancer;
mod dispatch;
mod error;
mod handle;
mod id_file;
mod identity;
mod metrics;
mod node;
mod open;
mod pending_reports;
mod pipeline;
mod repair;
mod rpc;
mod scm;
mod service_names;
mod session_table;
mod settings;
mod start;
mod status;
mod storage_type;
#[cfg(test)]
mod store_on_disk;
mod throttle;

pub use disk_balancer::{DiskBalancerSettings, MovableStates, ParameterError, Parameters};
pub use error::DatanodeError;
pub use handle::{Addresses, DatanodeHandle};
pub use id_file::YamlError;
pub use settings::disk_check::CheckSettings;
pub use settings::options::DatanodeOptions;
pub use settings::range_compaction::RangeCompactionSettings;
pub use settings::scan::{OffPeak, ScanRate, ScanSettings};
pub use settings::tolerated_failures::{Bound, Tolerated};
pub use settings::{MAX_CHUNK, Settings};
pub use start::Datanode;
