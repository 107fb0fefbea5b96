//! `o3 scm`.

use std::time::Duration;

use config::Configuration;
use scm::ScmHandle;

use super::{Running, announce};
use crate::daemon::Daemon;

/// A Storage Container Manager; says whether to tell of it as JSON.
pub struct Scm(pub bool);

impl Daemon for Scm {
    type Running = Running<ScmHandle>;

    /// It serves as soon as it has started: what keeps it in safe mode is for DataNodes to end.
    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running> {
        Ok(Running { handle: scm::Scm::start(&conf).await?, json: self.0 })
    }

    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()> {
        let addresses = running.handle.addresses();
        let mut shown = vec![
            ("cluster", running.handle.cluster_id().to_owned()),
            ("client", addresses.client.to_string()),
            ("block", addresses.block.to_string()),
            ("datanode", addresses.datanode.to_string()),
        ];
        shown.extend(addresses.http.map(|http| ("http", http.to_string())));
        announce(running.json, "scm", &shown, took)
    }

    async fn failed(_: &Self::Running) -> anyhow::Error {
        std::future::pending().await
    }

    async fn stop(running: Self::Running) {
        running.handle.shutdown().await;
    }
}
