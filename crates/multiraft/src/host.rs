//! The host: threads, logs and the groups that run on them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use crate::apply::{ApplyTask, ApplyThreads};
use crate::consensus::Message;
use crate::error::{FrameError, GroupError, HostError, LogError, ReceiveError};
use crate::event::Event;
use crate::event_loop::core::{GroupCore, Reached};
use crate::event_loop::recall::{Recalled, recall};
use crate::event_loop::{Loop, Opened};
use crate::failure::panic_text;
use crate::freshness::Freshness;
use crate::group::Group;
use crate::group_config::GroupConfig;
use crate::id::fold;
use crate::inbox::Inbox;
use crate::log::task::{Done, WriteTask};
use crate::log::{LogHandle, PersistedGroup};
use crate::machine::{MachineError, StateMachine};
use crate::membership::Membership;
use crate::metrics::{HostMetrics, add};
use crate::options::{HostOptions, LogOptions};
use crate::pending::Pending;
use crate::progress::ProgressBoard;
use crate::shared::GroupShared;
use crate::snapshot::receive::Receiver;
use crate::status::LeaderState;
use crate::transport::Transport;
use crate::transport::frame::{FetchRequest, decode};

/// Messages for one loop, each with its group.
type GroupMessages = Vec<(u64, Message)>;

struct Running {
    shared: Arc<GroupShared>,
    log: LogHandle,
    /// Kept for a restart.
    config: GroupConfig,
}

struct HostCore {
    options: HostOptions,
    transport: Arc<dyn Transport>,
    runtime: Handle,
    metrics: Arc<HostMetrics>,
    loops: Vec<Arc<Inbox<Event>>>,
    opened: Arc<Opened>,
    applies: ApplyThreads,
    next: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    groups: RwLock<FxHashMap<u64, Running>>,
    /// Groups whose log is being read.
    starting: Mutex<FxHashSet<u64>>,
    receiver: Receiver,
    down: AtomicBool,
}

impl Drop for HostCore {
    fn drop(&mut self) {
        // A host that is dropped without a shutdown ends like a killed process.
        self.loops.iter().for_each(|inbox| inbox.close());
    }
}

/// A group that is being started; no other caller may start it in the meantime.
struct Starting<'a> {
    core: &'a HostCore,
    number: u64,
}

impl<'a> Starting<'a> {
    fn claim(core: &'a HostCore, number: u64) -> Option<Self> {
        let free = core.starting.lock().insert(number);
        let claim = free.then(|| Self { core, number })?;
        (!core.groups.read().contains_key(&number)).then_some(claim)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.core.starting.lock().remove(&self.number);
    }
}

/// Runs many Raft groups. Cheap to clone; ends with [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct RaftHost {
    core: Arc<HostCore>,
}

impl RaftHost {
    /// Starts the host's threads. Must be called within a tokio runtime, which sends payloads and
    /// snapshots.
    ///
    /// # Errors
    /// If an option is invalid, or threads cannot be started.
    pub fn start(options: HostOptions, transport: Arc<dyn Transport>) -> Result<Self, HostError> {
        if options.tick.is_zero() || options.loop_threads == 0 || options.apply_threads == 0 {
            return Err(HostError::Invalid(String::from("tick and thread counts must not be 0")));
        }
        if options.snapshot_piece == 0 {
            return Err(HostError::Invalid(String::from("a snapshot piece must not be empty")));
        }
        let runtime = Handle::try_current().map_err(std::io::Error::other)?;
        let metrics = Arc::new(HostMetrics::default());
        let loops: Vec<Arc<Inbox<Event>>> =
            (0..options.loop_threads).map(|_| Arc::new(Inbox::new())).collect();
        let opened = Arc::new(Opened::default());
        let mut threads = Vec::new();
        for inbox in &loops {
            let (me, tick, inbox) = (options.node, options.tick, inbox.clone());
            let run = Loop::new(
                me,
                tick,
                options.clock.clone(),
                inbox,
                opened.clone(),
                transport.clone(),
                metrics.clone(),
            );
            let builder = std::thread::Builder::new().name(String::from("raft-loop"));
            threads.push(builder.spawn(move || run.run())?);
        }
        let core = HostCore {
            applies: ApplyThreads::new(options.apply_threads),
            options,
            transport,
            runtime,
            metrics,
            loops,
            opened,
            next: AtomicUsize::new(0),
            threads: Mutex::new(threads),
            groups: RwLock::default(),
            starting: Mutex::default(),
            receiver: Receiver::default(),
            down: AtomicBool::new(false),
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// This node.
    pub fn node(&self) -> Uuid {
        self.core.options.node
    }

    /// The host's counters.
    pub fn metrics(&self) -> &Arc<HostMetrics> {
        &self.core.metrics
    }

    pub(crate) fn runtime(&self) -> Handle {
        self.core.runtime.clone()
    }

    /// Opens (or creates) the log in `dir`: one per disk, for all groups on it. A torn tail is
    /// recovered, a damaged log rejected. Blocks on the disk.
    ///
    /// # Errors
    /// If the log is damaged, in use or another one, or the disk fails.
    pub fn open_log(&self, dir: &Path, options: LogOptions) -> Result<LogHandle, LogError> {
        LogHandle::open(dir, options)
    }

    /// The groups in a log, for restarting them.
    pub fn list_groups_on(&self, log: &LogHandle) -> Vec<PersistedGroup> {
        log.groups()
    }

    /// Starts a new group or one from the log. Replays the entries that the state machine lacks.
    /// Blocks on the disk briefly.
    ///
    /// # Errors
    /// If the group is already running, its log was lost, or its state machine cannot be opened.
    pub fn start_group(
        &self,
        config: GroupConfig,
        machine: Box<dyn StateMachine>,
    ) -> Result<Group, GroupError> {
        let core = &self.core;
        if core.down.load(Ordering::Acquire) {
            return Err(GroupError::Shutdown);
        }
        let number = fold(config.id);
        let Some(_claim) = Starting::claim(core, number) else {
            return Err(GroupError::Running(config.id));
        };
        let index = core.next.fetch_add(1, Ordering::Relaxed);
        let inbox = core.loops[index % core.loops.len()].clone();
        let recalled = recall(&config, machine.applied())?;
        let shared = self.shared(&config, number, inbox, recalled.membership.clone());
        let shared = Arc::new(shared);
        self.begin(&config, &shared, machine, &recalled)?;
        let log = config.log.clone();
        core.groups.write().insert(number, Running { shared: shared.clone(), log, config });
        Ok(Group { shared })
    }

    /// Reads a group from its log and passes it to its threads.
    fn begin(
        &self,
        config: &GroupConfig,
        shared: &Arc<GroupShared>,
        machine: Box<dyn StateMachine>,
        recalled: &Recalled,
    ) -> Result<(), GroupError> {
        let core = &self.core;
        config.log.check_open()?;
        let apply = core.applies.next_for(&config.log)?.ok_or(GroupError::Shutdown)?;
        let at = Reached { applied: machine.applied(), committed: machine.known_committed() };
        let (of, with) = (config.clone(), shared.clone());
        let group = GroupCore::open(of, &core.options, with, apply.clone(), at, recalled)?;
        let inbox = shared.inbox.clone();
        config.log.core.groups.lock().insert(shared.number, inbox.clone());
        apply.push(ApplyTask::Start { shared: shared.clone(), machine });
        core.opened.insert(group);
        inbox.push(Event::Start { group: shared.number });
        Ok(())
    }

    /// Restarts a failed group from its log, with the state machine that `machine` creates after
    /// the old one is dropped. Handles of the group stay valid. If the start fails, the group stays
    /// failed, and may be restarted again.
    ///
    /// # Errors
    /// If the group is not on this host, or log or store cannot be read.
    pub async fn restart_group<F>(&self, id: Uuid, machine: F) -> Result<(), GroupError>
    where
        F: FnOnce() -> Result<Box<dyn StateMachine>, MachineError> + Send + 'static,
    {
        let running = self.stop(id).await?;
        let host = self.clone();
        let started = tokio::task::spawn_blocking(move || host.begin_again(running, machine));
        started.await.map_err(|error| GroupError::Raft { group: id, detail: error.to_string() })?
    }

    fn begin_again<F>(&self, running: Running, machine: F) -> Result<(), GroupError>
    where
        F: FnOnce() -> Result<Box<dyn StateMachine>, MachineError>,
    {
        let core = &self.core;
        let Running { shared, config, .. } = &running;
        let (id, number) = (shared.id, shared.number);
        let Some(_claim) = Starting::claim(core, number) else {
            return Err(GroupError::Running(id));
        };
        let start = || {
            if core.down.load(Ordering::Acquire) {
                return Err(GroupError::Shutdown);
            }
            let made = catch_unwind(AssertUnwindSafe(machine));
            let made = made.unwrap_or_else(|panic| Err(panic_text(&*panic).into()));
            let machine =
                made.map_err(|error| GroupError::Machine { group: id, detail: error.to_string() })?;
            let recalled = recall(config, machine.applied())?;
            let membership = recalled.membership.clone();
            shared.progress.set_members(membership.members.iter().map(|m| m.peer.node));
            shared.membership.send_replace(membership);
            shared.freshness.reset();
            shared.applying_bytes.store(0, Ordering::Release);
            // Before it begins: it may fail again at once.
            shared.failure.send_replace(None);
            self.begin(config, shared, machine, &recalled)
        };
        let failure = shared.failure.borrow().clone();
        let started = start();
        match &started {
            Ok(()) => add(&core.metrics.groups_restarted, 1),
            Err(_) => drop(shared.failure.send_replace(failure)),
        }
        core.groups.write().insert(number, running);
        started
    }

    fn shared(
        &self,
        config: &GroupConfig,
        number: u64,
        inbox: Arc<Inbox<Event>>,
        membership: Membership,
    ) -> GroupShared {
        let options = &self.core.options;
        let nodes = membership.members.iter().map(|m| m.peer.node);
        let progress = ProgressBoard::new(config.me, nodes);
        let no_leader = LeaderState { leader: None, term: 0, ready: false };
        let removed = !membership.contains(config.me);
        GroupShared {
            id: config.id,
            number,
            me: config.me,
            membership: watch::Sender::new(membership),
            removed: watch::Sender::new(removed),
            payloads: config.payloads.clone(),
            health: config.log.core.health.clone(),
            leader: watch::Sender::new(no_leader),
            failure: watch::Sender::new(None),
            applied: AtomicU64::new(0),
            commit: AtomicU64::new(0),
            freshness: Freshness::new(),
            progress,
            last_index: AtomicU64::new(0),
            lease_until: AtomicU64::new(0),
            alone_from: AtomicU64::new(u64::MAX),
            read_recently: AtomicBool::new(false),
            notify_applied: AtomicBool::new(false),
            clock: options.clock.clone(),
            applying_bytes: AtomicUsize::new(0),
            pending: Arc::new(Pending::new(
                options.max_pending_bytes,
                options.max_pending_proposals,
            )),
            tickets: AtomicU64::new(0),
            prepare_order: Mutex::new(()),
            inbox,
            runtime: self.core.runtime.clone(),
            transport: self.core.transport.clone(),
            metrics: self.core.metrics.clone(),
            request_timeout: options.request_timeout,
            snapshot_rate: options.snapshot_rate,
        }
    }

    /// Makes a group's code panic, for tests.
    pub fn panic_group(&self, id: Uuid) {
        if let Some(running) = self.core.groups.read().get(&fold(id)) {
            running.shared.inbox.push(Event::Panic { group: running.shared.number });
        }
    }

    /// A running group.
    pub fn group(&self, id: Uuid) -> Option<Group> {
        let groups = self.core.groups.read();
        groups.get(&fold(id)).map(|running| Group { shared: running.shared.clone() })
    }

    /// All running groups.
    pub fn groups(&self) -> Vec<Group> {
        let groups = self.core.groups.read();
        groups.values().map(|running| Group { shared: running.shared.clone() }).collect()
    }

    /// Stops a group on this node; its log stays. Returns when its state machine is dropped.
    ///
    /// # Errors
    /// If no such group is running here.
    pub async fn stop_group(&self, id: Uuid) -> Result<(), GroupError> {
        self.stop(id).await.map(|_| ())
    }

    /// Stops a group on this node and erases it from its log.
    ///
    /// # Errors
    /// If no such group is running here, or the log fails.
    pub async fn remove_group(&self, id: Uuid) -> Result<(), GroupError> {
        let running = self.stop(id).await?;
        self.erase(&running.log, id).await
    }

    /// Erases a group that is not running from a log.
    ///
    /// # Errors
    /// If the group is running, or the log fails.
    pub async fn erase(&self, log: &LogHandle, id: Uuid) -> Result<(), GroupError> {
        if self.core.groups.read().contains_key(&fold(id)) {
            return Err(GroupError::Running(id));
        }
        let (sender, receiver) = oneshot::channel();
        let done = Done::Waiter(sender);
        let region = fold(id);
        log.write([WriteTask { region, erase: true, done, ..Default::default() }]);
        receiver.await.map_err(|_| GroupError::Shutdown)?;
        log.forget(id);
        Ok(())
    }

    async fn stop(&self, id: Uuid) -> Result<Running, GroupError> {
        let number = fold(id);
        let running = self.core.groups.write().remove(&number);
        let running = running.ok_or(GroupError::NotRunning(id))?;
        let (done, stopped) = oneshot::channel();
        running.shared.inbox.push(Event::Stop { group: number, done });
        stopped.await.map_err(|_| GroupError::Shutdown)?;
        running.log.core.groups.lock().remove(&number);
        // Waits until the group's queued writes are done before reading them. (A failed log drops
        // the sender, with the same effect.)
        let (sender, written) = oneshot::channel();
        let done = Done::Waiter(sender);
        running.log.write([WriteTask { region: number, done, ..Default::default() }]);
        let _ = written.await;
        Ok(running)
    }

    /// Processes a frame sent by [`Transport::send`] of another host. Never blocks.
    ///
    /// # Errors
    /// If the frame is malformed or invalid.
    pub fn receive(&self, header: Bytes, payload: Bytes) -> Result<(), FrameError> {
        let core = &self.core;
        let size = header.len() + payload.len();
        let decoded = decode(header, &payload);
        let (from, messages) = decoded.inspect_err(|_| add(&core.metrics.messages_refused, 1))?;
        add(&core.metrics.messages_received, messages.len() as u64);
        let waiting = core.metrics.inbox_bytes.load(Ordering::Relaxed);
        if waiting > 0 && waiting as usize + size > core.options.max_inbox_bytes {
            add(&core.metrics.messages_dropped, messages.len() as u64);
            return Ok(());
        }
        let mut by_inbox: Vec<(Arc<Inbox<Event>>, GroupMessages)> = Vec::new();
        {
            let groups = core.groups.read();
            for (group, message) in messages {
                if message.from != fold(from) {
                    // A node must not send messages of other nodes.
                    add(&core.metrics.messages_refused, 1);
                    continue;
                }
                let number = fold(group);
                let Some(running) = groups.get(&number).filter(|r| r.shared.id == group) else {
                    add(&core.metrics.messages_dropped, 1);
                    continue;
                };
                let inbox = &running.shared.inbox;
                match by_inbox.iter_mut().find(|(known, _)| Arc::ptr_eq(known, inbox)) {
                    Some((_, messages)) => messages.push((number, message)),
                    None => by_inbox.push((inbox.clone(), vec![(number, message)])),
                }
            }
        }
        let share = size / by_inbox.len().max(1);
        for (inbox, messages) in by_inbox {
            core.metrics.inbox_bytes.fetch_add(share as i64, Ordering::Relaxed);
            inbox.push(Event::Messages { from, messages, bytes: share });
        }
        Ok(())
    }

    /// Processes a snapshot piece sent by [`Transport::send_snapshot`] of another host. The
    /// response is the number of the next expected piece, or the error.
    ///
    /// # Errors
    /// If the piece is damaged or out of order, or the disk fails.
    pub fn receive_snapshot(
        &self,
        header: Bytes,
        data: Bytes,
    ) -> BoxFuture<'_, Result<u64, ReceiveError>> {
        Box::pin(self.take_piece(header, data))
    }

    async fn take_piece(&self, header: Bytes, data: Bytes) -> Result<u64, ReceiveError> {
        let piece = crate::snapshot::piece::Piece::decode(header, data)?;
        if piece.ask {
            return Ok(self.core.receiver.next(piece.group, piece.snapshot));
        }
        let (number, id, next) = (fold(piece.group), piece.group, piece.number.saturating_add(1));
        let found = {
            let groups = self.core.groups.read();
            groups.get(&number).map(|r| (r.shared.inbox.clone(), r.log.snapshots_dir()))
        };
        let (inbox, dir) = found.ok_or(ReceiveError::NoGroup(id))?;
        let core = self.core.clone();
        let taken = self.core.runtime.spawn_blocking(move || core.receiver.receive(piece, &dir));
        if let Some((message, incoming)) = taken.await?? {
            let message = Box::new(message);
            inbox.push(Event::SnapshotReceived { group: number, message, incoming });
        }
        Ok(next)
    }

    /// Serves [`Transport::fetch_payload`] of another host from the group's payload store.
    ///
    /// # Errors
    /// If the group is not on this host, or lacks the payload.
    pub async fn receive_fetch(&self, request: Bytes) -> Result<Bytes, ReceiveError> {
        let request = FetchRequest::decode(request)?;
        let group = self.group(request.group);
        let group = group.ok_or(ReceiveError::NoGroup(request.group))?;
        match &group.shared.payloads {
            Some(payloads) => payloads.read(request.header).await.map_err(ReceiveError::Payload),
            None => Err(ReceiveError::NoPayloads),
        }
    }

    /// Stops all groups and threads. Logs stay open: close them afterwards with
    /// [`LogHandle::close`]. Acknowledged writes are durable with or without this.
    pub fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.stop_all())
    }

    async fn stop_all(&self) {
        let core = &self.core;
        core.down.store(true, Ordering::Release);
        let ids: Vec<Uuid> = core.groups.read().values().map(|r| r.shared.id).collect();
        for id in ids {
            // Another caller may be stopping it, too.
            let _ = self.stop_group(id).await;
        }
        core.loops.iter().for_each(|inbox| inbox.close());
        core.opened.clear();
        let mut threads = std::mem::take(&mut *core.threads.lock());
        threads.extend(core.applies.close());
        let joined = core.runtime.spawn_blocking(move || {
            threads.into_iter().filter_map(|thread| thread.join().err()).count()
        });
        if joined.await.unwrap_or(1) > 0 {
            tracing::error!("raft thread panicked");
        }
    }
}
