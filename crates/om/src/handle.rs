//! A running OM.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use multiraft::{LogHandle, RaftHost};
use service::{BackgroundServices, MetricsRegistry, Shutdown, StatusServer};

use crate::identity::Identity;
use crate::options::RootCredentials;
use crate::room::Room;
use crate::start::Doors;

/// How long the gRPC door may take to finish its calls.
const DRAIN: Duration = Duration::from_secs(5);

/// Where an OM listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The framed and the Hadoop RPC door, `ozone.om.address`.
    pub framed: SocketAddr,
    /// The gRPC door, `ozone.om.grpc.port`.
    pub grpc: SocketAddr,
    /// Status page and metrics, `ozone.om.http-address`.
    pub http: Option<SocketAddr>,
}

/// What runs.
pub(crate) struct Running {
    pub(crate) addresses: Addresses,
    pub(crate) root: RootCredentials,
    pub(crate) registry: MetricsRegistry,
    pub(crate) background: BackgroundServices,
    pub(crate) room: Arc<Room>,
    pub(crate) doors: Doors,
    pub(crate) http: Option<StatusServer>,
    pub(crate) stop: StopOnDrop,
    pub(crate) identity: Identity,
}

/// A running OM. Dropping it closes its doors; [`OmHandle::shutdown`] also waits for what it was
/// doing.
pub struct OmHandle {
    running: Running,
}

impl OmHandle {
    pub(crate) fn new(running: Running) -> Self {
        Self { running }
    }

    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.running.addresses
    }

    /// Returns once requests are answered. OM serves only when it can, so at once.
    pub async fn ready(&self) {}

    /// The root S3 key pair.
    pub fn root_credentials(&self) -> &RootCredentials {
        &self.running.root
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

    /// Returns when OM stopped by itself: it met an SCM of another cluster.
    pub async fn stopped(&self) {
        self.running.stop.shutdown.cancelled().await;
    }

    /// Closes the doors, finishes what was begun, makes everything durable and lets go of the
    /// directory.
    pub async fn shutdown(self) {
        let running = self.running;
        running.stop.shutdown.trigger();
        running.doors.framed.shutdown().await;
        running.doors.hadoop.shutdown().await;
        let mut grpc = running.doors.grpc;
        if tokio::time::timeout(DRAIN, &mut grpc).await.is_err() {
            grpc.abort();
        }
        if let Some(http) = &running.http {
            http.stop();
        }
        running.background.join().await;
        running.stop.host.shutdown().await;
        running.stop.log.close();
        if let Some(tables) = running.room.parts().current.get()
            && let Err(e) = tables.store().flush()
        {
            // Nothing is lost: the log has what the tables have not.
            tracing::warn!("the tables could not be flushed: {e}");
        }
        running.room.parts().current.close();
        drop(running.room);
        // The lock last: whoever opens the directory next finds it at rest.
        drop(running.identity);
    }
}

/// Stops what would go on by itself when a handle is dropped without [`OmHandle::shutdown`].
pub(crate) struct StopOnDrop {
    pub(crate) shutdown: Shutdown,
    pub(crate) host: RaftHost,
    pub(crate) log: LogHandle,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.shutdown.trigger();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (host, log) = (self.host.clone(), self.log.clone());
            runtime.spawn(async move {
                host.shutdown().await;
                log.close();
            });
        }
    }
}
