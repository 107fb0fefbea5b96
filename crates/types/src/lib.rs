//! Domain types of the object store, and their conversions from and to the wire.
//!
//! Everything here is plain data: no I/O, no clock. Rules and servers work with these types; the
//! generated messages of `proto` stay at the edges and in the tables.
//!
//! * [`ids`]: what names a thing ([`ContainerId`], [`BlockId`], [`PipelineId`], [`DatanodeId`])
//! * [`replication`]: how many copies and of which kind ([`ReplicationConfig`])
//! * [`node`]: a DataNode and its ports ([`DatanodeDetails`])
//! * [`pipeline`]: the group of DataNodes that a block is written through ([`Pipeline`])
//! * [`Principals`]: users and groups that a rule is about
//! * [`storage`]: kinds of disks, and which of them blocks go to ([`StorageType`],
//!   [`StoragePolicy`])
//! * [`topology`]: racks, and how far apart nodes are

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

mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod ids;
mod location;
pub mod node;
pub mod pipeline;
mod principals;
pub mod replication;
pub mod storage;
pub mod topology;

pub use error::WireError;
pub use ids::{BlockId, ContainerId, DatanodeId, LocalId, PipelineId};
pub use node::{DatanodeDetails, OperationalState, Port, PortName};
pub use pipeline::{Pipeline, PipelineState};
pub use principals::Principals;
pub use replication::{EcCodec, EcConfig, ReplicationConfig, ReplicationFactor};
pub use storage::{StoragePolicy, StorageType};
