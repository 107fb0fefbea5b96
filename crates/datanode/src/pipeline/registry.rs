//! All pipelines of a DataNode: made when SCM says so, opened again at start, closed for good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use container::ContainerState;
use dashmap::{DashMap, DashSet};
use futures::future::join_all;
use multiraft::{
    GroupConfig, GroupError, GroupHealth, LogHandle, Peer, RaftHost, RestartPolicy, StateMachine,
    TrimOptions,
};
use proto::hdds::StorageTypeProto;
use proto::scm_datanode::MetadataStorageReportProto;
use rustc_hash::FxHashMap;
use tokio::sync::watch;
use types::{ContainerId, PipelineId};
use uuid::Uuid;

use super::before_close::{
    Current, Decision, is_decided, wait_for_decision, wait_for_members, wait_for_replay,
};
use super::disk_reservation::DiskReservations;
use super::machine::Machine;
use super::payload::Payloads;
use super::pipeline_locks::PipelineLocks;
use super::presence::Presence;
use super::{Membership, Pipeline};
use crate::pending_reports::PendingReports;
use crate::storage::{ContainerStore, Disk, Space, StorageError};

/// A block that nobody wrote to for this long is no longer tracked; see
/// [`Tracker::forget_idle`](super::tracker::Tracker::forget_idle).
const BLOCK_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Entries that stay in the log behind what is durable, for replicas that were away: small files
/// ride in it.
const KEEP: u64 = 10_000;

/// Bytes of applied entries in the log of a pipeline at which it is trimmed, even if a member may
/// still ask for them: a replica that was away longer than that takes a snapshot.
const TRIM_BYTES: u64 = 128 << 20;

/// Directory of a disk for snapshots under way.
pub(super) const SNAPSHOTS: &str = "raft-snapshots";

/// What a change of pipelines ran into.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PipelineError {
    /// Its disk.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its Raft group.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// This DataNode is not a member.
    #[error("this datanode is not a member of pipeline {0}")]
    NotAMember(PipelineId),
    /// The disk's log is not open.
    #[error("disk {0} has no open raft log")]
    NoLog(String),
    /// Its log has the only copy of bytes that replay is putting back.
    #[error("pipeline {0} is still replaying its log, which is kept")]
    Replaying(PipelineId),
    /// Its log may have acknowledged entries that no leader has told to be committed yet.
    #[error("pipeline {0} has entries that are not decided yet, its log is kept")]
    Undecided(PipelineId),
    /// A thread died.
    #[error("pipeline work was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// All pipelines. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pipelines {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    running: DashMap<PipelineId, Arc<Pipeline>, rustc_hash::FxBuildHasher>,
    /// Those that are stopped only to be started with new addresses of their members.
    moving: DashSet<PipelineId, rustc_hash::FxBuildHasher>,
    /// Where DataNodes serve Ratis' client protocol, as far as SCM said since the start.
    ratis: DashMap<Uuid, String, rustc_hash::FxBuildHasher>,
    /// Those that were closed since the start with all that was committed by then.
    closed: DashSet<PipelineId, rustc_hash::FxBuildHasher>,
    locks: PipelineLocks,
    reservations: DiskReservations,
}

/// What pipelines are made of.
pub(crate) struct Parts {
    /// This node.
    pub me: Uuid,
    /// Drives the groups.
    pub host: RaftHost,
    /// One log per disk, by the disk's id.
    pub logs: FxHashMap<String, LogHandle>,
    /// The disks.
    pub store: ContainerStore,
    /// Hears of what happens.
    pub pending_reports: Arc<PendingReports>,
    /// Largest payload that rides in the log.
    pub small: u64,
    /// Make chunks durable as they are written.
    pub sync_chunks: bool,
    /// Entries after which logs are trimmed.
    pub trim_entries: u64,
    /// How long a pipeline that is to be closed is kept for its members to decide what its log has.
    pub decision_timeout: Duration,
}

impl Pipelines {
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            parts,
            running: DashMap::default(),
            moving: DashSet::default(),
            ratis: DashMap::default(),
            closed: DashSet::default(),
            locks: PipelineLocks::default(),
            reservations: DiskReservations::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    pub(super) fn reservations(&self) -> &DiskReservations {
        &self.inner.reservations
    }

    /// A running pipeline.
    pub fn get(&self, id: PipelineId) -> Option<Arc<Pipeline>> {
        self.inner.running.get(&id).map(|pipeline| pipeline.clone())
    }

    /// Whether a pipeline that does not run will do so in a moment.
    pub fn is_moving(&self, id: PipelineId) -> bool {
        self.inner.moving.contains(&id)
    }

    /// Whether a pipeline has a group on this node: one that runs, is being stopped, or is stopped
    /// only to be started again. A group that is here may take part in what its members decide.
    pub fn has_group(&self, id: PipelineId) -> bool {
        self.inner.running.contains_key(&id)
            || self.inner.moving.contains(&id)
            || self.inner.parts.host.group(id.0).is_some()
    }

    /// What is here of a pipeline, for its other members.
    pub fn presence(&self, id: PipelineId) -> Presence {
        match self.has_group(id) {
            true => Presence::Group,
            false if self.inner.closed.contains(&id) => Presence::Closed,
            false => Presence::Absent,
        }
    }

    /// Keeps a pipeline from being started here until the guard is dropped; `None` when it has a
    /// group.
    pub async fn absent(&self, id: PipelineId) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        if self.has_group(id) {
            return None;
        }
        let lock = self.inner.locks.lock(id).await;
        (!self.has_group(id)).then_some(lock)
    }

    /// Where a DataNode serves Ratis' client protocol, if that is known here.
    pub fn ratis_address(&self, node: Uuid) -> Option<String> {
        self.inner.ratis.get(&node).map(|address| address.clone())
    }

    /// The running pipelines.
    pub fn ids(&self) -> Vec<PipelineId> {
        self.inner.running.iter().map(|entry| *entry.key()).collect()
    }

    /// The containers of all running pipelines.
    pub fn containers(&self) -> Vec<ContainerId> {
        self.inner.running.iter().flat_map(|pipeline| pipeline.store.containers()).collect()
    }

    /// The running pipelines.
    pub fn all(&self) -> Vec<Arc<Pipeline>> {
        self.inner.running.iter().map(|entry| entry.value().clone()).collect()
    }

    /// Forgets chunk writes of writers that went away.
    pub fn forget_idle(&self) {
        let Some(before) = Instant::now().checked_sub(BLOCK_IDLE_TIMEOUT) else { return };
        for pipeline in self.inner.running.iter() {
            pipeline.payloads.tracker().forget_idle(before);
        }
    }

    /// Opens the pipelines whose logs are on the disks. One that does not open is reported as
    /// failed; the others work. A disk on which that takes longer than `timeout` has failed.
    pub async fn reopen(&self, timeout: Duration) {
        let one = |disk: Arc<Disk>| {
            let opening = tokio::spawn(self.clone().reopen_on(Arc::clone(&disk)));
            async move {
                // What hangs goes on by itself, and finds that the disk has failed.
                if tokio::time::timeout(timeout, opening).await.is_err() {
                    let reason = format!("its pipelines do not open within {timeout:?}");
                    disk.io().fail("open the pipelines", disk.path(), reason.as_str());
                    self.abandon(&disk, &reason);
                }
            }
        };
        join_all(self.inner.parts.store.disks().iter().cloned().map(one)).await;
    }

    async fn reopen_on(self, disk: Arc<Disk>) {
        let Some(log) = self.inner.parts.logs.get(disk.id()) else { return };
        let (snapshots, host, log) =
            (disk.path().join(SNAPSHOTS), self.inner.parts.host.clone(), log.clone());
        let list = move || {
            // Snapshots that were under way belong to nobody any more.
            let _ = std::fs::remove_dir_all(snapshots);
            host.list_groups_on(&log)
        };
        let Ok(groups) = tokio::task::spawn_blocking(list).await else { return };
        for persisted in groups {
            if self.failure(&disk).is_some() {
                return;
            }
            let id = PipelineId(persisted.id);
            let _lock = self.inner.locks.lock(id).await;
            if let Err(error) = self.open(id, persisted.peers(), disk.clone()).await {
                tracing::error!(pipeline = %id, disk = disk.id(), %error, "cannot open a pipeline");
                self.inner.parts.pending_reports.pipeline_failed(id, error.to_string());
            }
        }
    }

    /// Makes a pipeline, or learns new addresses of its members when it is here already.
    pub async fn create(&self, membership: Membership) -> Result<(), PipelineError> {
        let Membership { id, peers, ratis } = membership;
        let _lock = self.inner.locks.lock(id).await;
        for (node, address) in ratis {
            self.inner.ratis.insert(node, address);
        }
        if let Some(known) = self.get(id) {
            return self.move_peers(&known, peers).await;
        }
        if !peers.iter().any(|peer| peer.node == self.inner.parts.me) {
            return Err(PipelineError::NotAMember(id));
        }
        let reservation = self.choose_disk(id, peers.len())?;
        tracing::info!(pipeline = %id, members = peers.len(), disk = reservation.disk.id(), "creating a pipeline");
        self.open(id, peers, reservation.disk.clone()).await
    }

    /// Starts a pipeline's group again when its members listen elsewhere than it knows.
    async fn move_peers(&self, known: &Pipeline, peers: Vec<Peer>) -> Result<(), PipelineError> {
        if same_peers(&known.peers, &peers) {
            return Ok(());
        }
        tracing::info!(pipeline = %known.id, "members of a pipeline have new addresses");
        self.inner.moving.insert(known.id);
        self.inner.running.remove(&known.id);
        let moved = async {
            known.supervisor.end().await;
            self.inner.parts.host.stop_group(known.id.0).await?;
            self.open(known.id, peers, known.disk.clone()).await
        };
        let moved = moved.await;
        self.inner.moving.remove(&known.id);
        moved
    }

    async fn open(
        &self,
        id: PipelineId,
        peers: Vec<Peer>,
        disk: Arc<Disk>,
    ) -> Result<(), PipelineError> {
        let this = self.clone();
        let start = move || this.start(id, peers, disk);
        let pipeline = tokio::task::spawn_blocking(start).await??;
        self.run(Arc::new(pipeline));
        Ok(())
    }

    /// Why no pipeline can run on a disk, if so: it has failed, or its Raft log has.
    pub fn failure(&self, disk: &Disk) -> Option<String> {
        let log = || self.inner.parts.logs.get(disk.id()).and_then(LogHandle::failure);
        disk.failure().or_else(log)
    }

    /// The disks' Raft logs, by the disks' ids.
    pub fn logs(&self) -> &FxHashMap<String, LogHandle> {
        &self.inner.parts.logs
    }

    /// Stops the pipelines of a disk that has failed, or whose log has, and reports them: SCM
    /// closes them on the other members. Their logs stay as they are. Does not wait for the disk,
    /// which may hang.
    pub fn abandon(&self, disk: &Disk, reason: &str) {
        let here = self.all().into_iter().filter(|pipeline| pipeline.disk.id() == disk.id());
        for pipeline in here {
            let id = pipeline.id;
            if self.inner.running.remove(&id).is_none() {
                continue;
            }
            tracing::error!(pipeline = %id, disk = disk.id(), reason, "a pipeline stops with its disk");
            self.inner.parts.pending_reports.pipeline_failed(id, reason.to_owned());
            tokio::spawn(self.clone().end_abandoned(pipeline));
        }
    }

    /// Stops an abandoned pipeline's group. Its containers, when they are on a disk that works, are
    /// complete as far as they are and take no more writes.
    async fn end_abandoned(self, pipeline: Arc<Pipeline>) {
        let id = pipeline.id;
        pipeline.supervisor.end().await;
        if let Err(error) = self.inner.parts.host.stop_group(id.0).await {
            tracing::warn!(pipeline = %id, %error, "a pipeline's group was not stopped");
        }
        if pipeline.disk.failure().is_some() {
            return;
        }
        let ended = tokio::task::spawn_blocking(move || self.end_containers(&pipeline)).await;
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(pipeline = %id, %error, "containers stay open"),
            Err(error) => tracing::warn!(pipeline = %id, %error, "containers stay open"),
        }
    }

    fn start(
        &self,
        id: PipelineId,
        peers: Vec<Peer>,
        disk: Arc<Disk>,
    ) -> Result<Pipeline, PipelineError> {
        let parts = &self.inner.parts;
        let log =
            parts.logs.get(disk.id()).ok_or_else(|| PipelineError::NoLog(disk.id().to_owned()))?;
        let store = parts.store.open_pipeline(id, &disk)?;
        let payloads = Payloads::new(
            parts.store.clone(),
            store.clone(),
            disk.clone(),
            parts.small,
            parts.sync_chunks,
            parts.pending_reports.clone(),
            parts.host.clone(),
        );
        let mut config = GroupConfig::new(id.0, parts.me, peers.clone(), log.clone())
            .with_payloads(Arc::new(payloads.clone()))
            // Pipelines read no index, so nothing is lost, and a restarted one elects at once.
            .without_leases();
        let (entries, keep) = (parts.trim_entries, parts.trim_entries.min(KEEP));
        config.trim = TrimOptions { entries, keep, bytes: TRIM_BYTES };
        let machine = Machine {
            store: store.clone(),
            containers: parts.store.clone(),
            disk: disk.clone(),
            payloads: payloads.clone(),
            runtime: tokio::runtime::Handle::current(),
            pending_reports: parts.pending_reports.clone(),
            from: store.resume()?,
        };
        let group = parts.host.start_group(config, Box::new(machine.clone()))?;
        // What is applied is in memory, too: a group that is started again goes on behind that.
        let again = move || {
            let from = machine.store.resume()?;
            Ok(Box::new(Machine { from, ..machine.clone() }) as Box<dyn StateMachine>)
        };
        let supervisor = parts.host.supervise(&group, RestartPolicy::default(), again);
        tell_of_failures(id, supervisor.changes(), parts.pending_reports.clone());
        let buffered = Default::default();
        Ok(Pipeline { id, group, supervisor, store, disk, peers, buffered, payloads })
    }

    /// Closes a pipeline for good: its containers take no more writes, its log is erased. A
    /// pipeline that is not here is closed. Waits until the members have decided what becomes of
    /// their logs, or have been away for so long that they count as lost: what only they knew is
    /// lost with them.
    ///
    /// # Errors
    /// When its disk or its group fails, replay does not end, or it is not decided what becomes of
    /// entries of its log: the pipeline stays, and SCM asks again.
    pub async fn close(&self, id: PipelineId) -> Result<(), PipelineError> {
        let parts = &self.inner.parts;
        let current = || match self.get(id) {
            None if self.is_moving(id) => Current::Moves,
            // It may have moved between these two looks.
            found => match found.or_else(|| self.get(id)) {
                Some(pipeline) if self.failure(&pipeline.disk).is_none() => Current::Runs(pipeline),
                _ => Current::Gone,
            },
        };
        let decision = wait_for_decision(parts.me, current, parts.decision_timeout).await;
        let _lock = self.inner.locks.lock(id).await;
        let Some(pipeline) = self.get(id) else { return Ok(()) };
        if !wait_for_replay(&pipeline).await {
            return Err(PipelineError::Replaying(id));
        }
        let Some((_, pipeline)) = self.inner.running.remove(&id) else { return Ok(()) };
        tracing::info!(pipeline = %id, "closing a pipeline");
        wait_for_members(&pipeline).await;
        if decision == Decision::Made && !is_decided(&pipeline).await {
            // Clients found another way to write.
            self.run(pipeline);
            return Err(PipelineError::Undecided(id));
        }
        pipeline.supervisor.end().await;
        // Without the group nothing more can be agreed on, so what is still open ends as it is.
        parts.host.stop_group(id.0).await?;
        let (this, ended) = (self.clone(), pipeline.clone());
        tokio::task::spawn_blocking(move || this.end_containers(&ended)).await??;
        if decision == Decision::Made {
            self.inner.closed.insert(id);
        }
        if let Some(log) = parts.logs.get(pipeline.disk.id()) {
            parts.host.erase(log, id.0).await?;
        }
        tokio::task::spawn_blocking(move || pipeline.store.remove()).await??;
        Ok(())
    }

    /// Has a pipeline among the running ones.
    fn run(&self, pipeline: Arc<Pipeline>) {
        let disk = pipeline.disk.clone();
        self.inner.running.insert(pipeline.id, pipeline);
        // Failed meanwhile: then nobody else has stopped it.
        if let Some(reason) = self.failure(&disk) {
            self.abandon(&disk, &reason);
        }
    }

    fn end_containers(&self, pipeline: &Pipeline) -> Result<(), PipelineError> {
        let parts = &self.inner.parts;
        let replaying = pipeline.store.is_replaying();
        for id in pipeline.store.containers() {
            use ContainerState::{Closing, Open, QuasiClosed};
            let Ok(container) = parts.store.container(id) else { continue };
            match container.info().state {
                Open | Closing | QuasiClosed if replaying => {
                    let reason = "its pipeline ended before replay had put all bytes back";
                    parts.store.mark_unhealthy(id, reason)?;
                }
                Open | Closing => parts.store.quasi_close(id)?,
                _ => continue,
            }
            parts.pending_reports.container_changed(id);
        }
        pipeline.store.flush()?;
        Ok(())
    }

    /// The Raft log directories, as SCM is told of them: it decides by their number how many
    /// pipelines there are.
    pub fn log_reports(&self) -> Vec<MetadataStorageReportProto> {
        let parts = &self.inner.parts;
        let report = |disk: &Arc<Disk>| {
            let failed = !parts.logs.contains_key(disk.id()) || self.failure(disk).is_some();
            let space = if failed { Space::default() } else { disk.space() };
            MetadataStorageReportProto {
                storage_location: disk.raft_dir().display().to_string(),
                storage_type: Some(StorageTypeProto::Disk as i32),
                capacity: Some(space.capacity),
                scm_used: Some(space.used),
                remaining: Some(space.available),
                failed: Some(failed),
            }
        };
        let unopened = parts.store.unopened().iter().map(|unopened| MetadataStorageReportProto {
            storage_location: unopened.raft_dir.display().to_string(),
            storage_type: Some(StorageTypeProto::Disk as i32),
            failed: Some(true),
            ..Default::default()
        });
        parts.store.disks().iter().map(report).chain(unopened).collect()
    }

    /// Closes the logs, after the groups were stopped. Blocks on the disks.
    pub fn close_logs(&self) {
        for log in self.inner.parts.logs.values() {
            log.close();
        }
    }

    /// Pipelines that do not work here, and why.
    pub fn in_trouble(&self) -> Vec<(PipelineId, String)> {
        let trouble = |pipeline: &Arc<Pipeline>| {
            pipeline.supervisor.health().trouble().map(|why| (pipeline.id, why))
        };
        self.inner.running.iter().filter_map(|pipeline| trouble(pipeline.value())).collect()
    }

    /// Pipelines whose group has failed for good, and why.
    pub fn failed(&self) -> Vec<(PipelineId, String)> {
        let failed = |pipeline: &Arc<Pipeline>| match pipeline.supervisor.health() {
            GroupHealth::Failed(failure) => Some((pipeline.id, failure.to_string())),
            GroupHealth::Works | GroupHealth::Restarting { .. } => None,
        };
        self.inner.running.iter().filter_map(|pipeline| failed(pipeline.value())).collect()
    }

    /// Times that groups of the running pipelines were started again after a failure.
    pub fn restarts(&self) -> u64 {
        self.inner.running.iter().map(|pipeline| pipeline.supervisor.restarts()).sum()
    }

    /// Pipelines led from here.
    pub fn led(&self) -> usize {
        self.inner.running.iter().filter(|pipeline| pipeline.group.is_leader()).count()
    }
}

/// Tells SCM of a pipeline whose group has failed for good, so that it is replaced. One that is
/// started again only shows up with its next report.
fn tell_of_failures(
    id: PipelineId,
    mut changes: watch::Receiver<GroupHealth>,
    pending_reports: Arc<PendingReports>,
) {
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            let health = changes.borrow_and_update().clone();
            match health {
                GroupHealth::Failed(failure) => {
                    pending_reports.pipeline_failed(id, failure.to_string())
                }
                GroupHealth::Works | GroupHealth::Restarting { .. } => {
                    pending_reports.pipeline_changed(id)
                }
            }
        }
    });
}

fn same_peers(a: &[Peer], b: &[Peer]) -> bool {
    a.len() == b.len() && a.iter().all(|peer| b.contains(peer))
}
