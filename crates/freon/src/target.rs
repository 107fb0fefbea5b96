//! The volume and bucket of a generator.

use client::{BucketSpec, Client, CreateKey, ErrorKind, FinishOptions, KeyPath};
use config::Configuration;
use futures::TryStreamExt;
use proto::ozone::{BucketLayoutProto, OmRequest, OmResponse, Status};
use types::ReplicationConfig;

use crate::FreonError;
use crate::args::{BucketArgs, TargetArgs};
use crate::content::Content;

/// Clients, and the bucket of their keys.
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

/// Sends any request to OM; a response that is not `OK` is an error.
pub(crate) async fn submit(client: &Client, request: OmRequest) -> Result<OmResponse, FreonError> {
    let response = client.submit(request).await?;
    match response.status() {
        Status::Ok => Ok(response),
        status => {
            let message = response.message().to_owned();
            Err(client::Error::Om { status, message }.into())
        }
    }
}

impl Target {
    /// The target of new keys.
    pub(crate) fn open(
        clients: usize,
        target: &TargetArgs,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let replication = target.replication.config()?;
        Self::named(clients, &target.volume, &target.bucket, replication, conf)
    }

    /// The target with the keys of an earlier run.
    pub(crate) fn existing(
        clients: usize,
        bucket: &BucketArgs,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        Self::named(clients, &bucket.volume, &bucket.bucket, None, conf)
    }

    /// A bucket by its name.
    pub(crate) fn named(
        clients: usize,
        volume: &str,
        bucket: &str,
        replication: Option<ReplicationConfig>,
        conf: &Configuration,
    ) -> Result<Self, FreonError> {
        let clients = (0..clients.max(1))
            .map(|_| Client::connect(conf))
            .collect::<client::Result<Vec<_>>>()?;
        let (volume, bucket) = (volume.to_owned(), bucket.to_owned());
        Ok(Self { clients, volume, bucket, replication })
    }

    /// Creates the volume and bucket if they are missing.
    pub(crate) async fn ensure(&self) -> Result<(), FreonError> {
        let client = self.client(0);
        if client.bucket_info(&self.volume, &self.bucket).await.is_ok() {
            return Ok(());
        }
        self.ensure_volume().await?;
        let spec =
            BucketSpec { layout: Some(BucketLayoutProto::ObjectStore), ..BucketSpec::default() };
        unless_there(client.create_bucket(&self.volume, &self.bucket, spec).await)
    }

    /// Creates the volume if it is missing.
    pub(crate) async fn ensure_volume(&self) -> Result<(), FreonError> {
        unless_there(self.client(0).create_volume(&self.volume, None, -1, -1).await)
    }

    /// Writes a key as a whole; `key` has its path and replication.
    pub(crate) async fn write(
        &self,
        test: u64,
        mut key: CreateKey,
        content: &Content,
    ) -> Result<(), FreonError> {
        key = key.size_hint(content.size());
        key.replication = self.replication;
        let mut writer = self.client(test).create_key(key).await?;
        for piece in content.pieces() {
            writer.write(piece).await?;
        }
        writer.finish(FinishOptions::default()).await?;
        Ok(())
    }

    /// Reads a key to its end and returns its length.
    pub(crate) async fn read(&self, test: u64, path: &KeyPath) -> Result<u64, FreonError> {
        let (_, mut pieces) = self.client(test).begin_key(path).await?;
        let mut bytes = 0;
        while let Some(piece) = pieces.try_next().await? {
            bytes += piece.len() as u64;
        }
        Ok(bytes)
    }

    /// Sends a request for which the client has no method; a response that is not `OK` is an error.
    pub(crate) async fn submit(
        &self,
        test: u64,
        request: OmRequest,
    ) -> Result<OmResponse, FreonError> {
        submit(self.client(test), request).await
    }

    /// A key of this bucket.
    pub(crate) fn path(&self, key: impl Into<String>) -> KeyPath {
        KeyPath::new(&self.volume, &self.bucket, key)
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
