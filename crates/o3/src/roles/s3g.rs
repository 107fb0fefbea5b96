//! `o3 s3g`.

use std::time::Duration;

use config::Configuration;
use s3gateway::{GatewayOptions, S3GatewayError, S3GatewayHandle};

use super::{Running, announce};
use crate::daemon::Daemon;

/// An S3 gateway; `true` reports readiness as JSON.
pub struct S3Gateway(pub bool);

impl Daemon for S3Gateway {
    type Running = Running<S3GatewayHandle>;
    const SERVICE: &'static str = "s3g";

    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running> {
        let options = GatewayOptions::from_configuration(&conf).map_err(S3GatewayError::from)?;
        let handle = s3gateway::S3Gateway::start(&conf, options).await?;
        Ok(Running { handle, json: self.0 })
    }

    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()> {
        let mut shown = vec![("s3", running.handle.endpoint())];
        shown.extend(running.handle.status_address().map(|http| ("http", http.to_string())));
        announce(running.json, "s3g", &shown, took)
    }

    async fn failed(_: &Self::Running) -> anyhow::Error {
        std::future::pending().await
    }

    async fn stop(running: Self::Running) {
        running.handle.shutdown().await;
    }
}
