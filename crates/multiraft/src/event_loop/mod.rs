//! A loop thread: owns groups, processes events, and passes on the results.

mod catch_up;
pub(crate) mod change;
pub(crate) mod core;
mod fetch;
mod greeting;
mod lead;
mod out;
mod propose;
mod read;
mod ready;
pub(crate) mod recall;
mod receive;
mod search;
mod send_snapshot;
mod state;
mod trim;
mod verify;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use self::core::GroupCore;
use self::out::Out;
use self::state::members::MemberCore;
use crate::apply::ApplyTask;
use crate::clock::Clock;
use crate::consensus::StateRole;
use crate::event::Event;
use crate::failure::{FailureCause, GroupFailure, panic_text};
use crate::inbox::Inbox;
use crate::metrics::{HostMetrics, add};
use crate::status::{FollowerStatus, GroupStatus, Role};
use crate::transport::Transport;

/// Number of groups after which committed entries are passed to state machines, while the loop
/// processes the others.
const APPLY_BATCH_GROUPS: usize = 8;

/// Number of groups whose memory is prefetched at once for a tick: idle groups are in no cache, so
/// a tick is bound by memory latency.
const TICKED_AT_ONCE: usize = 8;

/// Opened groups that have no loop thread yet; [`Event::Start`] starts one.
#[derive(Default)]
pub(crate) struct Opened(Mutex<FxHashMap<u64, GroupCore>>);

impl Opened {
    pub(crate) fn insert(&self, group: GroupCore) {
        self.0.lock().insert(group.shared.number, group);
    }

    fn remove(&self, number: u64) -> Option<GroupCore> {
        self.0.lock().remove(&number)
    }

    /// Closes those that no loop thread will take.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// A loop thread: its groups and its queue of events.
pub(crate) struct Loop {
    inbox: Arc<Inbox<Event>>,
    opened: Arc<Opened>,
    tick: Duration,
    /// Ticks so far: the heartbeats of all groups happen on the same ones.
    ticks: u64,
    groups: FxHashMap<u64, GroupCore>,
    dirty: Vec<u64>,
    out: Out,
    metrics: Arc<HostMetrics>,
}

impl Loop {
    pub(crate) fn new(
        me: Uuid,
        tick: Duration,
        clock: Clock,
        inbox: Arc<Inbox<Event>>,
        opened: Arc<Opened>,
        transport: Arc<dyn Transport>,
        metrics: Arc<HostMetrics>,
    ) -> Self {
        let out = Out::new(me, clock, transport, metrics.clone());
        let groups = FxHashMap::default();
        Self { inbox, opened, tick, ticks: 0, groups, dirty: Vec::new(), out, metrics }
    }

    /// Runs until the inbox is closed.
    pub(crate) fn run(mut self) {
        let mut events = Vec::new();
        let mut next_tick = Instant::now() + self.tick;
        while self.inbox.recv_many(&mut events, Some(next_tick)) {
            self.out.read_clock();
            for event in events.drain(..) {
                self.surviving(|this| this.handle(event));
            }
            let now = Instant::now();
            if now >= next_tick {
                self.surviving(|this| this.tick_all(now));
                // After a pause (debugger, sleep) missed ticks are dropped.
                next_tick = (next_tick + self.tick).max(now + self.tick / 2);
            }
            self.surviving(Self::drain_dirty);
            self.surviving(|this| this.out.flush());
        }
        for group in self.groups.values_mut() {
            group.refuse_all();
        }
    }

    /// Runs `f`; the thread continues after a panic in it. (A panic in a group's code fails that
    /// group, see [`guarded`], and does not get here.)
    fn surviving(&mut self, f: impl FnOnce(&mut Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| f(self))) {
            add(&self.metrics.thread_panics, 1);
            tracing::error!(panic = panic_text(&*panic), "raft loop thread recovered from a panic");
        }
    }

    fn tick_all(&mut self, now: Instant) {
        self.ticks += 1;
        let Self { groups, dirty, out, ticks, .. } = self;
        let mut groups: Vec<(&u64, &mut GroupCore)> = groups.iter_mut().collect();
        for some in groups.chunks_mut(TICKED_AT_ONCE) {
            some.iter().for_each(|(_, group)| group.warm());
            for (number, group) in some {
                let ticked = guarded(group, out, |group, out| group.tick(now, *ticks, out));
                if ticked.unwrap_or(true) && !group.dirty {
                    group.dirty = true;
                    dirty.push(**number);
                }
            }
        }
    }

    fn drain_dirty(&mut self) {
        // Draining never makes a group dirty: its results arrive as events.
        for (count, number) in std::mem::take(&mut self.dirty).into_iter().enumerate() {
            if let Some(group) = self.groups.get_mut(&number) {
                group.dirty = false;
                guarded(group, &mut self.out, |group, out| group.drain(out));
            }
            if count % APPLY_BATCH_GROUPS == APPLY_BATCH_GROUPS - 1 {
                self.out.flush_applies();
            }
        }
    }

    /// Runs `f` on a running group, and marks it for draining. A failed group is skipped: its state
    /// in memory may be inconsistent.
    fn with(&mut self, number: u64, f: impl FnOnce(&mut GroupCore, &mut Out)) {
        if self.groups.get(&number).is_some_and(|group| group.failed.is_none()) {
            self.with_any(number, f);
        }
    }

    /// As [`with`](Self::with), also on a failed group: for callers that wait for a response.
    fn with_any(&mut self, number: u64, f: impl FnOnce(&mut GroupCore, &mut Out)) {
        let Some(group) = self.groups.get_mut(&number) else { return };
        guarded(group, &mut self.out, f);
        if !group.dirty {
            group.dirty = true;
            self.dirty.push(number);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start { group } => {
                if let Some(group) = self.opened.remove(group) {
                    self.start(group);
                }
            }
            Event::Stop { group, done } => self.stop(group, done),
            Event::Propose { group, proposal } => {
                self.with_any(group, |g, _| g.on_propose(proposal));
            }
            Event::Prepared { group, order, ticket, result } => {
                self.with(group, |g, _| g.on_prepared(order, ticket, result));
            }
            Event::Messages { from, messages, bytes } => {
                self.metrics.inbox_bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
                for (group, message) in messages {
                    if self.groups.contains_key(&group) {
                        self.with(group, |g, out| g.on_message(message, out));
                    } else {
                        tracing::trace!(%from, group, "message for a group that is not running here");
                        add(&self.metrics.messages_dropped, 1);
                    }
                }
            }
            Event::AppendPrepared { group, ticket, result } => {
                self.with(group, |g, out| g.on_append_prepared(ticket, result, out));
            }
            Event::Persisted(readies) => {
                for (group, number) in readies {
                    self.with(group, |g, out| g.on_persisted(number, out));
                }
            }
            Event::LogFailed { group, reason } => {
                self.with(group, |g, out| g.fail(FailureCause::Log, reason, out));
            }
            Event::MachineFailed { group, cause, reason } => {
                self.with(group, |g, out| g.fail(cause, reason, out));
            }
            Event::AppliedMoved { group } => self.with(group, |_, _| {}),
            Event::Flushed { group, at } => self.with(group, |g, out| g.on_flushed(at, out)),
            Event::SnapshotTaken { group, result } => {
                self.with(group, |g, _| g.on_snapshot_taken(result));
            }
            Event::SnapshotSent { group, to, ok } => {
                self.with(group, |g, _| g.on_snapshot_sent(to, ok));
            }
            Event::SnapshotReceived { group, message, incoming } => {
                self.with(group, |g, out| g.on_snapshot_received(*message, incoming, out));
            }
            Event::Restored { group, at } => self.with(group, |g, out| g.on_restored(at, out)),
            Event::Fetched { group, fetched } => self.with(group, |g, _| g.on_fetched(fetched)),
            Event::Read { group, anywhere, sender } => {
                self.with_any(group, |g, _| g.on_read(anywhere, sender));
            }
            Event::Applied { group, index, sender } => {
                self.with_any(group, |g, _| g.on_wait_applied(index, sender));
            }
            Event::Status { group, sender } => self.with_any(group, |g, _| {
                // Fails if the caller no longer waits.
                let _ = sender.send(g.status());
            }),
            Event::Transfer { group, to } => self.with(group, |g, _| g.on_transfer(to)),
            Event::Change { group, change, sender } => {
                self.with_any(group, |g, _| g.on_change(change, sender));
            }
            Event::MembersStored { group } => self.with(group, |g, out| g.on_members_stored(out)),
            Event::TrimTo { group, index } => self.with(group, |g, out| g.on_trim_to(index, out)),
            #[allow(clippy::panic, reason = "a test requests it")]
            Event::Panic { group } => self.with(group, |_, _| panic!("a test asked for it")),
            Event::TrimWanted { group } => self.with(group, |g, out| g.on_trim_wanted(out)),
        }
    }

    fn start(&mut self, group: GroupCore) {
        let number = group.region();
        self.groups.insert(number, group);
        self.metrics.groups.fetch_add(1, Ordering::Relaxed);
        self.with(number, |g, out| {
            g.greet(out);
            g.first_campaign();
        });
    }

    fn stop(&mut self, number: u64, done: tokio::sync::oneshot::Sender<bool>) {
        let Some(mut group) = self.groups.remove(&number) else {
            let _ = done.send(false);
            return;
        };
        group.refuse_all();
        group.shared.lease_until.store(0, Ordering::Release);
        let gone =
            crate::status::LeaderState { leader: None, term: group.node.term(), ready: false };
        group.shared.leader.send_replace(gone);
        self.metrics.groups.fetch_sub(1, Ordering::Relaxed);
        self.metrics.cache_bytes.fetch_sub(group.cache_counted as i64, Ordering::Relaxed);
        let apply = group.apply.clone();
        self.out.apply(&apply, ApplyTask::Stop { group: number, done });
    }
}

/// Runs `f`; a panic in it (the Raft library panics on broken invariants) fails this group only.
fn guarded<R>(
    group: &mut GroupCore,
    out: &mut Out,
    f: impl FnOnce(&mut GroupCore, &mut Out) -> R,
) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(|| f(group, out))) {
        Ok(result) => Some(result),
        Err(panic) => {
            let reason = format!("panic: {}", panic_text(&*panic));
            // Failing does little work, but may panic for the same reason.
            let failed = AssertUnwindSafe(|| group.fail(FailureCause::Panic, reason.clone(), out));
            if catch_unwind(failed).is_err() {
                group.failed.get_or_insert_with(|| reason.clone());
                let failure = GroupFailure { cause: FailureCause::Panic, reason };
                group.shared.failure.send_replace(Some(failure));
            }
            None
        }
    }
}

impl GroupCore {
    fn status(&self) -> GroupStatus {
        let node = &self.node;
        let role = match node.role() {
            StateRole::Leader => Role::Leader,
            StateRole::Follower => Role::Follower,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        };
        let follower = |m: &MemberCore| {
            let progress = node.progress(m.raft_id)?;
            let (node, role) = (m.target.node, m.role);
            let (matched, committed) = (progress.matched, progress.committed);
            Some(FollowerStatus { node, role, matched, committed, active: progress.active })
        };
        let others = self.members.iter().filter(|m| m.raft_id != self.my_id);
        let followers =
            if role == Role::Leader { others.filter_map(follower).collect() } else { vec![] };
        GroupStatus {
            id: self.shared.id,
            role,
            leader: self.node_of(node.leader_id()),
            term: node.term(),
            commit: node.committed(),
            applied: self.shared.applied.load(Ordering::Acquire),
            first_index: self.node.store().first(),
            last_index: node.last_index(),
            incomplete: self.catch_up.is_incomplete(),
            followers,
            failed: self.failed.clone(),
        }
    }
}
