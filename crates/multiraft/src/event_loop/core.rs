//! A group as seen by its loop thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::apply::ApplyTask;
use crate::consensus::{Entry, HardState, Message, Node, Settings, Storage};
use crate::error::GroupError;
use crate::event::Reply;
use crate::event_loop::recall::Recalled;
use crate::event_loop::state::catch_up::CatchUp;
use crate::event_loop::state::change::Changing;
use crate::event_loop::state::lead::Leadership;
use crate::event_loop::state::members::{MemberCore, member_cores};
use crate::event_loop::state::queued::{Preparing, QueuedAppend};
use crate::event_loop::state::read::Reads;
use crate::event_loop::state::search::Search;
use crate::group_config::GroupConfig;
use crate::id::fold;
use crate::inbox::Inbox;
use crate::log::task::{Done, WriteTask};
use crate::log::{Completeness, LogHandle};
use crate::machine::LogPosition;
use crate::options::{HostOptions, TrimOptions};
use crate::shared::GroupShared;
use crate::snapshot::{Incoming, Outgoing};
use crate::store::GroupStorage;

/// A proposal in the log that is not applied yet.
pub(crate) struct Waiting {
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) reply: Reply,
}

/// A ready that is being written to disk.
pub(crate) struct Outstanding {
    pub(crate) number: u64,
    /// Its last entry, if it has entries.
    pub(crate) last: Option<u64>,
}

/// A snapshot that the state machine is restoring.
pub(crate) struct Restoring {
    pub(crate) at: LogPosition,
    pub(crate) task: WriteTask,
    /// Writes of later readies, which must follow it.
    pub(crate) held: Vec<WriteTask>,
}

/// A group's Raft node and the loop thread's state of the group. Only that thread accesses it.
pub(crate) struct GroupCore {
    pub(crate) shared: Arc<GroupShared>,
    pub(crate) log: LogHandle,
    pub(crate) apply: Arc<Inbox<ApplyTask>>,
    pub(crate) node: Node<GroupStorage>,
    pub(crate) my_id: u64,
    pub(crate) members: Vec<MemberCore>,
    pub(crate) changing: Changing,
    pub(crate) cache_bytes: u64,
    pub(crate) cache_counted: u64,
    pub(crate) snapshot_piece: usize,

    pub(crate) queued: Vec<(Entry, Reply)>,
    pub(crate) preparing: FxHashMap<u64, VecDeque<Preparing>>,
    pub(crate) waiting: VecDeque<Waiting>,
    /// Last entry proposed in this leadership.
    pub(crate) proposed: u64,

    pub(crate) outstanding: VecDeque<Outstanding>,
    /// Messages to send once the ready of that number is on disk.
    pub(crate) delayed: VecDeque<(u64, Vec<Message>)>,
    pub(crate) persisted: u64,
    /// The hard state in the log, including writes in flight.
    pub(crate) stored: HardState,
    /// Last entry passed to the state machine.
    pub(crate) handed: u64,

    pub(crate) appends: VecDeque<QueuedAppend>,
    pub(crate) append_tickets: u64,
    pub(crate) append_bytes: usize,
    pub(crate) max_pending_bytes: usize,
    pub(crate) fetching: Vec<u64>,

    pub(crate) reads: Reads,
    pub(crate) lead: Leadership,
    pub(crate) catch_up: CatchUp,
    /// A majority of new members may begin the group.
    pub(crate) majority_begins: bool,
    pub(crate) search: Search,

    pub(crate) trim: TrimOptions,
    pub(crate) bytes_in_log: u64,
    pub(crate) flushing: bool,
    pub(crate) trim_forced: bool,
    /// The log is to be trimmed up to this entry.
    pub(crate) trim_goal: Option<u64>,

    pub(crate) taking_snapshot: bool,
    pub(crate) outgoing: Option<Outgoing>,
    /// Time since which no member receives the snapshot.
    pub(crate) outgoing_unused: Option<Instant>,
    pub(crate) sending_to: Vec<u64>,
    pub(crate) incoming: Option<Incoming>,
    pub(crate) restoring: Option<Restoring>,

    pub(crate) failed: Option<String>,
    /// Number of rejected messages from others.
    pub(crate) refused: u64,
    /// The group is in the loop's list of groups to process.
    pub(crate) dirty: bool,
}

/// Position of a group's state machine at its start.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    /// Last applied entry; replay starts after it.
    pub(crate) applied: LogPosition,
    /// Last entry known to be committed; it may have to be applied again.
    pub(crate) committed: LogPosition,
}

impl GroupCore {
    /// Reads the group from its log (or begins it) and aligns log and state machine.
    pub(crate) fn open(
        config: GroupConfig,
        options: &HostOptions,
        shared: Arc<GroupShared>,
        apply: Arc<Inbox<ApplyTask>>,
        reached: Reached,
        recalled: &Recalled,
    ) -> Result<Self, GroupError> {
        let Reached { applied, committed } = reached;
        let region = shared.number;
        let log = config.log.clone();
        let Recalled { membership, fresh, completeness } = recalled;
        let members = member_cores(membership);
        let conf_state = membership.conf_state();
        let mut hard_state = log.hard_state(region)?;
        let lost = *completeness == Completeness::Unknown { lost: true };
        let known_before = lost || (!fresh && hard_state.term > 0);
        if hard_state.term < applied.term {
            hard_state.term = applied.term;
            hard_state.vote = 0;
        }
        hard_state.commit = hard_state.commit.max(applied.index);
        let mut store = GroupStorage::load(log.clone(), region, conf_state, hard_state.clone())?;
        if applied.index + 1 < store.first() {
            return Err(GroupError::StateLost {
                group: config.id,
                applied: applied.index,
                first: store.first(),
            });
        }
        let same = applied.index <= store.last().index
            && store.term(applied.index).is_ok_and(|term| term == applied.term);
        if !same {
            // The state machine is ahead of the log: it restored a snapshot and the process ended
            // before the log followed. Its contents are committed. Entries after that position, if
            // any, belong to a lost branch and are removed as well.
            let truncate = Some(applied);
            let drop_through = store.last().index;
            log.write([WriteTask { region, truncate, drop_through, ..Default::default() }]);
            store.reset(applied);
        }
        // Same index and term: all earlier entries are those that were applied.
        if committed.index <= store.last().index
            && store.term(committed.index).is_ok_and(|term| term == committed.term)
        {
            hard_state.commit = hard_state.commit.max(committed.index);
        }
        store.set_commit(store.last().index.min(hard_state.commit));
        check_tail(&log, region, applied.index + 1, store.last().index)?;
        let (last, first) = (store.last().index, store.first());
        let my_id = fold(config.me);
        let priority = |m: &&MemberCore| (m.raft_id == my_id).then_some(m.priority);
        let settings = Settings {
            group: config.id,
            id: my_id,
            election_ticks: options.election_ticks(),
            heartbeat_ticks: options.heartbeat_ticks(),
            applied: applied.index,
            max_message_bytes: options.max_message_bytes,
            max_inflight_messages: options.max_inflight_messages,
            priority: members.iter().find_map(|m| priority(&m)).unwrap_or(0),
        };
        let node = Node::new(&settings, store)
            .map_err(|e| GroupError::Raft { group: config.id, detail: e.to_string() })?;
        shared.applied.store(applied.index, std::sync::atomic::Ordering::Release);
        shared.last_index.store(last, std::sync::atomic::Ordering::Relaxed);
        Ok(Self {
            search: Search::default(),
            lead: Leadership::new(&members, my_id, options, config.lease_reads, known_before),
            catch_up: CatchUp::new(*completeness, options.election_ticks() as u64),
            majority_begins: config.majority_begins,
            shared,
            log,
            apply,
            node,
            my_id,
            members,
            changing: Changing::default(),
            cache_bytes: options.entry_cache_bytes as u64,
            cache_counted: 0,
            snapshot_piece: options.snapshot_piece,
            queued: Vec::new(),
            preparing: FxHashMap::default(),
            waiting: VecDeque::new(),
            proposed: 0,
            outstanding: VecDeque::new(),
            delayed: VecDeque::new(),
            persisted: last,
            stored: hard_state,
            handed: applied.index,
            appends: VecDeque::new(),
            append_tickets: 0,
            append_bytes: 0,
            max_pending_bytes: options.max_pending_bytes,
            fetching: Vec::new(),
            reads: Reads::default(),
            trim: config.trim,
            // The log's earlier size matters little: the entry threshold covers it.
            bytes_in_log: (last + 1 - first) * 64,
            flushing: false,
            trim_forced: false,
            trim_goal: None,
            taking_snapshot: false,
            outgoing: None,
            outgoing_unused: None,
            sending_to: Vec::new(),
            incoming: None,
            restoring: None,
            failed: None,
            refused: 0,
            dirty: false,
        })
    }

    /// Returns `true` if there is no other member.
    pub(crate) fn alone(&self) -> bool {
        self.members.len() == 1
    }

    /// Returns `true` if there is no other voter.
    pub(crate) fn sole_voter(&self) -> bool {
        let mut voters = self.members.iter().filter(|m| m.role.votes());
        voters.next().is_some_and(|m| m.raft_id == self.my_id) && voters.next().is_none()
    }

    pub(crate) fn member(&self, raft_id: u64) -> Option<&MemberCore> {
        self.members.iter().find(|m| m.raft_id == raft_id)
    }

    pub(crate) fn node_of(&self, raft_id: u64) -> Option<Uuid> {
        self.target_of(raft_id).map(|target| target.node)
    }

    pub(crate) fn region(&self) -> u64 {
        self.shared.number
    }

    /// A write of this group, reported as ready `number`.
    pub(crate) fn task(&self, number: u64) -> WriteTask {
        let done = Done::Ready { inbox: self.shared.inbox.clone(), number };
        WriteTask { region: self.region(), done, ..Default::default() }
    }
}

/// Reads the entries to be replayed once, so that damage is detected now.
fn check_tail(log: &LogHandle, region: u64, low: u64, last: u64) -> Result<(), GroupError> {
    const STEP: usize = 4 << 20;
    let mut next = low;
    let mut entries = Vec::new();
    while next <= last {
        entries.clear();
        log.entries(region, next, last + 1, Some(STEP), &mut entries)?;
        match entries.last() {
            Some(entry) => next = entry.index + 1,
            None => break,
        }
    }
    Ok(())
}
