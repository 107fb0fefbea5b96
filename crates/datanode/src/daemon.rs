//! A DataNode as a whole: its identity and endpoints from the start, its disks once the cluster is
//! known.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use multiraft::RaftHost;
use multiraft::framed::{FramedTransport, Methods};
use parking_lot::Mutex;
use proto::method;
use service::{AdminAccess, BackgroundServices, Shutdown};
use tokio::sync::watch;
use types::OperationalState;

use crate::DatanodeError;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::pending_reports::PendingReports;
use crate::session_table::SessionTable;
use crate::settings::Settings;

/// Numbers of Raft's methods on the framed endpoint.
pub(crate) const RAFT_METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};

/// Timeout of the transfer of a snapshot piece or a lost chunk to another DataNode.
const RAFT_CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// State of a DataNode's start.
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
    pub sessions: Arc<SessionTable>,
    pub metrics: Metrics,
    pub edge: telemetry::Edge,
    pub services: BackgroundServices,
    /// Users that may administer this node.
    pub access: AdminAccess,
    pub shutdown: Shutdown,
    pub stage: watch::Sender<Stage>,
    /// The latest term of a leading SCM received by this node.
    pub scm_term: AtomicI64,
    /// Time of the last response of an SCM.
    scm_heard: Mutex<Instant>,
    transport: Arc<FramedTransport>,
    raft: OnceLock<RaftHost>,
    node: OnceLock<Arc<Node>>,
    /// Held while the disks are opened.
    pub opening: tokio::sync::Mutex<()>,
}

impl Daemon {
    pub fn new(settings: Settings, identity: Identity, shutdown: Shutdown) -> Arc<Self> {
        let metrics = Metrics::new(identity.details().id);
        Arc::new(Self {
            pending_reports: Arc::default(),
            sessions: Arc::default(),
            services: BackgroundServices::new(&metrics.registry, shutdown.clone()),
            access: AdminAccess::new(settings.admin_policy.clone()),
            metrics,
            edge: telemetry::Edge::new("datanode", settings.slow_command),
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

    /// The disks are open; once only.
    pub fn set_node(&self, node: &Arc<Node>) {
        let _ = self.node.set(node.clone());
    }

    /// Raft runs; once only.
    pub fn set_raft(&self, host: RaftHost) {
        let _ = self.raft.set(host);
    }

    /// Returns the transport of Raft's messages.
    pub fn transport(&self) -> Arc<FramedTransport> {
        self.transport.clone()
    }

    /// Returns the host of the pipelines, once the disks are open.
    pub fn raft(&self) -> Option<&RaftHost> {
        self.raft.get()
    }

    /// Stores the operational state set by the operator.
    pub fn set_op_state(
        &self,
        node: &Node,
        state: OperationalState,
        expiry: i64,
    ) -> Result<(), DatanodeError> {
        {
            let mut identity = self.identity.lock();
            identity.set_op_state(state, expiry)?;
            node.details.store(Arc::new(identity.details().clone()));
        }
        if let Err(error) = node.disk_balancer.follow_service(node.is_in_service()) {
            tracing::error!(%error, "cannot apply the node's operational state to the disk balancer");
        }
        Ok(())
    }

    /// An SCM answered.
    pub fn heard_scm(&self) {
        *self.scm_heard.lock() = Instant::now();
    }

    /// Returns the time since the last response of an SCM.
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
            Ok(Err(error)) => tracing::warn!(%error, "cannot flush the disks"),
            Err(error) => tracing::warn!(%error, "cannot flush the disks"),
        }
    }
}
