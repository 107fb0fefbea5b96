//! DataNode server: keeps blocks on its disks, replicates them in Raft pipelines, serves the
//! container protocol and reports to SCM. Start one with [`Datanode::start`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `identity` | `datanode.id`: the DataNode's identity, and the ports it once got |
//! | `rpc` | gRPC and framed endpoints |
//! | `command` | the container protocol: what each command checks, applies and reads |
//! | `dispatch` | where a command goes: to this replica, or through its pipeline |
//! | `pipeline` | Raft groups that replicate containers |
//! | `push` | copies containers to other nodes, and takes them |
//! | `reconcile` | has a replica take what it lacks from those of other nodes |
//! | `reconstruct` | rebuilds lost replica indexes of erasure-coded containers |
//! | `disk_balancer` | moves replicas from full disks to emptier ones |
//! | `scan` | reads what lies on the disks in the background, to find what is damaged |
//! | [`storage`] | disks, containers, blocks, chunks: everything on disk but the Raft log |
//! | `scm` | register, report, carry SCM's commands out |
//!
//! A write enters by `rpc`, is checked by its command's file in `command`, proposed by
//! `dispatch::write`, has its chunk bytes written by `pipeline::payload` on every replica, and
//! becomes visible when `pipeline::machine` has its command's file apply it. A read goes from `rpc`
//! through its command's file to [`storage`].

mod check_settings;
mod chunk_cache;
mod clock;
mod close;
mod command;
mod container_checksums;
mod container_list;
mod container_type;
mod daemon;
mod deadline;
mod deletion_status;
mod disk_balancer;
mod disk_balancing;
mod disk_check;
mod disks;
mod dispatch;
mod error;
mod failed_disks;
mod handle;
mod identity;
mod late_reads;
mod liveness_limits;
mod metrics;
mod node;
mod open;
mod options;
mod pending_reports;
mod pipeline;
mod pipeline_liveness;
mod push;
mod range_compaction;
mod range_compaction_settings;
mod reclaim;
mod reconcile;
mod reconstruct;
mod repair_pace;
mod replica_source;
mod rpc;
mod scan;
mod scan_settings;
mod scm;
mod service_names;
mod session_table;
mod settings;
mod small_chunks;
mod stale_recovering;
mod start;
mod status;
pub mod storage;
mod throttle;
mod tolerated;
mod under_way;

pub use check_settings::CheckSettings;
pub use disk_balancer::{DiskBalancerSettings, MovableStates, ParameterError, Parameters};
pub use error::DatanodeError;
pub use handle::{Addresses, DatanodeHandle};
pub use identity::YamlError;
pub use options::DatanodeOptions;
pub use range_compaction_settings::RangeCompactionSettings;
pub use scan_settings::{OffPeak, ScanRate, ScanSettings};
pub use settings::{MAX_CHUNK, Settings};
pub use start::Datanode;
pub use tolerated::{Bound, Tolerated};
