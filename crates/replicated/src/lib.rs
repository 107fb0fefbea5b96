//! A service whose state is one Raft group: what OM and SCM have in common.
//!
//! The order of a start:
//!
//! 1. The role locks its directory, opens its tables, and opens host and log with
//!    [`RaftLog::open`].
//! 2. When the log does not have the group ([`RaftLog::holds`]) the role finds the members:
//!    its configuration names them, or others that run already ([`join`], [`JoinNote`]).
//! 3. [`RaftLog::start`] starts the group and gives the running [`Service`].
//!
//! What a role does with it:
//!
//! * [`Machine`]: its state machine, with commands and answers of its own types
//! * [`Group`]: proposes commands to it, and is a [`multiraft::Group`] for all else
//! * [`Handle`]: waits to lead, hands leadership over, changes the members, follows changes of
//!   members, ends the role when the group has failed for good
//!
//! [`takeover`] is for tables that Apache Ozone wrote.
//!
//! [`conformance`] is what every [`Machine`] must keep to.

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
