//! `o3 scm`.

use std::time::Duration;

use anyhow::anyhow;
use config::Configuration;
use scm::{ScmHandle, ScmOptions};

use super::{Running, announce};
use crate::daemon::Daemon;

/// A Storage Container Manager.
pub struct Scm {
    /// Report readiness as JSON.
    pub json: bool,
    /// Join a running service.
    pub bootstrap: bool,
}

impl Daemon for Scm {
    type Running = Running<ScmHandle>;
    const SERVICE: &'static str = "scm";

    /// SCM is ready when it serves requests; safe mode ends only after DataNodes have registered.
    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running> {
        let options = ScmOptions::from_configuration(&conf)?;
        let options = ScmOptions { bootstrap: self.bootstrap, ..options };
        Ok(Running { handle: scm::Scm::start_with(options).await?, json: self.json })
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

    async fn failed(running: &Self::Running) -> anyhow::Error {
        anyhow!("SCM stopped: {}", running.handle.stopped().await)
    }

    async fn stop(running: Self::Running) {
        running.handle.shutdown().await;
    }
}
