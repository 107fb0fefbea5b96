//! A DataNode as a whole: its identity and endpoints from the start, its disks once the cluster is
//! known.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use multiraft::transport::framed::{FramedTransport, Methods};
use multiraft::{HostOptions, LogError, LogHandle, LogOptions, RaftHost};
use parking_lot::Mutex;
use proto::method;
use rustc_hash::FxHashMap;
use service::{BackgroundServices, Shutdown};
use tokio::sync::watch;
use types::OperationalState;

use crate::DatanodeError;
use crate::close::Closing;
use crate::command::budget::Budget;
use crate::deadline;
use crate::disk_check::DiskCheck;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::pipeline::{Parts, Pipelines};
use crate::push::Pusher;
use crate::reclaim::Reclaim;
use crate::scm::{PendingReports, Sessions};
use crate::settings::Settings;
use crate::small_chunks::SmallChunks;
use crate::storage::{ContainerStore, Disk};
use crate::suspects::Suspects;

/// Numbers of Raft's methods on the framed endpoint.
pub(crate) const RAFT_METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};

/// How long a snapshot piece or a lost chunk may take to another DataNode.
const RAFT_CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// How many times longer than SCM takes to count a DataNode as dead a pipeline that is to be closed
/// waits for members that may know more: after a power failure machines come back minutes apart.
const DECISION_TIMEOUT: u32 = 10;

/// How far a DataNode has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not registered yet.
    Starting,
    /// Registered; takes part in the cluster.
    Ready,
    /// Cannot go on, and why.
    Failed(String),
}

/// A running DataNode.
pub(crate) struct Daemon {
    pub settings: Settings,
    pub identity: Mutex<Identity>,
    pub pending_reports: Arc<PendingReports>,
    pub sessions: Sessions,
    pub metrics: Metrics,
    pub services: BackgroundServices,
    pub shutdown: Shutdown,
    pub stage: watch::Sender<Stage>,
    /// The latest term of a leading SCM that this node has heard of.
    pub scm_term: AtomicI64,
    /// When an SCM last answered.
    scm_heard: Mutex<Instant>,
    transport: Arc<FramedTransport>,
    raft: OnceLock<RaftHost>,
    node: OnceLock<Arc<Node>>,
    opening: tokio::sync::Mutex<()>,
}

impl Daemon {
    pub fn new(settings: Settings, identity: Identity, shutdown: Shutdown) -> Arc<Self> {
        let metrics = Metrics::new(identity.details().id);
        Arc::new(Self {
            pending_reports: Arc::default(),
            sessions: Sessions::default(),
            services: BackgroundServices::new(&metrics.registry, shutdown.clone()),
            metrics,
            identity: Mutex::new(identity),
            stage: watch::Sender::new(Stage::Starting),
            scm_term: AtomicI64::new(0),
            scm_heard: Mutex::new(Instant::now()),
            transport: FramedTransport::new(RAFT_METHODS, RAFT_CALL_TIMEOUT),
            raft: OnceLock::new(),
            node: OnceLock::new(),
            opening: tokio::sync::Mutex::default(),
            settings,
            shutdown,
        })
    }

    /// The working parts, once the disks are open.
    pub fn node(&self) -> Option<&Arc<Node>> {
        self.node.get()
    }

    /// What drives the pipelines, once the disks are open.
    pub fn raft(&self) -> Option<&RaftHost> {
        self.raft.get()
    }

    /// Joins a cluster and opens the disks; once only.
    pub async fn open(self: &Arc<Self>, cluster_id: &str) -> Result<Arc<Node>, DatanodeError> {
        let _turn = self.opening.lock().await;
        self.identity.lock().join(cluster_id)?;
        if let Some(node) = self.node.get() {
            return Ok(node.clone());
        }
        let options =
            crate::disks::options(&self.settings, cluster_id, self.identity.lock().details().id);
        let opened = tokio::task::spawn_blocking(move || ContainerStore::open(options)).await;
        let store = opened.map_err(|_| DatanodeError::Shutdown)??;
        let (bad, all) = (store.unopened().len(), self.settings.data_dirs.len());
        if let Some(why) = self.settings.tolerated.data.exceeded(bad, all) {
            let reasons = store.unopened().iter().map(|unopened| unopened.reason.clone());
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            return Err(DatanodeError::TooFewDisks { why, reasons });
        }
        let node = Arc::new(self.assemble(store).await?);
        node.pipelines.reopen(self.settings.checks.timeout).await;
        self.services.spawn(Arc::new(Reclaim::new(&node)));
        self.services.spawn(Arc::new(SmallChunks::new(&node)));
        self.services.spawn(Arc::new(DiskCheck::new(&node)));
        self.services.spawn(Arc::new(Suspects::new(&node)));
        self.services.spawn(Arc::new(Closing::new(self, &node)));
        self.metrics.watch(&node);
        crate::failed_disks::watch(self, &node);
        let _ = self.node.set(node.clone());
        Ok(node)
    }

    /// Opens the Raft logs of all disks at a time; one that hangs holds up no other.
    async fn open_logs(
        &self,
        store: &ContainerStore,
        host: &RaftHost,
    ) -> Result<FxHashMap<String, LogHandle>, DatanodeError> {
        let (disks, host) = (store.disks().to_vec(), host.clone());
        let timeout = self.settings.checks.timeout;
        let open = move || {
            let begin = |disk: &Arc<Disk>| {
                let (host, dir) = (host.clone(), disk.raft_dir().to_path_buf());
                let options =
                    LogOptions { manifest: Some(disk.raft_manifest()), ..LogOptions::default() };
                deadline::begin("open-raft-log", move || host.open_log(&dir, options))
            };
            let begun: Vec<_> = disks.iter().map(begin).collect();
            let deadline = Instant::now().checked_add(timeout);
            let finish = |(opening, disk): (deadline::Begun<_>, Arc<Disk>)| {
                let opened = opening.wait_until(deadline).unwrap_or_else(|late| {
                    let detail = format!("{late} within {timeout:?}");
                    if crate::failed_disks::shares_device(&disk) {
                        disk.io().fail("open the raft log", disk.raft_dir(), detail.as_str());
                    }
                    Err(LogError::Io { path: disk.raft_dir().to_path_buf(), detail })
                });
                (disk, opened)
            };
            begun.into_iter().zip(disks).map(finish).collect::<Vec<_>>()
        };
        let opened = tokio::task::spawn_blocking(open).await;
        let mut logs = FxHashMap::default();
        for (disk, opened) in opened.map_err(|_| DatanodeError::Shutdown)? {
            match opened {
                Ok(log) => _ = logs.insert(disk.id().to_owned(), log),
                // The disk's replicas are there to be read; its pipelines are lost.
                Err(error) => {
                    tracing::error!(disk = disk.id(), %error, "a raft log does not open");
                    if store.disks().len() == 1 {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(logs)
    }

    async fn assemble(&self, store: ContainerStore) -> Result<Node, DatanodeError> {
        let settings = &self.settings;
        let details = self.identity.lock().details().clone();
        let mut options = HostOptions::new(details.id.0);
        options.election_timeout = settings.election_timeout;
        options.heartbeat = settings.election_timeout / 5;
        options.tick = options.heartbeat.min(options.tick);
        options.max_pending_bytes = usize::try_from(settings.pending_bytes).unwrap_or(usize::MAX);
        let host = RaftHost::start(options, self.transport.clone())?;
        let logs = self.open_logs(&store, &host).await?;
        self.metrics.watch_raft(&host, &logs.values().cloned().collect::<Vec<_>>());
        let pipelines = Pipelines::new(Parts {
            me: details.id.0,
            host: host.clone(),
            logs,
            store: store.clone(),
            pending_reports: self.pending_reports.clone(),
            small: settings.small_block_size,
            sync_chunks: settings.sync_chunks,
            trim_entries: settings.trim_entries,
            decision_timeout: settings.scm_silence.saturating_mul(DECISION_TIMEOUT),
        });
        let _ = self.raft.set(host);
        Ok(Node {
            settings: settings.clone(),
            details: ArcSwap::from_pointee(details),
            store,
            pipelines,
            pending_reports: self.pending_reports.clone(),
            write_budget: Budget::new(settings.pending_bytes),
            read_budget: Budget::new(settings.pending_bytes),
            under_way: Default::default(),
            pusher: Pusher::new(
                settings.copy_streams,
                settings.copy_queue,
                settings.copy_bandwidth,
            ),
            arrivals: Default::default(),
            services: self.services.clone(),
        })
    }

    /// Keeps what the operator wants of this node.
    pub fn set_op_state(
        &self,
        node: &Node,
        state: OperationalState,
        expiry: i64,
    ) -> Result<(), DatanodeError> {
        let mut identity = self.identity.lock();
        identity.set_op_state(state, expiry)?;
        node.details.store(Arc::new(identity.details().clone()));
        Ok(())
    }

    /// An SCM answered.
    pub fn heard_scm(&self) {
        *self.scm_heard.lock() = Instant::now();
    }

    /// How long no SCM has answered.
    pub fn scm_silence(&self) -> Duration {
        self.scm_heard.lock().elapsed()
    }

    /// SCM has taken this DataNode in.
    pub fn registered(&self) {
        self.stage.send_if_modified(|stage| {
            let starting = *stage == Stage::Starting;
            if starting {
                *stage = Stage::Ready;
            }
            starting
        });
    }

    /// This DataNode cannot go on.
    pub fn fail(&self, reason: String) {
        self.stage.send_replace(Stage::Failed(reason));
    }

    /// Stops Raft and makes the disks' records durable.
    pub async fn close(&self) {
        if let Some(host) = self.raft.get() {
            host.shutdown().await;
        }
        let Some(node) = self.node.get() else { return };
        let node = node.clone();
        let flushing = move || {
            node.pipelines.close_logs();
            node.store.flush_all()
        };
        match tokio::task::spawn_blocking(flushing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the disks were not flushed"),
            Err(error) => tracing::warn!(%error, "the disks were not flushed"),
        }
    }
}
