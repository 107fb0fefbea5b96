//! `o3 datanode`.

use std::time::Duration;

use anyhow::anyhow;
use config::Configuration;
use datanode::{DatanodeHandle, DatanodeOptions};

use super::{Running, announce};
use crate::daemon::Daemon;

/// A DataNode; `true` reports readiness as JSON.
pub struct Datanode(pub bool);

impl Daemon for Datanode {
    type Running = Running<DatanodeHandle>;
    const SERVICE: &'static str = "datanode";

    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running> {
        let handle = datanode::Datanode::start(&conf, DatanodeOptions::default()).await?;
        handle.ready().await?;
        Ok(Running { handle, json: self.0 })
    }

    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()> {
        let addresses = running.handle.addresses();
        let mut shown = vec![
            ("id", running.handle.id().to_string()),
            ("grpc", addresses.grpc.to_string()),
            ("ratis", addresses.ratis.to_string()),
            ("native", addresses.native.to_string()),
        ];
        shown.extend(addresses.http.map(|http| ("http", http.to_string())));
        announce(running.json, "datanode", &shown, took)
    }

    async fn failed(running: &Self::Running) -> anyhow::Error {
        anyhow!(running.handle.failed().await)
    }

    async fn stop(running: Self::Running) {
        running.handle.shutdown().await;
    }
}
