//! State shared by all parts of the server: the locked cluster, changes to it, and commands to
//! DataNodes.

pub(crate) mod balancing;
pub(crate) mod clock;
mod decided_changes;
mod leader_notices;
mod one_at_a_time;
mod serving_time;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use placement::{Change, Cluster, Decision, Usage};
use proto::hdds::ScmPlacesProto;
use proto::scm_datanode::ScmCommandProto;
use replicated::{Group, Handle};
use service::{AdminAccess, Ages, BackgroundServices, ClientLoad, Shutdown};
use tokio::sync::Notify;
use types::{ContainerId, DatanodeId};
use uuid::Uuid;

use crate::command::{self, CommandIds, Commands, Copies};
use crate::core::balancing::Balancing;
use crate::core::clock::Clock;
use crate::core::decided_changes::{DecidedChanges, PendingChanges};
use crate::core::leader_notices::LeaderNotices;
use crate::core::one_at_a_time::OneAtATime;
use crate::core::serving_time::ServingTime;
use crate::error::RequestError;
use crate::members::Members;
use crate::metrics::Metrics;
use crate::service_names as names;
use crate::settings::ScmOptions;
use crate::state::{Refusals, ScmMachine};

/// The identity of this SCM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// `CID-<uuid>`.
    pub cluster_id: String,
    /// Id of this SCM.
    pub scm_id: Uuid,
    /// Host name to show.
    pub host: String,
    /// Address to show.
    pub ip: String,
    /// Port to show.
    pub port: u16,
    /// The service, when there are several SCMs.
    pub members: Option<Members>,
}

/// State shared by all parts of the server.
pub struct Core {
    cluster: Arc<Mutex<Cluster>>,
    raft: Handle<ScmMachine>,
    pub(crate) identity: Identity,
    pub(crate) options: ScmOptions,
    pub(crate) clock: Clock,
    pub(crate) commands: Commands,
    pub(crate) copies: Copies,
    pub(crate) metrics: Metrics,
    pub(crate) access: AdminAccess,
    pub(crate) edge: telemetry::Edge,
    pub(crate) services: BackgroundServices,
    /// Ages of old transactions of the deletion log.
    pub(crate) deletion_ages: Ages,
    /// Blocks that clients have allocated.
    pub(crate) client_load: ClientLoad,
    /// The run of the container balancer.
    pub(crate) balancing: Mutex<Balancing>,
    pub(crate) shutdown: Shutdown,
    /// Wakes callers that wait for a pipeline, or for the end of safe mode.
    pub(crate) progress: Notify,
    serving: ServingTime,
    /// One creation of containers at a time: the next one finds what the first has made.
    pub(crate) creating: OneAtATime,
    /// One reservation of ids at a time.
    pub(crate) reserving: OneAtATime,
    command_ids: CommandIds,
    term: AtomicI64,
    notices: LeaderNotices,
    decided: DecidedChanges,
}

/// The parts that [`Core::new`] puts together.
pub struct Parts {
    pub cluster: Arc<Mutex<Cluster>>,
    pub raft: Handle<ScmMachine>,
    pub identity: Identity,
    pub options: ScmOptions,
    pub clock: Clock,
    pub metrics: Metrics,
    pub services: BackgroundServices,
    pub shutdown: Shutdown,
}

impl Core {
    /// Puts the parts together and starts the task that proposes what reports decide.
    pub fn new(parts: Parts) -> Arc<Self> {
        let (decided, pending) = DecidedChanges::new();
        let core = Arc::new(Self {
            cluster: parts.cluster,
            raft: parts.raft,
            identity: parts.identity,
            access: AdminAccess::new(parts.options.admin_policy.clone()),
            edge: telemetry::Edge::new("scm", parts.options.slow_request),
            options: parts.options,
            commands: Commands::default(),
            copies: Copies::default(),
            metrics: parts.metrics,
            services: parts.services,
            deletion_ages: Ages::default(),
            client_load: ClientLoad::default(),
            balancing: Mutex::default(),
            shutdown: parts.shutdown,
            progress: Notify::new(),
            serving: ServingTime::default(),
            creating: OneAtATime::default(),
            reserving: OneAtATime::default(),
            command_ids: CommandIds::new(parts.clock.now() as i64 * 1_000),
            term: AtomicI64::new(0),
            notices: LeaderNotices::default(),
            decided,
            clock: parts.clock,
        });
        tokio::spawn(propose_decided(Arc::downgrade(&core), pending));
        core
    }

    /// The cluster, locked. Never held over an await.
    pub fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock()
    }

    /// The Raft group.
    pub fn group(&self) -> &Group<ScmMachine> {
        self.raft.group()
    }

    /// Handle of the service's Raft group.
    pub fn raft(&self) -> &Handle<ScmMachine> {
        &self.raft
    }

    /// The leader's term, which commands carry.
    pub fn term(&self) -> i64 {
        let leader = self.group().leader();
        self.term.fetch_max(leader.term as i64, Ordering::Relaxed).max(leader.term as i64)
    }

    /// Refuses when another SCM leads, or this one has not caught up with the log.
    pub fn check_leader(&self) -> Result<(), RequestError> {
        let leader = self.group().leader();
        if leader.ready {
            return Ok(());
        }
        Err(RequestError::NotLeader(leader.leader.and_then(|id| self.leader_hint(id))))
    }

    /// This SCM's id among the SCMs: its node id where there are several.
    pub fn node_id(&self) -> String {
        match &self.identity.members {
            Some(members) => members.me.node.node_id.clone(),
            None => self.identity.scm_id.to_string(),
        }
    }

    /// The role of this SCM in the service, for people.
    pub fn role(&self) -> String {
        let leader = self.group().leader();
        match leader.leader {
            _ if leader.ready => "leader".to_owned(),
            Some(id) if id == self.identity.scm_id => "leader, catching up".to_owned(),
            Some(id) => {
                let members = self.identity.members.as_ref();
                let name = members.and_then(|m| m.by_id(id)).map(|m| m.node.node_id);
                format!("follower of {}", name.unwrap_or_else(|| id.to_string()))
            }
            None => "no leader is known".to_owned(),
        }
    }

    /// Address at which another SCM serves clients.
    fn leader_hint(&self, id: Uuid) -> Option<String> {
        let members = self.identity.members.as_ref()?;
        let other = members.by_id(id).filter(|m| m.scm_id != members.me.scm_id)?;
        Some(other.node.client.connect().to_string())
    }

    /// Returns `true` if this SCM is one of several.
    pub fn is_shared(&self) -> bool {
        self.identity.members.is_some()
    }

    /// Addresses of the service's SCMs, for a node whose last received membership change is
    /// `known`; `None` if that is the newest.
    pub fn scms_newer_than(&self, known: u64) -> Option<ScmPlacesProto> {
        let members = self.identity.members.as_ref()?;
        let membership = self.group().membership();
        if membership.index <= known {
            return None;
        }
        members.places(&membership)
    }

    /// Marks the log's state as loaded: it may have grown since the start.
    pub fn state_machine_is_ready(&self) {
        self.cluster().note_state_machine_ready();
    }

    /// Wakes idle services: this SCM now leads, or has left safe mode.
    pub fn wake_services(&self) {
        self.progress.notify_waiters();
        for name in names::ALL {
            self.services.wake(name);
        }
    }

    /// Follows another leader: changes queued here are decided there.
    pub fn follow(&self) {
        self.commands.clear_all();
        self.progress.notify_waiters();
    }

    /// Returns `true` if the node's last registration named this SCM as the leader.
    pub fn knows_leader(&self, node: DatanodeId) -> bool {
        let leader = self.group().leader();
        let term = self.term();
        !self.is_shared() || leader.ready && self.notices.was_sent(node, term)
    }

    /// Returns `true` if a node must register again because this SCM has become the leader since.
    /// The response that requests it carries the term; from then on the node rejects orders of
    /// earlier leaders. The request is repeated until the node registers.
    pub fn must_register(&self, node: DatanodeId) -> bool {
        if !self.is_shared() || !self.group().leader().ready {
            return false;
        }
        let term = self.term();
        let confirmed = self.cluster().nodes.get(node).is_some_and(|n| n.confirmed);
        self.notices.send(node, term, confirmed, Instant::now())
    }

    /// This SCM leads from now on.
    pub fn lead(&self) {
        self.cluster().nodes.doubt_all();
        self.wake_services();
    }

    /// Commits changes as one entry, then sends the orders that follow. Per change `None` when it
    /// was applied, else why not.
    pub async fn propose(&self, changes: Vec<Change>) -> Result<Refusals, RequestError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let changes: Arc<[Change]> = changes.into();
        let refusals = self.group().propose(Arc::clone(&changes), ()).await?.response;
        let now = self.clock.now();
        let mut follow_up = Decision::default();
        {
            let mut cluster = self.cluster();
            for (change, refusal) in changes.iter().zip(&refusals) {
                match refusal {
                    None => follow_up.merge(cluster.follow_up(change, now)),
                    Some(why) => tracing::debug!(?change, %why, "change refused"),
                }
            }
            cluster.note_orders(&follow_up.orders, now);
        }
        for (change, _) in changes.iter().zip(&refusals).filter(|(_, r)| r.is_none()) {
            self.note_applied(change);
        }
        self.commands.push(follow_up.orders);
        Ok(refusals)
    }

    /// Like [`Core::propose`] with one change, which must be applied.
    pub async fn propose_one(&self, change: Change) -> Result<(), RequestError> {
        match self.propose(vec![change]).await?.into_iter().flatten().next() {
            None => Ok(()),
            Some(why) => Err(RequestError::Refused(why.to_string())),
        }
    }

    /// Sends the orders of a decision now and queues its changes to be proposed soon. A follower
    /// decides nothing, nor does a leader that has not yet applied the entries committed before it:
    /// they may contain containers or pipelines that it lacks. Nodes register again after that.
    pub fn carry_out(&self, decision: Decision) {
        if self.is_shared() && !self.group().leader().ready {
            return;
        }
        if !decision.orders.is_empty() {
            self.cluster().note_orders(&decision.orders, self.clock.now());
        }
        self.commands.push(decision.orders);
        for change in decision.changes {
            self.decided.push(change);
        }
    }

    /// Converts orders taken from a node's queue to protobuf commands.
    pub fn to_commands(&self, orders: &[placement::OrderKind]) -> Vec<ScmCommandProto> {
        if orders.is_empty() {
            return Vec::new();
        }
        let (term, now) = (self.term(), self.clock.now());
        let cluster = self.cluster();
        let commands = orders.iter().filter_map(|order| {
            let command = command::to_wire(&cluster, order, &self.command_ids, term, now)?;
            self.copies.note(order, &command);
            Some(command)
        });
        commands.collect()
    }

    /// Leaves safe mode if the rules allow it, and notifies waiting callers.
    pub fn try_leave_safe_mode(&self) {
        if self.cluster().try_leave_safe_mode() {
            tracing::info!("SCM is out of safe mode");
            self.safe_mode_left();
        }
    }

    /// Starts the work that was delayed during safe mode.
    pub fn safe_mode_left(&self) {
        self.wake_services();
    }

    /// Returns `true` if this SCM has led, outside safe mode, for long enough to treat replicas
    /// that no node has reported as missing. The time restarts with each leadership.
    pub fn knows_all_replicas(&self) -> bool {
        let serves = self.group().leader().ready && !self.cluster().safe_mode.is_on();
        self.serving.has_lasted(serves.then(|| self.term()), self.options.repair_delay)
    }

    /// A node registered or failed: checks for missing pipelines now.
    pub fn nodes_changed(&self, node: DatanodeId, what: &str) {
        tracing::info!(%node, what, "datanode");
        self.services.wake(names::PIPELINE_CREATOR);
        self.progress.notify_waiters();
    }

    fn note_applied(&self, change: &Change) {
        match change {
            Change::AddPipeline(p) => {
                let members: Vec<_> = p.members.iter().map(|m| m.id.to_string()).collect();
                tracing::info!(pipeline = %p.id, replication = %p.config, ?members, "pipeline allocated");
            }
            Change::OpenPipeline(id) => {
                tracing::info!(pipeline = %id, "pipeline open");
                self.services.wake(names::PIPELINE_CREATOR);
                self.try_leave_safe_mode();
                self.progress.notify_waiters();
            }
            Change::ClosePipeline { id, .. } => {
                tracing::info!(pipeline = %id, "pipeline closed");
                self.services.wake(names::PIPELINE_CREATOR);
                self.services.wake(names::PIPELINE_SCRUBBER);
            }
            Change::RemovePipeline(id) => tracing::info!(pipeline = %id, "pipeline removed"),
            Change::AddContainer(c) => {
                tracing::info!(container = %c.id, pipeline = ?c.pipeline.map(|p| p.to_string()), owner = %c.owner, "container created");
            }
            Change::MoveContainer { id, event, usage, .. } => {
                self.note_moved(*id, event.as_str_name(), usage);
            }
            Change::DeleteEmptied { id, usage, .. } => {
                self.note_moved(*id, "DELETE, all replicas are empty", usage);
            }
            Change::ClearLeftOvers { id, indexes } => {
                tracing::info!(container = %id, ?indexes, "deleting replicas with blocks of a container that was deleted as empty");
            }
            Change::ReviveContainer { id, .. } => {
                tracing::warn!(container = %id, "replica with blocks reported; container deletion cancelled");
            }
            Change::AddDeletions(_) => {
                self.services.wake(names::BLOCK_DELETION);
            }
            Change::RemoveDeletions(ids) => {
                self.metrics.deletions_finished.inc_by(ids.len() as u64);
            }
            Change::SetBalancer(_) => {
                self.services.wake(names::CONTAINER_BALANCER);
            }
            Change::SetDestination { node, destination: Some(to) } => {
                tracing::info!(%node, %to, "point-to-point decommission started");
            }
            Change::SetDestination { .. }
            | Change::SetPipelineDormant(..)
            | Change::ReserveIds { .. } => {}
        }
    }

    fn note_moved(&self, id: ContainerId, event: &str, usage: &Usage) {
        tracing::info!(container = %id, event, used_bytes = usage.used_bytes, keys = usage.keys, "container");
        self.services.wake(names::PIPELINE_SCRUBBER);
        self.services.wake(names::REPLICATION_MANAGER);
        self.services.wake(names::ADMIN_MONITOR);
    }
}

/// Proposes the changes that reports cause, all queued ones at once.
async fn propose_decided(core: std::sync::Weak<Core>, mut pending: PendingChanges) {
    while let Some(changes) = pending.next().await {
        let Some(core) = core.upgrade() else { return };
        let count = changes.len();
        if let Err(error) = core.propose(changes).await {
            // The reports, or the next review, decide the same again.
            tracing::warn!(%error, count, "changes were not committed");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
