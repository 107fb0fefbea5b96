//! A running OM.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use framed::Server;
use futures::future::BoxFuture;
use limits::Connections;
use multiraft::RaftHost;
use replicated::Service;
use service::{BackgroundServices, MetricsRegistry, Shutdown, StatusServer};
use tokio::task::JoinHandle;

use crate::dispatch::Dispatcher;
use crate::first_start;
use crate::identity::Identity;
use crate::settings::RootCredentials;
use crate::state::OmStateMachine;

/// Time for the gRPC endpoint to finish its calls.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a leader that stops waits for another OM to take over.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Endpoints of an OM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The framed and the Hadoop RPC endpoint, `ozone.om.address`.
    pub framed: SocketAddr,
    /// The gRPC endpoint, `ozone.om.grpc.port`, when it is open.
    pub grpc: Option<SocketAddr>,
    /// Status page and metrics, `ozone.om.http-address`.
    pub http: Option<SocketAddr>,
}

/// The open endpoints.
pub(crate) struct Endpoints {
    pub(crate) framed: Server,
    pub(crate) hadoop: hadoop_rpc::Server,
    pub(crate) grpc: Option<JoinHandle<()>>,
    pub(crate) grpc_connections: Arc<Connections>,
    pub(crate) raft: Option<Server>,
}

/// Parts of a running OM.
pub(crate) struct Running {
    pub(crate) addresses: Addresses,
    pub(crate) registry: MetricsRegistry,
    pub(crate) background: BackgroundServices,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) endpoints: Endpoints,
    pub(crate) http: Option<StatusServer>,
    pub(crate) stop: TriggerOnDrop,
    pub(crate) service: Service<OmStateMachine>,
    pub(crate) identity: Identity,
}

/// A running OM. Dropping it closes its endpoints; [`OmHandle::shutdown`] also waits for work in
/// progress.
pub struct OmHandle {
    running: Running,
}

impl OmHandle {
    pub(crate) fn new(running: Running) -> Self {
        Self { running }
    }

    /// Addresses of its endpoints.
    pub fn addresses(&self) -> Addresses {
        self.running.addresses
    }

    /// Returns once requests are answered by this OM or, where there are several, by the one that
    /// leads; false when none did within `timeout`.
    pub fn ready(&self, timeout: Duration) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let group = &self.running.dispatcher.parts().group;
            let mut changes = group.leader_changes();
            let me = self.running.dispatcher.parts().facts.members.me.raft_id;
            let known =
                changes.wait_for(|s| s.leader.is_some_and(|leader| leader != me || s.ready));
            matches!(tokio::time::timeout(timeout, known).await, Ok(Ok(_)))
        })
    }

    /// Returns `true` if this OM leads its service and serves.
    pub fn is_leader(&self) -> bool {
        self.running.dispatcher.is_leader()
    }

    /// Id of the leader, if this OM has one.
    pub fn leader(&self) -> Option<String> {
        let parts = self.running.dispatcher.parts();
        let leader = parts.group.leader().leader?;
        parts.facts.members.by_raft_id(leader).map(|m| m.node_id)
    }

    /// Its id within the service.
    pub fn node_id(&self) -> &str {
        &self.running.dispatcher.parts().facts.members.me.node_id
    }

    /// The root S3 key pair. Among several OMs it is there once a leader has made it.
    pub fn root_credentials(&self) -> Option<RootCredentials> {
        let parts = self.running.dispatcher.parts();
        let tables = parts.current.get()?;
        first_start::secret_of(&tables, parts.root_access_key.get()?).ok().flatten()
    }

    /// Stops like a killed process, as far as that is possible within one: work in progress is not
    /// finished, and nothing is flushed. For tests.
    pub fn abandon(self) -> BoxFuture<'static, ()> {
        Box::pin(self.end())
    }

    async fn end(self) {
        let running = self.running;
        running.service.handle().supervisor().end().await;
        running.stop.0.trigger();
        drop(running.endpoints.framed);
        drop(running.endpoints.raft);
        if let Some(grpc) = &running.endpoints.grpc {
            grpc.abort();
        }
        running.service.close().await;
        running.endpoints.hadoop.shutdown().await;
        if let Some(http) = &running.http {
            http.stop();
        }
        running.background.join().await;
        running.dispatcher.parts().current.close().await;
        drop(running.dispatcher);
        drop(running.identity);
    }

    /// Driver of its Raft group. For tests.
    pub fn raft(&self) -> &RaftHost {
        self.running.service.host()
    }

    /// The cluster it belongs to.
    pub fn cluster_id(&self) -> &str {
        &self.running.identity.cluster_id
    }

    /// Its metrics.
    pub fn metrics(&self) -> &MetricsRegistry {
        &self.running.registry
    }

    /// Its background services.
    pub fn background(&self) -> &BackgroundServices {
        &self.running.background
    }

    /// Returns when OM stopped by itself, with the reason: its Raft group failed permanently, SCM
    /// belongs to another cluster, or it was removed from its service.
    pub fn stopped(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            self.running.stop.0.cancelled().await;
            let failed = self.running.service.handle().health().trouble();
            failed.unwrap_or_else(|| "the reason is in its log".to_owned())
        })
    }

    /// Closes the endpoints, finishes work in progress, makes everything durable and releases the
    /// directory.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop())
    }

    async fn stop(self) {
        let running = self.running;
        running.service.handle().hand_over(HAND_OVER_TIMEOUT).await;
        running.service.handle().supervisor().end().await;
        running.stop.0.trigger();
        running.endpoints.framed.shutdown().await;
        running.endpoints.hadoop.shutdown().await;
        if let Some(mut grpc) = running.endpoints.grpc
            && tokio::time::timeout(DRAIN_TIMEOUT, &mut grpc).await.is_err()
        {
            grpc.abort();
        }
        if let Some(http) = &running.http {
            http.stop();
        }
        running.background.join().await;
        running.service.close().await;
        if let Some(raft) = running.endpoints.raft {
            raft.shutdown().await;
        }
        if let Some(tables) = running.dispatcher.parts().current.get()
            && let Err(e) = tables.store().flush()
        {
            // Nothing is lost: the log has the unflushed entries.
            tracing::warn!("cannot flush the tables: {e}");
        }
        running.dispatcher.parts().current.close().await;
        drop(running.dispatcher);
        // The lock last: the next process that opens the directory finds it at rest.
        drop(running.identity);
    }
}

/// Stops background work when a handle is dropped without [`OmHandle::shutdown`].
pub(crate) struct TriggerOnDrop(pub(crate) Shutdown);

impl Drop for TriggerOnDrop {
    fn drop(&mut self) {
        self.0.trigger();
    }
}
