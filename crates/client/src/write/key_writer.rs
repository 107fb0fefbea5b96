//! The caller's handle for writing a key.

use bytes::Bytes;
use futures::future::BoxFuture;
use proto::hdds::KeyValue;
use proto::ozone::KeyInfo;

use super::replicated::ReplicatedWriter;
use super::session::{FinishOptions, Session};
use super::striped::StripedWriter;
use crate::om::args::{CreateKey, KeyPath};
use crate::{Client, Error, Result};

/// Writes one key. Data is sent while more is written; a bounded amount is kept until it is
/// durable, so that it can be written again elsewhere. Dropping the writer abandons the key.
pub struct KeyWriter {
    path: KeyPath,
    metadata: Vec<KeyValue>,
    written: u64,
    data: Data,
}

/// Storage of the bytes.
enum Data {
    Replicated(Box<ReplicatedWriter>),
    Striped(Box<StripedWriter>),
}

impl KeyWriter {
    pub(crate) async fn open(client: Client, key: CreateKey) -> Result<Self> {
        let path = key.path.clone();
        let session = Session::open(client, key).await?;
        let metadata = session.metadata().to_vec();
        let data = match session.erasure_coding() {
            Some(_) => Data::Striped(Box::new(StripedWriter::new(session)?)),
            None => Data::Replicated(Box::new(ReplicatedWriter::new(session))),
        };
        Ok(Self { path, metadata, written: 0, data })
    }

    /// Path of the key.
    pub fn path(&self) -> &KeyPath {
        &self.path
    }

    /// A value of the open key's metadata in OM; for a part this includes its upload's settings for
    /// parts.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        let entry = self.metadata.iter().find(|entry| entry.key == name)?;
        entry.value.as_deref()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends `data`. Returns when it is being sent, or waits while too much is unacknowledged.
    ///
    /// # Errors
    /// If the data cannot be written through any pipeline; the writer is unusable afterwards.
    // Not boxed: it is called for each piece of a chunk. The work per chunk is.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        self.written += data.len() as u64;
        match &mut self.data {
            Data::Replicated(writer) => writer.write(data).await,
            Data::Striped(writer) => writer.write(data).await,
        }
    }

    /// Waits until there is memory for the next write ([`crate::ClientOptions::memory`]). A caller
    /// that receives the data from elsewhere requests it only afterwards.
    ///
    /// # Errors
    /// As [`KeyWriter::write`].
    pub async fn ready(&mut self) -> Result<()> {
        match &mut self.data {
            Data::Replicated(writer) => writer.ready().await,
            Data::Striped(writer) => writer.ready().await,
        }
    }

    /// Waits until others wait for memory that this writer holds while its caller waits for more
    /// data: then [`KeyWriter::give_way`] should be called.
    pub async fn is_wanted(&mut self) {
        match &mut self.data {
            Data::Replicated(writer) => writer.is_wanted().await,
            Data::Striped(writer) => writer.is_wanted().await,
        }
    }

    /// Releases memory to others that wait for it: sends the data written so far, although it is
    /// less than is usually sent at a time. Of an erasure-coded key an incomplete stripe is kept
    /// for a while, since its block group ends with it.
    ///
    /// # Errors
    /// As [`KeyWriter::write`].
    pub fn give_way(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match &mut self.data {
                Data::Replicated(writer) => writer.give_way().await,
                Data::Striped(writer) => writer.give_way().await,
            }
        })
    }

    /// Makes the data written so far durable and visible; the key stays open for further data. The
    /// servers must allow it (`ozone.fs.hsync.enabled`).
    ///
    /// # Errors
    /// As [`KeyWriter::write`]; `NOT_SUPPORTED_OPERATION` if the servers do not allow it, a usage
    /// error for keys that are erasure-coded or part of a multipart upload.
    pub fn hsync(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match &mut self.data {
                Data::Replicated(writer) => writer.hsync().await,
                Data::Striped(_) => {
                    let path = &self.path;
                    Err(Error::Usage(format!("{path} is erasure-coded and cannot be synced")))
                }
            }
        })
    }

    /// Makes the key durable and visible.
    ///
    /// # Errors
    /// If data or key cannot be made durable, or a precondition of the key does not hold any more.
    pub fn finish(self, options: FinishOptions) -> BoxFuture<'static, Result<KeyInfo>> {
        Box::pin(async move {
            match self.data {
                Data::Replicated(writer) => writer.finish(options).await,
                Data::Striped(writer) => writer.finish(options).await,
            }
        })
    }
}
