//! A running service.

use ::service::MetricsRegistry;
use futures::future::BoxFuture;
use multiraft::{LogHandle, RaftHost};

use crate::handle::Handle;
use crate::machine::Machine;
use crate::metrics;

/// A running service: its group, host and log. Dropped without [`Service::close`] it stops
/// abruptly, as if killed.
pub struct Service<M: Machine> {
    handle: Handle<M>,
    host: RaftHost,
    log: LogHandle,
    running: bool,
}

impl<M: Machine> Service<M> {
    pub(crate) fn new(handle: Handle<M>, host: RaftHost, log: LogHandle) -> Self {
        Self { handle, host, log, running: true }
    }

    /// The handle for the role's parts.
    pub fn handle(&self) -> &Handle<M> {
        &self.handle
    }

    /// The host of the group.
    pub fn host(&self) -> &RaftHost {
        &self.host
    }

    /// The Raft log.
    pub fn log(&self) -> &LogHandle {
        &self.log
    }

    /// Exports the counters of the group and its log as metrics of the role, `<role>_raft_...`.
    pub fn export_metrics(&self, registry: &MetricsRegistry) {
        metrics::export(registry, &self.host, &self.log);
    }

    /// Stops the group and closes the log. The machine is not flushed: the log contains the missing
    /// entries.
    pub async fn close(mut self) {
        self.handle.supervisor().end().await;
        self.running = false;
        close(self.host.clone(), self.log.clone()).await;
    }
}

impl<M: Machine> Drop for Service<M> {
    fn drop(&mut self) {
        if !self.running {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(close(self.host.clone(), self.log.clone()));
        }
    }
}

/// Stops a host and closes its log.
pub(crate) fn close(host: RaftHost, log: LogHandle) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        host.shutdown().await;
        if let Err(error) = tokio::task::spawn_blocking(move || log.close()).await {
            tracing::error!(%error, "raft log was not closed properly");
        }
    })
}
