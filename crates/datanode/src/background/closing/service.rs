//! A leader closes containers without waiting for SCM's word.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use container::ContainerState;
use service::{BackgroundService, Progress};
use tokio::time::Instant;
use types::ContainerId;

use crate::daemon::Daemon;
use crate::node::Node;
use crate::pipeline::Pipeline;

/// Interval between checks of the containers.
const INTERVAL: Duration = Duration::from_secs(1);

/// Timeout of one close; the next check retries it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The background service that closes the containers of the pipelines that this node leads if they
/// are full, if closing them has begun, or if no SCM responds.
pub(crate) struct Closing {
    daemon: Weak<Daemon>,
    node: Weak<Node>,
}

impl Closing {
    pub fn new(daemon: &Arc<Daemon>, node: &Arc<Node>) -> Self {
        Self { daemon: Arc::downgrade(daemon), node: Arc::downgrade(node) }
    }
}

#[async_trait]
impl BackgroundService for Closing {
    fn name(&self) -> &str {
        "ContainerClosingService"
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    async fn run_once(&self) -> Progress {
        let (Some(daemon), Some(node)) = (self.daemon.upgrade(), self.node.upgrade()) else {
            return Progress::idle();
        };
        let forsaken = daemon.scm_silence() >= node.settings.scm_silence;
        drop(daemon);
        let led = node.pipelines.all().into_iter().filter(|pipeline| pipeline.group.is_leader());
        let closing = led.flat_map(|pipeline| {
            let due = pipeline.store.containers().into_iter();
            let due: Vec<_> = due.filter(|id| node.is_to_close(*id, forsaken)).collect();
            due.into_iter().map(move |id| (id, pipeline.clone()))
        });
        let node = &node;
        // One pipeline without a quorum does not delay the others.
        let closing = closing
            .map(|(id, pipeline)| async move { node.close_led(id, &pipeline, forsaken).await });
        let closed = futures::future::join_all(closing.collect::<Vec<_>>()).await;
        Progress::done(closed.into_iter().filter(|closed| *closed).count() as u64)
    }
}

impl Node {
    fn is_to_close(&self, id: ContainerId, forsaken: bool) -> bool {
        let Ok(container) = self.store.container(id) else { return false };
        let info = container.info();
        match info.state {
            ContainerState::Closing => true,
            ContainerState::Open => forsaken || info.used >= info.max_size,
            _ => false,
        }
    }

    async fn close_led(&self, id: ContainerId, pipeline: &Pipeline, forsaken: bool) -> bool {
        tracing::info!(container = %id, pipeline = %pipeline.id, forsaken, "leader is closing a container without an order of SCM");
        match self.close_through(id, pipeline, Instant::now() + CLOSE_TIMEOUT).await {
            Ok(()) => {
                self.pending_reports.container_changed(id);
                true
            }
            Err(refusal) => {
                tracing::debug!(container = %id, %refusal, "container close failed, will retry");
                false
            }
        }
    }
}
