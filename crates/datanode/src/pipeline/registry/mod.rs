//! All pipelines of a DataNode: created by order of SCM, opened again at start, closed permanently.
//!
//! [`start`]: a pipeline's group and its supervisor; [`close`]: ending pipelines; [`report`]:
//! reports to SCM, metrics and the status page.

mod close;
mod disk_reservation;
mod report;
mod start;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use dashmap::{DashMap, DashSet};
use futures::future::join_all;
use multiraft::{GroupError, LogHandle, Peer, RaftHost};
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId};
use uuid::Uuid;

use self::disk_reservation::DiskReservations;
use super::pipeline_locks::PipelineLocks;
use super::presence::Presence;
use super::snapshot::SNAPSHOTS;
use super::{Membership, Pipeline};
use crate::pending_reports::PendingReports;
use crate::repair::pace::RepairPace;
use containerstore::{ContainerStore, Disk, StorageError};

/// Entries that stay in the log after they are durable, for replicas that were away: small files
/// are stored in it.
const KEEP: u64 = 10_000;

/// Bytes of applied entries in the log of a pipeline at which it is trimmed, even if a member may
/// still need them: a replica that was away longer than that takes a snapshot.
const TRIM_BYTES: u64 = 128 << 20;

/// Failure of a change of pipelines.
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
    /// Its log may have acknowledged entries whose commit this member has not received.
    #[error("pipeline {0} has undecided entries, its log is kept")]
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
    /// Addresses of DataNodes' Ratis client protocol, as received from SCM since the start.
    ratis: DashMap<Uuid, String, rustc_hash::FxBuildHasher>,
    /// Those that were closed since the start with all that was committed by then.
    closed: DashSet<PipelineId, rustc_hash::FxBuildHasher>,
    locks: PipelineLocks,
    reservations: DiskReservations,
    /// Number of requests to members of a pipeline to be closed for their state.
    censuses: AtomicU64,
}

/// Parts that pipelines are made of.
pub(crate) struct Parts {
    /// This node.
    pub me: Uuid,
    /// Drives the groups.
    pub host: RaftHost,
    /// One log per disk, by the disk's id.
    pub logs: FxHashMap<String, LogHandle>,
    /// The disks.
    pub store: ContainerStore,
    /// Receives events for SCM.
    pub pending_reports: Arc<PendingReports>,
    /// Receives the load of clients' changes.
    pub pace: Arc<RepairPace>,
    /// Largest payload that rides in the log.
    pub small: u64,
    /// Make chunks durable as they are written.
    pub sync_chunks: bool,
    /// Entries after which logs are trimmed.
    pub trim_entries: u64,
    /// Longest wait of a pipeline to be closed for its members to decide the entries of its log.
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
            censuses: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    fn reservations(&self) -> &DiskReservations {
        &self.inner.reservations
    }

    /// A running pipeline.
    pub fn get(&self, id: PipelineId) -> Option<Arc<Pipeline>> {
        self.inner.running.get(&id).map(|pipeline| pipeline.clone())
    }

    /// Returns `true` if a pipeline that does not run will run in a moment.
    pub fn is_moving(&self, id: PipelineId) -> bool {
        self.inner.moving.contains(&id)
    }

    /// Returns `true` if a pipeline has a group on this node: a running one, one that is being
    /// stopped, or one that is stopped to be started again. A group here may take part in its
    /// members' decisions.
    pub fn has_group(&self, id: PipelineId) -> bool {
        self.inner.running.contains_key(&id)
            || self.inner.moving.contains(&id)
            || self.inner.parts.host.group(id.0).is_some()
    }

    /// Returns the state of a pipeline here, for its other members.
    pub fn presence(&self, id: PipelineId) -> Presence {
        match self.has_group(id) {
            true => Presence::Group,
            false if self.inner.closed.contains(&id) => Presence::Closed,
            false => Presence::Absent,
        }
    }

    /// Prevents a pipeline's start here until the guard is dropped; `None` if it has a group.
    pub async fn absent(&self, id: PipelineId) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        if self.has_group(id) {
            return None;
        }
        let lock = self.inner.locks.lock(id).await;
        (!self.has_group(id)).then_some(lock)
    }

    /// Returns a DataNode's address of Ratis' client protocol, if it is known here.
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

    /// Forgets chunk writes of inactive writers: blocks without a write since `before`.
    pub fn forget_idle(&self, before: Instant) {
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
                // A hanging open continues in the background, and finds that the disk has failed.
                if tokio::time::timeout(timeout, opening).await.is_err() {
                    let reason = format!("its pipelines did not open within {timeout:?}");
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
            // Snapshots in progress at the last stop are of no use any more.
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

    /// Creates a pipeline, or updates the addresses of its members if it is here already.
    pub async fn create(&self, membership: Membership) -> Result<(), PipelineError> {
        let Membership { id, peers, ratis, storage_type } = membership;
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
        let reservation = self.choose_disk(id, peers.len(), storage_type)?;
        tracing::info!(pipeline = %id, members = peers.len(), disk = reservation.disk.id(), "creating a pipeline");
        self.open(id, peers, reservation.disk.clone()).await
    }

    /// Restarts a pipeline's group if its members' addresses differ from the group's.
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

    /// Returns the reason why no pipeline can run on a disk, if so: the disk or its Raft log
    /// failed.
    pub fn failure(&self, disk: &Disk) -> Option<String> {
        let log = || self.inner.parts.logs.get(disk.id()).and_then(LogHandle::failure);
        disk.failure().or_else(log)
    }

    /// The disks' Raft logs, by the disks' ids.
    pub fn logs(&self) -> &FxHashMap<String, LogHandle> {
        &self.inner.parts.logs
    }

    /// Adds a pipeline to the running ones.
    fn run(&self, pipeline: Arc<Pipeline>) {
        let disk = pipeline.disk.clone();
        self.inner.running.insert(pipeline.id, pipeline);
        // It failed meanwhile: then it was not among the stopped ones.
        if let Some(reason) = self.failure(&disk) {
            self.abandon(&disk, &reason);
        }
    }

    /// Closes the logs, after the groups were stopped. Blocks on the disks.
    pub fn close_logs(&self) {
        for log in self.inner.parts.logs.values() {
            log.close();
        }
    }
}

fn same_peers(a: &[Peer], b: &[Peer]) -> bool {
    a.len() == b.len() && a.iter().all(|peer| b.contains(peer))
}
