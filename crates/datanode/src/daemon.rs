//! A DataNode as a whole: its identity and doors from the start, its disks once the cluster is known.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use multiraft::transport::framed::{FramedTransport, Methods};
use multiraft::{HostOptions, LogOptions, RaftHost};
use parking_lot::Mutex;
use proto::method;
use rustc_hash::FxHashMap;
use service::{BackgroundServices, Shutdown};
use tokio::sync::watch;
use types::OperationalState;

use crate::DatanodeError;
use crate::command::budget::Budget;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::pipeline::{Parts, Pipelines};
use crate::push::Pusher;
use crate::reclaim::Reclaim;
use crate::scm::{News, Sessions};
use crate::settings::Settings;
use crate::small_chunks::SmallChunks;
use crate::storage::ContainerStore;

/// Numbers of Raft's methods on the framed door.
pub(crate) const RAFT_METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};

/// How long a snapshot piece or a lost chunk may take to another DataNode.
const RAFT_CALL_TIMEOUT: Duration = Duration::from_secs(10);

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
    pub news: Arc<News>,
    pub sessions: Sessions,
    pub metrics: Metrics,
    pub services: BackgroundServices,
    pub shutdown: Shutdown,
    pub stage: watch::Sender<Stage>,
    /// The latest term of a leading SCM that this node has heard of.
    pub scm_term: AtomicI64,
    transport: Arc<FramedTransport>,
    raft: OnceLock<RaftHost>,
    node: OnceLock<Arc<Node>>,
    opening: tokio::sync::Mutex<()>,
}

impl Daemon {
    pub fn new(settings: Settings, identity: Identity, shutdown: Shutdown) -> Arc<Self> {
        let metrics = Metrics::new(identity.details().id);
        Arc::new(Self {
            news: Arc::default(),
            sessions: Sessions::default(),
            services: BackgroundServices::new(&metrics.registry, shutdown.clone()),
            metrics,
            identity: Mutex::new(identity),
            stage: watch::Sender::new(Stage::Starting),
            scm_term: AtomicI64::new(0),
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
        let node = Arc::new(self.assemble(store).await?);
        node.pipelines.reopen().await;
        self.services.spawn(Arc::new(Reclaim::new(&node)));
        self.services.spawn(Arc::new(SmallChunks::new(&node)));
        self.metrics.watch(&node);
        let _ = self.node.set(node.clone());
        Ok(node)
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
        let mut logs = FxHashMap::default();
        for disk in store.disks() {
            let (host, dir) = (host.clone(), disk.raft_dir().to_path_buf());
            let opening =
                tokio::task::spawn_blocking(move || host.open_log(&dir, LogOptions::default()));
            match opening.await.map_err(|_| DatanodeError::Shutdown)? {
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
        self.metrics.watch_raft(&host, &logs.values().cloned().collect::<Vec<_>>());
        let pipelines = Pipelines::new(Parts {
            me: details.id.0,
            host: host.clone(),
            logs,
            store: store.clone(),
            news: self.news.clone(),
            small: settings.small_block_size,
            sync_chunks: settings.sync_chunks,
            trim_entries: settings.trim_entries,
        });
        let _ = self.raft.set(host);
        Ok(Node {
            settings: settings.clone(),
            details: ArcSwap::from_pointee(details),
            store,
            pipelines,
            news: self.news.clone(),
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

    /// SCM has taken this DataNode in.
    pub fn registered(&self) {
        self.stage.send_if_modified(|stage| {
            let news = *stage == Stage::Starting;
            if news {
                *stage = Stage::Ready;
            }
            news
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
