//! A running DataNode, seen from the program that started it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use framed::Server;
use futures::future::BoxFuture;
use service::StatusServer;
use tokio::task::JoinHandle;
use types::{DatanodeDetails, DatanodeId};

use crate::DatanodeError;
use crate::daemon::{Daemon, Stage};

/// Interval at which a DataNode that stops checks whether its last task has ended.
const RELEASE_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Open endpoints.
pub(crate) struct Endpoints {
    pub native: Server,
    pub grpc: JoinHandle<()>,
    pub grpc_address: SocketAddr,
    pub ratis: JoinHandle<()>,
    pub ratis_address: SocketAddr,
    pub hadoop: hadoop_rpc::Server,
    pub hadoop_listener: JoinHandle<()>,
    pub hadoop_address: SocketAddr,
    pub http: Option<StatusServer>,
}

/// Waits until the last task has ended: it releases the locks of the directories, and the process
/// that starts on them next must not find them taken.
async fn released(daemon: Arc<Daemon>) {
    let disks = daemon.node().map(|node| node.store.disks().iter().map(Arc::downgrade).collect());
    let disks: Vec<_> = disks.unwrap_or_default();
    let last = Arc::downgrade(&daemon);
    drop(daemon);
    while last.strong_count() > 0 || disks.iter().any(|disk| disk.strong_count() > 0) {
        tokio::time::sleep(RELEASE_POLL_INTERVAL).await;
    }
}

/// Addresses that a DataNode listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// Container protocol over gRPC (STANDALONE).
    pub grpc: SocketAddr,
    /// Ratis' client protocol (RATIS).
    pub ratis: SocketAddr,
    /// Framed protocol (NATIVE).
    pub native: SocketAddr,
    /// Hadoop RPC (CLIENT_RPC).
    pub hadoop: SocketAddr,
    /// Status page and metrics.
    pub http: Option<SocketAddr>,
}

/// A running DataNode. Stop it with [`DatanodeHandle::shutdown`].
pub struct DatanodeHandle {
    daemon: Arc<Daemon>,
    endpoints: Endpoints,
}

impl DatanodeHandle {
    pub(crate) fn new(daemon: Arc<Daemon>, endpoints: Endpoints) -> Self {
        Self { daemon, endpoints }
    }

    /// Its id.
    pub fn id(&self) -> DatanodeId {
        self.daemon.identity.lock().details().id
    }

    /// Returns its identity and addresses, as reported to SCM.
    pub fn details(&self) -> DatanodeDetails {
        self.daemon.identity.lock().details().clone()
    }

    /// Returns its addresses.
    pub fn addresses(&self) -> Addresses {
        Addresses {
            grpc: self.endpoints.grpc_address,
            ratis: self.endpoints.ratis_address,
            native: self.endpoints.native.local_addr(),
            hadoop: self.endpoints.hadoop_address,
            http: self.endpoints.http.as_ref().map(StatusServer::local_addr),
        }
    }

    /// Returns the host of its pipelines, once its disks are open. For tests.
    pub fn raft(&self) -> Option<&multiraft::RaftHost> {
        self.daemon.raft()
    }

    /// Waits until an SCM has taken it in.
    ///
    /// # Errors
    /// When it cannot join the cluster, or was shut down.
    pub fn ready(&self) -> BoxFuture<'_, Result<(), DatanodeError>> {
        Box::pin(async move {
            let mut stage = self.daemon.stage.subscribe();
            let reached = self
                .daemon
                .shutdown
                .until(async {
                    stage.wait_for(|stage| *stage != Stage::Starting).await.map(|s| s.clone())
                })
                .await;
            match reached {
                Some(Ok(Stage::Ready)) => Ok(()),
                Some(Ok(Stage::Failed(reason))) => Err(DatanodeError::NotPermitted(reason)),
                _ => Err(DatanodeError::Shutdown),
            }
        })
    }

    /// Waits for a failure that stops it, and returns the reason. Never returns while it runs.
    pub fn failed(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let mut stage = self.daemon.stage.subscribe();
            loop {
                if let Stage::Failed(reason) = &*stage.borrow_and_update() {
                    return reason.clone();
                }
                if stage.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        })
    }

    /// Schedules a check of all disks, except those that were checked a moment ago.
    pub fn check_disks(&self) {
        self.daemon.services.run(crate::service_names::DISK_CHECK);
    }

    /// Stops: no more calls are taken, those under way end, everything applied is made durable.
    /// Takes no longer than `trioxide.shutdown.timeout`; what that cuts off is found again in the
    /// Raft logs.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let timeout = self.daemon.settings.shutdown_timeout;
            if tokio::time::timeout(timeout, self.stop()).await.is_err() {
                tracing::warn!(?timeout, "datanode did not stop in time");
            }
        })
    }

    async fn stop(self) {
        self.daemon.shutdown.trigger();
        self.endpoints.native.shutdown().await;
        self.endpoints.hadoop.shutdown().await;
        self.endpoints.hadoop_listener.abort();
        self.daemon.sessions.join().await;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
        for mut server in [self.endpoints.grpc, self.endpoints.ratis] {
            if tokio::time::timeout_at(deadline, &mut server).await.is_err() {
                server.abort();
            }
        }
        self.daemon.services.join().await;
        self.daemon.close().await;
        released(self.daemon).await;
        tracing::info!("datanode stopped");
    }
}
