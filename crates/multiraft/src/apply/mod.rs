//! State machines and the threads that run them.

mod run;

use std::collections::VecDeque;
use std::sync::Arc;

use raft::eraftpb::Entry;
use tokio::sync::oneshot;
use uuid::Uuid;

pub(crate) use self::run::run;
use crate::machine::{LogPosition, StateMachine};
use crate::shared::GroupShared;
use crate::snapshot::Incoming;
use crate::turn::event::Reply;

/// Work for an apply thread.
pub(crate) enum ApplyTask {
    Start { shared: Arc<GroupShared>, machine: Box<dyn StateMachine> },
    Entries { group: u64, entries: Vec<Entry>, replies: VecDeque<(u64, Reply)> },
    LeaderChanged { group: u64, leader: Option<Uuid>, term: u64, is_me: bool },
    Flush { group: u64 },
    Snapshot { group: u64 },
    Restore { group: u64, incoming: Incoming, at: LogPosition },
    Stop { group: u64, done: oneshot::Sender<bool> },
}
