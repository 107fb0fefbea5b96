//! A service whose state is one Raft group: the common part of OM and SCM.
//!
//! The order of a start:
//!
//! 1. The role locks its directory, opens its tables, and opens host and log with
//!    [`RaftLog::open`].
//! 2. If the log does not contain the group ([`RaftLog::holds`]) the role determines the members:
//!    from its configuration, or from others that are already running ([`join`], [`JoinNote`]).
//! 3. [`RaftLog::start`] starts the group and returns the running [`Service`].
//!
//! Use by a role:
//!
//! * [`Machine`]: its state machine, with typed commands and responses
//! * [`Group`]: proposes commands, and is a [`multiraft::Group`] for everything else
//! * [`Handle`]: waits for leadership, transfers it, changes the members, follows changes of
//!   members, ends the role when the group has failed permanently
//!
//! [`takeover`] is for tables written by Apache Ozone.
//!
//! [`conformance`] checks the requirements on every [`Machine`].

pub mod conformance;
mod error;
mod group;
mod handle;
pub mod join;
mod join_note;
mod log;
mod machine;
mod members;
mod metrics;
mod service;
mod single_node;
pub mod takeover;

pub use error::{ChangeMembersError, Error, TransferError};
pub use group::{Applied, Group};
pub use handle::Handle;
pub use join_note::JoinNote;
pub use log::{GroupOptions, METHODS, Options, RaftLog};
pub use machine::{Entry, Machine};
pub use members::ServiceMembers;
pub use service::Service;
