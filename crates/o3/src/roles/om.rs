//! `o3 om`.

use std::time::Duration;

use anyhow::anyhow;
use config::Configuration;
use om::{Bootstrap, OmHandle, OmOptions};

use super::{Running, announce};
use crate::daemon::Daemon;

/// An Ozone Manager.
pub struct Om {
    /// Report readiness as JSON.
    pub json: bool,
    /// Join a running service.
    pub bootstrap: Option<Bootstrap>,
}

impl Daemon for Om {
    type Running = Running<OmHandle>;
    const SERVICE: &'static str = "om";

    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running> {
        let options = OmOptions { bootstrap: self.bootstrap, ..OmOptions::from_env() };
        let handle = om::Om::start(&conf, options).await?;
        Ok(Running { handle, json: self.json })
    }

    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()> {
        let (addresses, root) = (running.handle.addresses(), running.handle.root_credentials());
        let mut shown = vec![
            ("cluster", running.handle.cluster_id().to_owned()),
            ("om", addresses.framed.to_string()),
        ];
        shown.extend(addresses.grpc.map(|grpc| ("grpc", grpc.to_string())));
        shown.extend(addresses.http.map(|http| ("http", http.to_string())));
        // Of several OMs the leader creates it, and there may be no leader yet.
        if let Some(root) = root {
            shown.push(("access_key", root.access_key));
            shown.push(("secret_key", root.secret_key));
        }
        announce(running.json, "om", &shown, took)
    }

    async fn failed(running: &Self::Running) -> anyhow::Error {
        anyhow!("OM stopped: {}", running.handle.stopped().await)
    }

    async fn stop(running: Self::Running) {
        running.handle.shutdown().await;
    }
}
