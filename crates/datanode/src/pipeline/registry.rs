//! All pipelines of a DataNode: made when SCM says so, opened again at start, closed for good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use container::ContainerState;
use dashmap::{DashMap, DashSet};
use multiraft::{GroupConfig, GroupError, LogHandle, Peer, RaftHost, Role, TrimOptions};
use proto::hdds::StorageTypeProto;
use proto::scm_datanode::MetadataStorageReportProto;
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId};
use uuid::Uuid;

use super::machine::Machine;
use super::payload::Payloads;
use super::place::Coming;
use super::turns::Turns;
use super::{Membership, Pipeline};
use crate::scm::News;
use crate::storage::{ContainerStore, Disk, StorageError};

/// A block that nobody wrote to for this long is no longer tracked; see
/// [`Tracker::forget_idle`](super::tracker::Tracker::forget_idle).
const IDLE_BLOCK: Duration = Duration::from_secs(3600);

/// Longest wait of a pipeline that is closed for its members to be level.
const SETTLE: Duration = Duration::from_secs(3);

/// How long a member stays when all is level: a leader for its followers to hear that all is
/// committed, a follower for what the leader may still have for it.
const LAST_WORD: Duration = Duration::from_millis(500);

/// Entries that stay in the log behind what is durable, for replicas that were away: small files
/// ride in it.
const KEEP: u64 = 10_000;

/// Bytes of applied entries in the log of a pipeline at which it is trimmed, whoever may still ask
/// for them: a replica that was away longer than that takes a snapshot.
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
    changing: Turns,
    coming: Coming,
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
    pub news: Arc<News>,
    /// Largest payload that rides in the log.
    pub small: u64,
    /// Make chunks durable as they are written.
    pub sync_chunks: bool,
    /// Entries after which logs are trimmed.
    pub trim_entries: u64,
}

impl Pipelines {
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            parts,
            running: DashMap::default(),
            moving: DashSet::default(),
            ratis: DashMap::default(),
            changing: Turns::default(),
            coming: Coming::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    pub(super) fn coming(&self) -> &Coming {
        &self.inner.coming
    }

    /// A running pipeline.
    pub fn get(&self, id: PipelineId) -> Option<Arc<Pipeline>> {
        self.inner.running.get(&id).map(|pipeline| pipeline.clone())
    }

    /// Whether a pipeline that does not run will do so in a moment.
    pub fn is_moving(&self, id: PipelineId) -> bool {
        self.inner.moving.contains(&id)
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
        let Some(before) = Instant::now().checked_sub(IDLE_BLOCK) else { return };
        for pipeline in self.inner.running.iter() {
            pipeline.payloads.tracker().forget_idle(before);
        }
    }

    /// Opens the pipelines whose logs are on the disks. One that does not open is reported as
    /// failed; the others work.
    pub async fn reopen(&self) {
        let disks: Vec<_> = self.inner.parts.store.disks().to_vec();
        for disk in disks {
            // Snapshots that were under way belong to nobody any more.
            let _ = std::fs::remove_dir_all(disk.path().join(SNAPSHOTS));
            let Some(log) = self.inner.parts.logs.get(disk.id()) else { continue };
            for persisted in self.inner.parts.host.list_groups_on(log) {
                let id = PipelineId(persisted.id);
                let _turn = self.inner.changing.take(id).await;
                if let Err(error) = self.open(id, persisted.peers(), disk.clone()).await {
                    tracing::error!(pipeline = %id, disk = disk.id(), %error, "cannot open a pipeline");
                    self.inner.parts.news.pipeline_failed(id, error.to_string());
                }
            }
        }
    }

    /// Makes a pipeline, or learns new addresses of its members when it is here already.
    pub async fn create(&self, membership: Membership) -> Result<(), PipelineError> {
        let Membership { id, peers, ratis } = membership;
        let _turn = self.inner.changing.take(id).await;
        for (node, address) in ratis {
            self.inner.ratis.insert(node, address);
        }
        if let Some(known) = self.get(id) {
            return self.move_peers(&known, peers).await;
        }
        if !peers.iter().any(|peer| peer.node == self.inner.parts.me) {
            return Err(PipelineError::NotAMember(id));
        }
        let place = self.choose_disk(id, peers.len())?;
        tracing::info!(pipeline = %id, members = peers.len(), disk = place.disk.id(), "creating a pipeline");
        self.open(id, peers, place.disk.clone()).await
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
        let pipeline = tokio::task::spawn_blocking(move || this.start(id, peers, disk)).await??;
        self.inner.running.insert(id, Arc::new(pipeline));
        Ok(())
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
            news: parts.news.clone(),
        };
        let group = parts.host.start_group(config, Box::new(machine))?;
        Ok(Pipeline { id, group, store, disk, peers, held: Default::default(), payloads })
    }

    /// Closes a pipeline for good: its containers take no more writes, its log is erased. A pipeline
    /// that is not here is closed.
    pub async fn close(&self, id: PipelineId) -> Result<(), PipelineError> {
        let _turn = self.inner.changing.take(id).await;
        let Some((_, pipeline)) = self.inner.running.remove(&id) else { return Ok(()) };
        tracing::info!(pipeline = %id, "closing a pipeline");
        settle(&pipeline).await;
        // Without the group nothing more can be agreed on, so what is still open ends as it is.
        let parts = &self.inner.parts;
        parts.host.stop_group(id.0).await?;
        let (this, closed) = (self.clone(), pipeline.clone());
        tokio::task::spawn_blocking(move || this.end_containers(&closed)).await??;
        if let Some(log) = parts.logs.get(pipeline.disk.id()) {
            parts.host.erase(log, id.0).await?;
        }
        tokio::task::spawn_blocking(move || pipeline.store.remove()).await??;
        Ok(())
    }

    fn end_containers(&self, pipeline: &Pipeline) -> Result<(), PipelineError> {
        let parts = &self.inner.parts;
        for id in pipeline.store.containers() {
            let open = parts.store.container(id).is_ok_and(|container| {
                matches!(container.info().state, ContainerState::Open | ContainerState::Closing)
            });
            if open {
                parts.store.quasi_close(id)?;
                parts.news.container_changed(id);
            }
        }
        pipeline.store.flush()?;
        Ok(())
    }

    /// The Raft log directories, as SCM is told of them: it decides by their number how many pipelines there are.
    pub fn log_reports(&self) -> Vec<MetadataStorageReportProto> {
        let parts = &self.inner.parts;
        let report = |disk: &Arc<Disk>| {
            let space = disk.space();
            MetadataStorageReportProto {
                storage_location: disk.raft_dir().display().to_string(),
                storage_type: Some(StorageTypeProto::Disk as i32),
                capacity: Some(space.capacity),
                scm_used: Some(space.used),
                remaining: Some(space.available),
                failed: Some(!parts.logs.contains_key(disk.id())),
            }
        };
        parts.store.disks().iter().map(report).collect()
    }

    /// Closes the logs, after the groups were stopped. Blocks on the disks.
    pub fn close_logs(&self) {
        for log in self.inner.parts.logs.values() {
            log.close();
        }
    }

    /// Pipelines led from here.
    pub fn led(&self) -> usize {
        self.inner.running.iter().filter(|pipeline| pipeline.group.is_leader()).count()
    }
}

/// Waits, but not for long, until the members have applied what is in their logs: an acknowledged
/// write may be applied on the leader alone, and the logs are about to go.
async fn settle(pipeline: &Pipeline) {
    let deadline = tokio::time::Instant::now() + SETTLE;
    let (mut level_at, mut since) = (None, tokio::time::Instant::now());
    while tokio::time::Instant::now() < deadline {
        let Some(status) = pipeline.group.status().await else { return };
        if status.failed.is_some() || (status.role != Role::Leader && status.leader.is_none()) {
            return;
        }
        let followers_are_level = status
            .followers
            .iter()
            .filter(|follower| follower.active)
            .all(|follower| follower.matched == status.last_index);
        let level = (status.applied == status.last_index && followers_are_level)
            .then_some(status.last_index);
        if level.is_none() || level != level_at {
            (level_at, since) = (level, tokio::time::Instant::now());
        } else if since.elapsed() >= LAST_WORD {
            // The others heard meanwhile how far everything is committed, and nothing more came.
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn same_peers(a: &[Peer], b: &[Peer]) -> bool {
    a.len() == b.len() && a.iter().all(|peer| b.contains(peer))
}
