//! A running OM.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use multiraft::{LogHandle, RaftHost};
use service::{BackgroundServices, MetricsRegistry, Shutdown, StatusServer};

use crate::first_start;
use crate::identity::Identity;
use crate::options::RootCredentials;
use crate::room::Room;
use crate::start::Doors;

/// How long the gRPC door may take to finish its calls.
const DRAIN: Duration = Duration::from_secs(5);

/// How long a leader that stops waits for another to take over.
const HAND_OVER: Duration = Duration::from_secs(2);

/// Where an OM listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The framed and the Hadoop RPC door, `ozone.om.address`.
    pub framed: SocketAddr,
    /// The gRPC door, `ozone.om.grpc.port`, when it is open.
    pub grpc: Option<SocketAddr>,
    /// Status page and metrics, `ozone.om.http-address`.
    pub http: Option<SocketAddr>,
}

/// What runs.
pub(crate) struct Running {
    pub(crate) addresses: Addresses,
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

    /// Returns once requests are answered by this OM or, where there are several, by the one that
    /// leads; false when nobody did within `patience`.
    pub async fn ready(&self, patience: Duration) -> bool {
        let group = &self.running.room.parts().group;
        let mut changes = group.leader_changes();
        let me = self.running.room.parts().facts.members.me.raft_id;
        let known = changes.wait_for(|s| s.leader.is_some_and(|leader| leader != me || s.ready));
        matches!(tokio::time::timeout(patience, known).await, Ok(Ok(_)))
    }

    /// Whether this OM leads its service and serves.
    pub fn is_leader(&self) -> bool {
        self.running.room.is_leader()
    }

    /// The id of the OM that leads, as far as this one knows.
    pub fn leader(&self) -> Option<String> {
        let parts = self.running.room.parts();
        let leader = parts.group.leader().leader?;
        parts.facts.members.by_raft_id(leader).map(|m| m.node_id)
    }

    /// Its id within the service.
    pub fn node_id(&self) -> &str {
        &self.running.room.parts().facts.members.me.node_id
    }

    /// The root S3 key pair. Among several OMs it is there once a leader has made it.
    pub fn root_credentials(&self) -> Option<RootCredentials> {
        let parts = self.running.room.parts();
        let tables = parts.current.get()?;
        first_start::secret_of(&tables, parts.root_access_key.get()?).ok().flatten()
    }

    /// Lets another OM lead before this one goes, so that nobody has to wait for an election.
    async fn hand_over(&self) {
        let parts = self.running.room.parts();
        let me = parts.facts.members.me.raft_id;
        if parts.group.membership().voters().count() > 1 && parts.group.is_leader() {
            let mut changes = parts.group.leader_changes();
            parts.group.step_down();
            let gone = changes.wait_for(|s| s.leader.is_some_and(|leader| leader != me));
            // Without a follower that can lead there is nothing to wait for.
            let _ = tokio::time::timeout(HAND_OVER, gone).await;
        }
    }

    /// Ends like a process that is killed, as far as that can be had within one: what was begun is
    /// not finished, and nothing is flushed. For tests.
    pub async fn abandon(self) {
        let running = self.running;
        running.stop.shutdown.trigger();
        drop(running.doors.framed);
        drop(running.doors.raft);
        if let Some(grpc) = &running.doors.grpc {
            grpc.abort();
        }
        running.stop.host.shutdown().await;
        running.stop.log.close();
        running.doors.hadoop.shutdown().await;
        if let Some(http) = &running.http {
            http.stop();
        }
        running.background.join().await;
        running.room.parts().current.close();
        drop(running.room);
        drop(running.identity);
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
        self.hand_over().await;
        let running = self.running;
        running.stop.shutdown.trigger();
        running.doors.framed.shutdown().await;
        running.doors.hadoop.shutdown().await;
        if let Some(mut grpc) = running.doors.grpc
            && tokio::time::timeout(DRAIN, &mut grpc).await.is_err()
        {
            grpc.abort();
        }
        if let Some(http) = &running.http {
            http.stop();
        }
        running.background.join().await;
        running.stop.host.shutdown().await;
        if let Some(raft) = running.doors.raft {
            raft.shutdown().await;
        }
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
