//! Many Raft groups in one process.
//!
//! A [`RaftHost`] runs any number of groups on a few threads:
//!
//! * **loop threads** own the groups (each a pure Raft state machine, `consensus/`). An iteration
//!   takes everything that arrived, steps the groups concerned, and passes on the output: one frame
//!   per node with the messages of all groups, one write per log with the entries of all groups,
//!   one batch per state machine. There is no task and no timer per group.
//! * **a writer thread per log** ([`LogHandle`], one per disk) writes the entries of all groups of
//!   that disk with one fsync (group commit). Nothing is acknowledged, to a proposer or to a
//!   leader, before it is on disk.
//! * **apply threads**, some for each log, run the [`StateMachine`]s, batch by batch, and respond
//!   to the proposers. Snapshots are taken and restored on threads of their own, so that they block
//!   no other group.
//!
//! A group of one is a group like any other: it elects itself at once and sends nothing.
//!
//! A panic, or an error of a state machine, stops only its own group. A [`Supervisor`] restarts
//! such a group.
//!
//! Bulk bytes can be stored outside of the log: see [`PayloadStore`].
//!
//! Start at [`RaftHost`]; the path of a proposal is `group.rs` → `event_loop/propose.rs` →
//! `event_loop/ready.rs` → `log/write.rs` → `event_loop/ready.rs` → `apply/run.rs`.

#[macro_use]
mod event_span;

mod apply;
mod clock;
mod codec;
mod consensus;
mod entry;
mod error;
mod event;
mod event_loop;
mod failure;
pub mod framed;
mod freshness;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod group;
mod group_config;
mod host;
mod id;
mod inbox;
mod log;
mod machine;
mod membership;
pub mod memory;
mod metrics;
mod options;
mod payload;
mod pending;
mod progress;
mod shared;
mod snapshot;
mod status;
mod store;
mod supervise;
mod transport;

pub use clock::Clock;
pub use consensus::WireError;
pub use error::{
    ChangeError, FrameError, GroupError, HostError, LogError, ProposeError, ReadError,
    ReceiveError, TransportError,
};
pub use failure::{FailureCause, GroupFailure};
pub use group::{Group, Proposal};
pub use group_config::GroupConfig;
pub use host::RaftHost;
pub use log::{LogHandle, PersistedGroup};
pub use machine::{
    Committed, LogPosition, MachineError, NoRoom, ProposalContext, SnapshotSource, StateMachine,
};
pub use membership::{Change, Member, MemberRole, Membership, Peer};
pub use metrics::{HostMetrics, LogMetrics};
pub use options::{HostOptions, LogOptions, TrimOptions};
pub use payload::{PayloadStore, Placement};
pub use progress::MemberProgress;
pub use status::{Applied, FollowerStatus, GroupStatus, LeaderState, Role, Staleness};
pub use supervise::{GroupHealth, RestartPolicy, Supervisor};
pub use transport::{Frame, Target, Transport};
