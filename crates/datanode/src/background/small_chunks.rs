//! Small chunks whose PutBlock does not come are written like others.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, Progress};

use crate::dispatch::small::release_late;
use crate::node::Node;

/// See [`buffered_chunks`](crate::pipeline::buffered_chunks).
pub(crate) struct SmallChunks {
    node: Weak<Node>,
}

impl SmallChunks {
    pub fn new(node: &Arc<Node>) -> Self {
        Self { node: Arc::downgrade(node) }
    }
}

#[async_trait]
impl BackgroundService for SmallChunks {
    fn name(&self) -> &str {
        "SmallChunkService"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        node.pipelines.all().iter().for_each(|pipeline| release_late(pipeline));
        Progress::idle()
    }
}
