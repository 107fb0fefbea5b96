//! Domain types of the object store, and their conversions from and to the wire.
//!
//! Everything here is plain data: no I/O, no clock. Rules and servers work with these types; the
//! generated messages of `proto` stay at the edges and in the tables.
//!
//! * [`ids`]: numbers and UUIDs ([`ContainerId`], [`BlockId`], [`PipelineId`], [`DatanodeId`])
//! * [`replication`]: number and kind of copies ([`ReplicationConfig`])
//! * [`node`]: a DataNode and its ports ([`DatanodeDetails`])
//! * [`pipeline`]: the group of DataNodes that a block is written through ([`Pipeline`])
//! * [`Principals`]: users and groups of a rule
//! * [`storage`]: kinds of disks, and the policies that select them ([`StorageType`],
//!   [`StoragePolicy`])
//! * [`topology`]: racks, and distances of nodes

// Numbers come from messages, and a log entry that panics would do so on every replica: sums
// saturate or are checked, and casts define the result of an overflow.
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
