//! State machines and their threads: `run.rs` is the thread, `machine.rs` one machine on it,
//! `threads.rs` the assignment of groups to threads.

mod machine;
mod run;
mod threads;

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use uuid::Uuid;

use self::machine::Machine;
pub(crate) use self::threads::ApplyThreads;
use crate::consensus::Entry;
use crate::event::Reply;
use crate::machine::{LogPosition, StateMachine};
use crate::shared::GroupShared;
use crate::snapshot::Incoming;

/// Work for an apply thread.
pub(crate) enum ApplyTask {
    Start {
        shared: Arc<GroupShared>,
        machine: Box<dyn StateMachine>,
    },
    Entries {
        group: u64,
        entries: Vec<Entry>,
        replies: VecDeque<(u64, Reply)>,
    },
    LeaderChanged {
        group: u64,
        leader: Option<Uuid>,
        term: u64,
        is_me: bool,
    },
    Flush {
        group: u64,
    },
    Snapshot {
        group: u64,
    },
    Restore {
        group: u64,
        incoming: Incoming,
        at: LogPosition,
    },
    /// A machine has finished a long task.
    Returned {
        group: u64,
        machine: Box<Machine>,
    },
    Stop {
        group: u64,
        done: oneshot::Sender<bool>,
    },
}

impl ApplyTask {
    fn group(&self) -> u64 {
        match self {
            Self::Start { shared, .. } => shared.number,
            Self::Entries { group, .. }
            | Self::LeaderChanged { group, .. }
            | Self::Flush { group }
            | Self::Snapshot { group }
            | Self::Restore { group, .. }
            | Self::Returned { group, .. }
            | Self::Stop { group, .. } => *group,
        }
    }
}
