//! The volume and bucket that a generator works in.

use client::{BucketSpec, Client, ErrorKind, KeyPath};
use config::Configuration;
use proto::ozone::BucketLayoutProto;
use types::ReplicationConfig;

use crate::FreonError;
use crate::args::TargetArgs;

/// Clients, and where keys go.
pub(crate) struct Target {
    clients: Vec<Client>,
    pub(crate) volume: String,
    pub(crate) bucket: String,
    pub(crate) replication: Option<ReplicationConfig>,
}

fn unless_there(made: client::Result<()>) -> Result<(), FreonError> {
    match made {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e.into()),
        _ => Ok(()),
    }
}

impl Target {
    pub(crate) fn open(
        clients: usize,
        target: &TargetArgs,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let clients = (0..clients.max(1))
            .map(|_| Client::connect(conf))
            .collect::<client::Result<Vec<_>>>()?;
        Ok(Self {
            clients,
            volume: target.volume.clone(),
            bucket: target.bucket.clone(),
            replication: target.replication.config()?,
        })
    }

    /// Makes the volume and bucket if they are missing.
    pub(crate) async fn ensure(&self) -> Result<(), FreonError> {
        let client = self.client(0);
        if client.bucket_info(&self.volume, &self.bucket).await.is_ok() {
            return Ok(());
        }
        unless_there(client.create_volume(&self.volume, None, -1, -1).await)?;
        let spec =
            BucketSpec { layout: Some(BucketLayoutProto::ObjectStore), ..BucketSpec::default() };
        unless_there(client.create_bucket(&self.volume, &self.bucket, spec).await)
    }

    /// The client of a test.
    pub(crate) fn client(&self, test: u64) -> &Client {
        &self.clients[(test % self.clients.len() as u64) as usize]
    }

    /// The key of a test.
    pub(crate) fn key(&self, prefix: &str, test: u64) -> KeyPath {
        KeyPath::new(&self.volume, &self.bucket, format!("{prefix}/{test}"))
    }
}
