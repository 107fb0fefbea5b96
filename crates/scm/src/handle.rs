//! A running SCM.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use framed::Server;
use futures::future::BoxFuture;
use service::{BackgroundServices, StatusServer};
use types::{DatanodeId, ReplicationConfig};

use crate::core::Core;
use crate::raft::State;

/// Time that a stopping leader waits for another to take over.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Addresses of SCM's endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScmAddresses {
    /// For clients and administrators: framed and Hadoop RPC.
    pub client: SocketAddr,
    /// For OM.
    pub block: SocketAddr,
    /// For DataNodes.
    pub datanode: SocketAddr,
    /// Status page and metrics.
    pub http: Option<SocketAddr>,
}

/// The open endpoints.
pub struct Endpoints {
    pub framed: Vec<Server>,
    /// For the other SCMs.
    pub raft: Option<Server>,
    pub hadoop: hadoop_rpc::Server,
}

/// A running SCM. Dropped without [`ScmHandle::shutdown`] it stops abruptly, as if killed.
pub struct ScmHandle {
    core: Arc<Core>,
    state: State,
    endpoints: Endpoints,
    status: Option<StatusServer>,
    addresses: ScmAddresses,
}

impl ScmHandle {
    pub(crate) fn new(
        core: Arc<Core>,
        state: State,
        endpoints: Endpoints,
        status: Option<StatusServer>,
        addresses: ScmAddresses,
    ) -> Self {
        Self { core, state, endpoints, status, addresses }
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Addresses of its endpoints.
    pub fn addresses(&self) -> ScmAddresses {
        self.addresses
    }

    /// Id of the cluster, `CID-<uuid>`.
    pub fn cluster_id(&self) -> &str {
        &self.core.identity.cluster_id
    }

    /// Returns `true` if it leads and has applied its predecessors' entries.
    pub fn leads(&self) -> bool {
        self.core.check_leader().is_ok()
    }

    /// The leading SCM, as far as this one received its id.
    pub fn leader(&self) -> Option<uuid::Uuid> {
        self.core.group().leader().leader
    }

    /// Id of this SCM.
    pub fn scm_id(&self) -> uuid::Uuid {
        self.core.identity.scm_id
    }

    /// Host of its Raft group. For tests.
    pub fn raft(&self) -> &multiraft::RaftHost {
        self.state.service.host()
    }

    /// Expires the last heartbeat of a node, which is DEAD at the next check. For tests.
    pub fn silence(&self, node: DatanodeId) {
        self.core.cluster().silence(node);
    }

    /// Its background services.
    pub fn services(&self) -> &BackgroundServices {
        &self.core.services
    }

    /// Returns `true` if SCM is in safe mode.
    pub fn in_safe_mode(&self) -> bool {
        self.core.cluster().safe_mode.is_on()
    }

    /// Waits until SCM is out of safe mode.
    pub fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.wait(|core| !core.cluster().safe_mode.is_on()).await;
        })
    }

    /// Waits until blocks of that replication can be allocated: SCM is out of safe mode and a
    /// pipeline is open.
    pub fn ready_for(&self, replication: ReplicationConfig) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.wait(|core| {
                let cluster = core.cluster();
                !cluster.safe_mode.is_on() && cluster.pipelines.open(replication).next().is_some()
            })
            .await;
        })
    }

    async fn wait(&self, met: impl Fn(&Core) -> bool) {
        loop {
            let progress = self.core.progress.notified();
            if met(&self.core) {
                return;
            }
            progress.await;
        }
    }

    /// Returns when it stops by itself, with the reason: its Raft group failed permanently, or it
    /// was decommissioned.
    pub fn stopped(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            self.core.shutdown.cancelled().await;
            let failed = self.state.service.handle().health().trouble();
            failed.unwrap_or_else(|| "the reason is in its log".to_owned())
        })
    }

    /// Returns when its Raft group has failed permanently, with the reason.
    pub fn failed(&self) -> BoxFuture<'_, String> {
        Box::pin(async move { self.state.service.handle().supervisor().failed().await.to_string() })
    }

    /// Stops gracefully within the configured time: finishes calls, flushes the tables, releases
    /// the directory.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop())
    }

    async fn stop(self) {
        let limit = self.core.options.shutdown_timeout;
        self.state.service.handle().hand_over(HAND_OVER_TIMEOUT).await;
        self.core.shutdown.trigger();
        drop(self.status);
        let Endpoints { framed, raft, hadoop } = self.endpoints;
        let endpoints = async {
            let all = framed.into_iter().chain(raft);
            futures::future::join_all(all.map(Server::shutdown)).await;
            hadoop.shutdown().await;
        };
        if tokio::time::timeout(limit, endpoints).await.is_err() {
            tracing::warn!("shutdown timeout passed; in-flight calls were cancelled");
        }
        self.core.services.join().await;
        self.state.close().await;
        tracing::info!("SCM stopped");
    }
}
